"""Commands with a second word, such as `/kb list 2` and `/知识库 列表 2`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

Name = TypeVar("Name", bound=StrEnum)


def split_subcommand(text: str, words: Mapping[str, Name]) -> tuple[Name | None, str]:
    """Return the second word by its English or Chinese name, and the rest of the text.

    The name is None for an unknown word. An empty text gives the first of `words`.
    """
    if not text.strip():
        return next(iter(words.values())), ""
    word, *rest = text.strip().split(maxsplit=1)
    return words.get(word.lower()), rest[0] if rest else ""
