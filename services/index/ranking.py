"""Which chunks answer to the words of a question best, by SQLite's BM25 and within a bounded time."""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

# More terms than this say nothing more about what is asked.
_MAX_TERMS = 48
# Chunks that all searched terms together may touch; the rarest terms come first, so only the commonest are left out.
_MAX_POSTINGS = 15_000
# So many chunks are ranked exactly; of more, those whose rare terms weigh most. FTS5 takes 3 µs to rank a chunk and 0.3
# to find that it has a term. Measured on 100,000 chunks: 99 % of the best thirty are among them.
_MAX_RANKED = 600
_MAX_EQUAL = 1_500
# A code that no more chunks hold is asked for because of these.
_RARE = 5

_HOLDING = "SELECT group_concat(rowid) FROM terms WHERE terms MATCH ?"
_HIDDEN = "SELECT id FROM chunks WHERE build_id IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class WeighedTerms:
    """The searched terms of a question, how many chunks of the collection hold each, and how many chunks there are."""

    terms: Sequence[str]
    frequency: Mapping[str, int]
    chunk_count: int

    def idf(self, term: str) -> float:
        """Inverse document frequency, ln(1 + N / n)."""
        return math.log1p(self.chunk_count / self.frequency[term])


def selective(frequency: Mapping[str, int], chunk_count: int) -> WeighedTerms:
    """The rarest terms, as many as may be searched."""
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
    """Row ids with their BM25, best first, of equal ones the oldest.

    Up to half of them are the chunks that hold one of the `exact` terms that hardly any other has. BM25 alone can lose
    these: it takes a chunk of Chinese among English ones, whose terms are many more, to be a long text that happens to
    mention the code.
    """
    if not asked.terms:
        return []
    # Terms hold no quotation marks (see tokens), so a quoted term is never read as FTS5 syntax.
    query = "SELECT rowid, -rank FROM terms WHERE terms MATCH ?"
    parameters = [" OR ".join(f'"{term}"' for term in asked.terms)]
    if hidden:
        query += f" AND rowid NOT IN ({_HIDDEN})"
        parameters.append(json.dumps(sorted(hidden)))
    rare = _holding_rare(connection, asked, exact)
    if sum(asked.frequency[term] for term in asked.terms) > _MAX_RANKED:
        # The unary plus keeps FTS5 from looking up each row on its own; only rows that pass are ranked.
        query += " AND +rowid IN (SELECT value FROM json_each(?))"
        parameters.append(json.dumps([*rare, *_promising(connection, asked, hidden)]))
    rows = sorted(connection.execute(query, parameters), key=lambda row: (-row[1], row[0]))
    meant = {row_id for row_id, _ in sorted(rows, key=lambda row: -rare[row[0]])[: limit // 2] if rare[row_id]}
    others = [row_id for row_id, _ in rows if row_id not in meant][: limit - len(meant)]
    kept = meant.union(others)
    return [row for row in rows if row[0] in kept]


def _holding(connection: sqlite3.Connection, term: str) -> NDArray[numpy.int64]:
    # As one text: a Python object for each row takes twice as long. There is none where a frequency is out of date.
    text = connection.execute(_HOLDING, (f'"{term}"',)).fetchone()[0]
    return numpy.fromstring(text, dtype=numpy.int64, sep=",") if text else numpy.zeros(0, dtype=numpy.int64)


def _holding_rare(connection: sqlite3.Connection, asked: WeighedTerms, exact: Collection[str]) -> Counter[int]:
    """The chunks with a rare exact term, with how much their rare terms weigh together in thousandths."""
    found: Counter[int] = Counter()
    for term in asked.terms:
        if term in exact and asked.frequency[term] <= _RARE:
            found.update(dict.fromkeys(_holding(connection, term).tolist(), round(1_000 * asked.idf(term))))
    return found


def _promising(connection: sqlite3.Connection, asked: WeighedTerms, hidden: Collection[str]) -> list[int]:
    """The visible chunks whose terms weigh most, each counted once: the greater part of BM25 at a tenth of its price.

    All that weigh as much as the last one are in, as far as `_MAX_EQUAL` goes: which of them is best, only BM25 knows.
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
        # Spread over the collection, where there are too many of them.
        ids = numpy.concatenate([better, equal[:: -(-len(equal) // _MAX_EQUAL)]])
    return ids.tolist()
