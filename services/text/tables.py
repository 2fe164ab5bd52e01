"""The written form of tables in passages: a line for each row, with the header first."""

CELLS = " | "
# Stands between two tables, because a second header would read like a row of the first table.
NEXT_TABLE = "（下一张表）"
