"""Cells of tables that people open in a spreadsheet program, which would run some texts as formulas."""

# The characters at which a formula starts, including the full-width forms, which East Asian editions convert.
_FORMULA = tuple("=+-@\t\r＝＋－＠")


def inert(cell: str) -> str:
    """Return a cell that a spreadsheet program shows as text.

    >>> inert("=1+1"), inert("合计")
    ("'=1+1", '合计')
    """
    return f"'{cell}" if cell.lstrip(" \n").startswith(_FORMULA) else cell


def original(cell: str) -> str:
    """Return the text that `inert` made a cell of.

    >>> original(inert("=1+1")), original("'quoted'")
    ('=1+1', "'quoted'")
    """
    return cell[1:] if cell.startswith("'") and inert(cell[1:]) == cell else cell
