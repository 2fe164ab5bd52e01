"""Command line of all quality programs, over data given by path: `python -m benchmarks.quality --help`."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from benchmarks.quality import codes, extraction, half_indexed, ranking, rejection, stability
from benchmarks.quality.datasets import passages_of_corpus, read_messages, read_paragraphs
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report, regressions, write_baseline
from benchmarks.quality.vectors import Vectors

_NAMES = ("rejection", "half-indexed", "subjects", "ranking", "codes", "stability", "extraction")
_BASELINE = Path(__file__).parent / "baseline.json"


def main() -> None:
    """Print the tables. With `--check`, exit with code 1 if a figure fell by more than twice its noise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description="Quality of retrieval.")
    parser.add_argument("--labels", type=Path, required=True, help="labelled group messages, JSON lines")
    parser.add_argument("--corpus", type=Path, required=True, help="the documents they were labelled against")
    parser.add_argument("--reading", type=Path, required=True, help="paragraphs with questions, JSON lines")
    parser.add_argument("--subjects", type=Path, required=True, help="the same, with several paragraphs of a subject")
    parser.add_argument("--cache", type=Path, default=Path("data/benchmark-cache"), help="keeps vectors between runs")
    parser.add_argument("--only", nargs="*", choices=_NAMES, default=_NAMES)
    parser.add_argument("--check", action="store_true", help="compare with the kept figures")
    parser.add_argument("--write-baseline", action="store_true", help="keep the figures of this run")
    arguments = parser.parse_args()
    figures = asyncio.run(_run(arguments))
    if arguments.write_baseline:
        write_baseline(_BASELINE, figures)
    if arguments.check and (fallen := regressions(_BASELINE, figures)):
        print("\n" + "\n".join(fallen))
        sys.exit(1)


async def _run(arguments: argparse.Namespace) -> list[Figure]:
    vectors = Vectors(arguments.cache)
    readings = Readings(arguments.cache)
    paragraphs = read_paragraphs(arguments.reading)
    subjects = read_paragraphs(arguments.subjects)
    needs_corpus = {"rejection", "codes", "stability"}.intersection(arguments.only)
    corpus = passages_of_corpus(arguments.corpus) if needs_corpus else []
    programs = {
        "rejection": lambda: rejection.run(vectors, readings, read_messages(arguments.labels), corpus),
        "half-indexed": lambda: half_indexed.run(vectors, readings, paragraphs),
        "subjects": lambda: half_indexed.run(vectors, readings, subjects, 1, of=" by subjects"),
        "ranking": lambda: ranking.run(vectors, readings, paragraphs),
        "codes": lambda: codes.run(vectors, readings, paragraphs, corpus),
        "stability": lambda: stability.run(vectors, readings, paragraphs, corpus),
        "extraction": lambda: extraction.run(vectors, readings, paragraphs),
    }
    figures: list[Figure] = []
    for name in arguments.only:
        started = time.perf_counter()
        report: Report = await programs[name]()
        report.line(f"took {time.perf_counter() - started:.0f} s")
        print(report.text(), flush=True)
        figures += report.figures
    return figures


if __name__ == "__main__":
    main()
