"""Cells that a spreadsheet program does not run."""

import doctest

from hypothesis import given
from hypothesis import strategies as st

from services.text import spreadsheets
from services.text.spreadsheets import inert, original

CELLS = st.text(st.sampled_from("=+-@'\t\n ＝a甲")) | st.text()


def test_examples() -> None:
    assert doctest.testmod(spreadsheets).failed == 0


@given(CELLS)
def test_no_cell_begins_a_formula_and_each_can_be_restored(cell: str) -> None:
    assert not inert(cell).lstrip(" \n").startswith(tuple("=+-@\t\r＝＋－＠"))
    if not cell.startswith("'"):
        assert original(inert(cell)) == cell
