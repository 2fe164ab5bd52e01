"""The written form of tables in passages: a line for each row, with the header first."""

CELLS = " | "
# Stands between two tables, because a second header would read like a row of the first table.
NEXT_TABLE = "（下一张表）"


def cells(row: str) -> list[str]:
    """Return the cells of a row. An empty first cell is written as a bare bar.

    >>> cells("| 语文 |  | 数学"), cells("数学 | |")
    (['', '语文', '', '数学'], ['数学', ''])
    """
    return [cell.strip().removeprefix("|") for cell in row.strip("\n").split(CELLS)] if row.strip() else []
