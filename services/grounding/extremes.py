"""The row of a passage that a question for the largest or smallest value asks for."""

from collections.abc import Sequence

from services.grounding.passage import Part, Role
from services.retrieval.extremes import extremes
from services.text.tables import cells


def extreme_rows(question: str, passage: Sequence[Part]) -> frozenset[int]:
    """Return the positions of the rows with the largest or smallest value that a question asks for."""
    tables: dict[int, list[int]] = {}
    for place, part in enumerate(passage):
        if part.role is Role.ROW and part.head is not None:
            tables.setdefault(part.head, []).append(place)
    found: set[int] = set()
    for head, rows in tables.items():
        found |= extremes(question, cells(passage[head].text), {place: cells(passage[place].text) for place in rows})
    return frozenset(found)
