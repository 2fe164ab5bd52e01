"""Output of a program, and the figures with which a later run is compared."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of which a higher value is better, with the noise (standard error) of its measurement."""

    name: str
    value: float
    noise: float


@dataclass(slots=True)
class Report:
    """A table with a title, remarks and figures."""

    title: str
    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    lines: list[str] = field(default_factory=list[str])
    figures: list[Figure] = field(default_factory=list[Figure])

    def row(self, *cells: str) -> None:
        """Add a row. The first one is the header."""
        self.rows.append(cells)

    def line(self, text: str) -> None:
        """Add a remark below the table."""
        self.lines.append(text)

    def figure(self, figure: Figure) -> None:
        """Add a figure to compare with the baseline."""
        self.figures.append(figure)

    def text(self) -> str:
        """Return the report as it is printed."""
        widths = [max(len(row[column]) for row in self.rows if column < len(row)) for column in range(self._columns())]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) for row in self.rows]
        return "\n".join((f"\n== {self.title}", *table, *self.lines))

    def _columns(self) -> int:
        return max((len(row) for row in self.rows), default=0)


def write_baseline(path: Path, figures: list[Figure]) -> None:
    """Write the figures to a file for later runs."""
    content = {figure.name: {"value": round(figure.value, 5), "noise": round(figure.noise, 5)} for figure in figures}
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def regressions(path: Path, figures: list[Figure]) -> list[str]:
    """Return one line for every figure that fell or was not measured.

    A figure fell if it is below the one in the file by more than twice its noise.
    """
    kept = json.loads(path.read_text(encoding="utf-8"))
    measured = {figure.name: asdict(figure) for figure in figures}
    found: list[str] = []
    for name, before in kept.items():
        if name not in measured:
            found.append(f"{name} was not measured")
        elif measured[name]["value"] < before["value"] - 2 * before["noise"]:
            found.append(f"{name} fell from {before['value']:.4f} to {measured[name]['value']:.4f}")
    return found
