"""Measurement and formatting of the figures that the benchmarks print."""

import os
import statistics
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(name: str, seconds: Sequence[float]) -> str:
    """Return one line with the count, and the minimum, median, 95th percentile and maximum in milliseconds."""
    low, middle, high, top = (
        1000 * value for value in (min(seconds), statistics.median(seconds), percentile(seconds, 0.95), max(seconds))
    )
    return f"{name:<44} n={len(seconds):<5} min {low:7.1f}  p50 {middle:7.1f}  p95 {high:7.1f}  max {top:7.1f} ms"


def process_tree(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants. Linux only."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(status.rsplit(")", 1)[1].split()[1])
    tree = [pid]
    for known in tree:
        tree.extend(child for child, parent in parents.items() if parent == known)
    return tree


def memory(pid: int) -> tuple[int, int]:
    """Return the proportional set size in MB of a process and all its descendants, and the number of processes."""
    tree = process_tree(pid)
    total = 0
    for member in tree:
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total // 1024, len(tree)


def open_files(pid: int) -> int:
    """Count the open file descriptors of a process and all its descendants. Linux only."""
    count = 0
    for member in process_tree(pid):
        # A child process may end in the meantime.
        with suppress(OSError):
            count += sum(1 for _ in Path(f"/proc/{member}/fd").iterdir())
    return count


def machine() -> str:
    """Return one line that describes the machine and its load."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{os.cpu_count()} cores, load average {load}"
