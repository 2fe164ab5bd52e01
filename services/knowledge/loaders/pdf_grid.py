"""Find the grids that the drawn lines of a PDF page make: cells, and cells that span several."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# In points. Lines that miss each other by less than this meet, and parallel lines that are closer are one.
_REACH = 3.0
_SAME_LINE = 2.0
_LEAST_LENGTH = 4.0
# A line that covers this much of a cell's side separates the cell from its neighbour.
_WALL_SHARE = 0.6
# More lines than any table has are a drawing.
_MOST_LINES = 1500
_MOST_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal or vertical line: its place on the other axis, and where it begins and ends."""

    place: float
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell by its first row and column and the number of rows and columns that it spans."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of a table: the edges of its columns from left to right and of its rows from top to bottom, in points.

    `cells` maps each row and column to the cell there. `is_regular` is False if some cell is not a rectangle.
    """

    columns: tuple[float, ...]
    rows: tuple[float, ...]
    cells: dict[tuple[int, int], GridCell]
    is_regular: bool

    def place(self, x: float, y: float) -> tuple[int, int] | None:
        """Return the row and column of a point, None outside the grid."""
        if not (
            self.columns[0] - _REACH <= x <= self.columns[-1] + _REACH
            and self.rows[0] - _REACH <= y <= self.rows[-1] + _REACH
        ):
            return None
        column = min(max(bisect_right(self.columns, x) - 1, 0), len(self.columns) - 2)
        return min(max(bisect_right(self.rows, y) - 1, 0), len(self.rows) - 2), column


def grids(across: Iterable[Line], down: Iterable[Line]) -> list[Grid]:
    """Return the grids with at least two columns and two rows, from horizontal and vertical lines.

    Coordinates grow to the right and downwards. Missing outer edges are added, because many tables are open at their
    sides.
    """
    horizontal, vertical = _merged(across), _merged(down)
    if len(horizontal) + len(vertical) > _MOST_LINES:
        return []
    found = [grid for lines in _connected(horizontal, vertical) if (grid := _grid(*lines)) is not None]
    return [grid for grid in found if not any(grid is not other and _encloses(grid, other) for other in found)]


def _merged(lines: Iterable[Line]) -> list[Line]:
    """Return the lines with those joined that continue or double each other."""
    merged: list[Line] = []
    cluster: list[Line] = []
    for line in [*sorted(lines, key=lambda line: line.place), None]:
        if cluster and (line is None or line.place - cluster[0].place > _SAME_LINE):
            place = sum(one.place for one in cluster) / len(cluster)
            spans = sorted((one.begin, one.end) for one in cluster)
            begin, end = spans[0]
            for first, last in spans[1:]:
                if first > end + _REACH:
                    merged.append(Line(place, begin, end))
                    begin, end = first, last
                end = max(end, last)
            merged.append(Line(place, begin, end))
            cluster = []
        if line is not None:
            cluster.append(line)
    return [line for line in merged if line.end - line.begin >= _LEAST_LENGTH]


def _connected(horizontal: Sequence[Line], vertical: Sequence[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """Yield the lines of each group that hangs together."""
    parents = list(range(len(horizontal) + len(vertical)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    places = [line.place for line in horizontal]
    for number, line in enumerate(vertical, start=len(horizontal)):
        first, last = bisect_left(places, line.begin - _REACH), bisect_right(places, line.end + _REACH)
        for other in range(first, last):
            if horizontal[other].begin - _REACH <= line.place <= horizontal[other].end + _REACH:
                parents[root(other)] = root(number)
    groups: dict[int, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    for number, line in enumerate((*horizontal, *vertical)):
        groups[root(number)][number >= len(horizontal)].append(line)
    yield from groups.values()


def _grid(horizontal: list[Line], vertical: list[Line]) -> Grid | None:
    if not horizontal or not vertical:
        return None
    left = min(line.begin for line in horizontal)
    right = max(line.end for line in horizontal)
    top = min(line.begin for line in vertical)
    bottom = max(line.end for line in vertical)
    columns = _edges([line.place for line in vertical], left, right)
    rows = _edges([line.place for line in horizontal], top, bottom)
    size = (len(rows) - 1) * (len(columns) - 1)
    if len(columns) < 3 or len(rows) < 3 or size > _MOST_CELLS:
        return None
    beside = _walls(vertical, columns, rows)
    below = _walls(horizontal, rows, columns)
    cells: dict[tuple[int, int], GridCell] = {}
    is_regular = True
    for row in range(len(rows) - 1):
        for column in range(len(columns) - 1):
            if (row, column) in cells:
                continue
            across = 1
            while column + across < len(columns) - 1 and (column + across, row) not in beside:
                across += 1
            down = 1
            while row + down < len(rows) - 1 and (row + down, column) not in below:
                down += 1
            cell = GridCell(row, column, down, across)
            inside = [(row + i, column + j) for i in range(down) for j in range(across)]
            is_regular &= not any(place in cells for place in inside) and _is_enclosed(cell, beside, below)
            for place in inside:
                cells.setdefault(place, cell)
    return Grid(tuple(columns), tuple(rows), cells, is_regular)


def _is_enclosed(cell: GridCell, beside: set[tuple[int, int]], below: set[tuple[int, int]]) -> bool:
    """Return whether no wall runs through a cell and its own walls have no gap."""
    rows = range(cell.row, cell.row + cell.rows)
    columns = range(cell.column, cell.column + cell.columns)
    inner = [(column, row) in beside for row in rows for column in columns[1:]]
    inner += [(row, column) in below for column in columns for row in rows[1:]]
    outer = [(edge, row) in beside for row in rows for edge in (columns.start, columns.stop)]
    outer += [(edge, column) in below for column in columns for edge in (rows.start, rows.stop)]
    return not any(inner) and all(outer)


def _edges(places: list[float], first: float, last: float) -> list[float]:
    """Return the sorted places without doubles, with both ends of the crossing lines."""
    edges: list[float] = []
    for place in sorted((*places, first, last)):
        if not edges or place - edges[-1] > _REACH:
            edges.append(place)
    return edges


def _walls(lines: list[Line], places: list[float], steps: list[float]) -> set[tuple[int, int]]:
    """Return which steps along which places a line covers; the outermost places are covered throughout."""
    covered: dict[tuple[int, int], float] = defaultdict(float)
    for line in lines:
        number = min(range(len(places)), key=lambda number: abs(places[number] - line.place))
        first = max(0, bisect_right(steps, line.begin) - 1)
        for step in range(first, min(len(steps) - 1, bisect_left(steps, line.end))):
            covered[number, step] += min(line.end, steps[step + 1]) - max(line.begin, steps[step])
    walls = {
        (number, step)
        for (number, step), length in covered.items()
        if length >= _WALL_SHARE * (steps[step + 1] - steps[step])
    }
    walls |= {(number, step) for number in (0, len(places) - 1) for step in range(len(steps) - 1)}
    return walls


def _encloses(grid: Grid, other: Grid) -> bool:
    """Return whether another grid lies inside this one, which is then a frame around a part of the page."""
    return (
        grid.columns[0] <= other.columns[0]
        and other.columns[-1] <= grid.columns[-1]
        and grid.rows[0] <= other.rows[0]
        and other.rows[-1] <= grid.rows[-1]
    )
