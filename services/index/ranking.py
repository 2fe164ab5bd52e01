"""Ranking of chunks by the words of a question, with SQLite's BM25 and within a bounded time."""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

# More terms than this add nothing to the meaning of a question.
_MAX_TERMS = 48
# The number of chunks that all searched terms together may touch. The rarest terms come first, so only the most common
# ones are left out.
_MAX_POSTINGS = 15_000
# This many chunks are ranked exactly; if there are more, only those whose rare terms weigh most. FTS5 takes 3 µs to
# rank a chunk and 0.3 µs to find that it contains a term. Measured on 100,000 chunks, they include 99 % of the best
# thirty.
_MAX_RANKED = 600
_MAX_EQUAL = 1_500
# A code that occurs in at most this many chunks is typed to find exactly these chunks.
_RARE = 5

_HOLDING = "SELECT group_concat(rowid) FROM terms WHERE terms MATCH ?"
_HIDDEN = "SELECT id FROM chunks WHERE build_id IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class WeighedTerms:
    """The searched terms of a question, the number of chunks that contain each, and the number of all chunks."""

    terms: Sequence[str]
    frequency: Mapping[str, int]
    chunk_count: int

    def idf(self, term: str) -> float:
        """Return the inverse document frequency, ln(1 + N / n)."""
        return math.log1p(self.chunk_count / self.frequency[term])


def selective(frequency: Mapping[str, int], chunk_count: int) -> WeighedTerms:
    """Return the rarest terms, as many as may be searched."""
    chosen: list[str] = []
    postings = 0
    for term, count in sorted(frequency.items(), key=lambda item: item[1]):
        if not count:
            continue
        postings += count
        if len(chosen) == _MAX_TERMS or (chosen and postings > _MAX_POSTINGS):
            break
        chosen.append(term)
    return WeighedTerms(chosen, frequency, chunk_count)


def best_chunks(
    connection: sqlite3.Connection, asked: WeighedTerms, exact: Collection[str], limit: int, hidden: Collection[str]
) -> list[tuple[int, float]]:
    """Return row ids with their BM25 scores, best first. Ties go to the oldest row.

    Up to half of them are the chunks that contain one of the `exact` terms that occur in very few chunks. BM25 alone
    can lose these: among English chunks, it treats a Chinese chunk, which has many more terms, as a long text that
    happens to mention the code.
    """
    if not asked.terms:
        return []
    # Terms contain no quotation marks (see tokens), so a quoted term is never parsed as FTS5 syntax.
    query = "SELECT rowid, -rank FROM terms WHERE terms MATCH ?"
    parameters = [" OR ".join(f'"{term}"' for term in asked.terms)]
    if hidden:
        query += f" AND rowid NOT IN ({_HIDDEN})"
        parameters.append(json.dumps(sorted(hidden)))
    rare = _holding_rare(connection, asked, exact)
    if sum(asked.frequency[term] for term in asked.terms) > _MAX_RANKED:
        # The unary plus keeps FTS5 from looking up each row separately; only the rows that pass are ranked.
        query += " AND +rowid IN (SELECT value FROM json_each(?))"
        parameters.append(json.dumps([*rare, *_promising(connection, asked, hidden)]))
    rows = sorted(connection.execute(query, parameters), key=lambda row: (-row[1], row[0]))
    with_rare = [row_id for row_id, _ in rows if row_id in rare]
    meant = set(sorted(with_rare, key=lambda row_id: -rare[row_id])[: limit // 2])
    others = [row_id for row_id, _ in rows if row_id not in meant][: limit - len(meant)]
    kept = meant.union(others)
    return [row for row in rows if row[0] in kept]


def _holding(connection: sqlite3.Connection, term: str) -> NDArray[numpy.int64]:
    # Fetched as one text, because a Python object for each row takes twice as long. It is null if a frequency is
    # outdated.
    text = connection.execute(_HOLDING, (f'"{term}"',)).fetchone()[0]
    return numpy.fromstring(text, dtype=numpy.int64, sep=",") if text else numpy.zeros(0, dtype=numpy.int64)


def _holding_rare(connection: sqlite3.Connection, asked: WeighedTerms, exact: Collection[str]) -> Counter[int]:
    """Return the chunks with a rare exact term, and the total weight of their rare terms in thousandths."""
    found: Counter[int] = Counter()
    for term in asked.terms:
        if term in exact and asked.frequency[term] <= _RARE:
            found.update(dict.fromkeys(_holding(connection, term).tolist(), round(1_000 * asked.idf(term))))
    return found


def _promising(connection: sqlite3.Connection, asked: WeighedTerms, hidden: Collection[str]) -> list[int]:
    """Return the visible chunks whose terms weigh most, with each term counted once.

    This sum is the greater part of BM25 at a tenth of its cost. All chunks that weigh as much as the last one are
    included, at most `_MAX_EQUAL` of them, because only BM25 can tell which of them is best.
    """
    found = [_holding(connection, term) for term in asked.terms]
    idf = numpy.repeat([asked.idf(term) for term in asked.terms], [len(rows) for rows in found])
    ids, places = numpy.unique(numpy.concatenate(found), return_inverse=True)
    weight = numpy.bincount(places, idf, minlength=len(ids))
    if hidden:
        unseen = [row[0] for row in connection.execute(_HIDDEN, (json.dumps(sorted(hidden)),))]
        shown = ~numpy.isin(ids, unseen)
        ids, weight = ids[shown], weight[shown]
    if len(ids) > _MAX_RANKED:
        least = numpy.partition(weight, len(ids) - _MAX_RANKED)[len(ids) - _MAX_RANKED]
        better, equal = ids[weight > least], ids[weight == least]
        # If there are too many of them, take them at equal distances over the collection.
        ids = numpy.concatenate([better, equal[:: -(-len(equal) // _MAX_EQUAL)]])
    return ids.tolist()
