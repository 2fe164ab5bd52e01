"""Recognise page numbers, which stand at the edge of a page and are no part of its text."""

import re

_PAGE_NUMBER = re.compile(
    r"[-—–·\s]*(?:第|Page)?\s*(\d{1,5})\s*页?\s*(?:(?:[/共,，]|of)+\s*(?:共|第)?\s*\d{1,5}\s*页?)?[-—–·\s]*"
)


def page_number(text: str) -> int | None:
    """Return the number that a text is, None for any other text.

    >>> page_number("- 7 -"), page_number("第 3 页 / 共 12 页"), page_number("7 天")
    (7, 3, None)
    """
    found = _PAGE_NUMBER.fullmatch(text)
    return int(found[1]) if found else None
