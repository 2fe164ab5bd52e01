"""Search by words: one SQLite FTS5 file for each collection, so that the statistics of groups stay separate.

Synchronous; it runs in the index process. A chunk is stored with its text and its normalised text, from which its terms
are derived; the full-text table itself stores no text. (It stores positions although no phrase is ever searched:
without them SQLite's bm25() assumes that every chunk contains every term.)
"""

import functools
import json
import logging
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from services.index.aliases import definitions, is_in
from services.index.models import IndexedChunk
from services.index.ranking import best_chunks, selective
from services.index.tokens import (
    TERM_CHARACTERS,
    exact_terms,
    index_terms_of_normal,
    is_word,
    normalise,
    query_terms,
    spelling_in,
)

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z0-9_]{1,64}")
_MAX_OPEN = 64
# From this frequency on a few chunks more or less hardly change the weight of a term.
_COMMON = 100
_STALE_SHARE = 0.05
_MAX_COMMON = 20_000
# New frequencies of common terms are saved once there are this many.
_UNSAVED = 32
# This many definitions are enough for a name that thousands of chunks define.
_MAX_ALIASES = 2_000
# In so many chunks with the stem of a word its own spelling is looked for.
_SPELLING_CHUNKS = 5
# Incremented when terms or aliases are derived differently; a file of another version is filled again from its own
# texts.
_TERMS_VERSION = 2
_ALIASES_VERSION = 2
_VERSIONS = 1_000

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    chunk_id TEXT NOT NULL UNIQUE,
    build_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    normal TEXT NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS chunks_build ON chunks (build_id, ordinal);
CREATE TABLE IF NOT EXISTS aliases (
    chunk INTEGER NOT NULL, build_id TEXT NOT NULL, term TEXT NOT NULL, name TEXT NOT NULL, other TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS aliases_chunk ON aliases (chunk);
CREATE INDEX IF NOT EXISTS aliases_term ON aliases (term, name, other, build_id);
CREATE TABLE IF NOT EXISTS common (term TEXT PRIMARY KEY, frequency INTEGER NOT NULL, size INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5 (
    words, content='', tokenize="ascii tokenchars '{TERM_CHARACTERS}'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab (terms, row);
"""
_COLUMNS = (
    "chunks.chunk_id, chunks.build_id, chunks.ordinal, chunks.text, chunks.context, chunks.metadata, chunks.normal"
)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk, and the normalised form of its context and text, in which terms are looked up."""

    chunk: IndexedChunk
    normal: str


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """Chunks with their BM25 scores (larger is better), best first, and the number of chunks that contain each term."""

    hits: list[tuple[StoredChunk, float]]
    document_frequency: dict[str, int]
    chunk_count: int


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _without_damaged_file(
    method: "Callable[Concatenate[LexicalStore, str, Parameters], Result]",
) -> "Callable[Concatenate[LexicalStore, str, Parameters], Result]":
    """Repeat a call once without the collection's file if SQLite reports that the file is damaged.

    The collection is then empty, and its documents are built again from their originals.
    """

    @functools.wraps(method)
    def repeated(
        store: "LexicalStore", collection: str, /, *arguments: Parameters.args, **options: Parameters.kwargs
    ) -> Result:
        try:
            return method(store, collection, *arguments, **options)
        except sqlite3.DatabaseError as error:
            # The lower eight bits are the primary code; the others tell which part of the file is damaged.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            store.set_aside(collection)
            log.warning("the words of %s were damaged and are set aside: %s", collection, error)
        return method(store, collection, *arguments, **options)

    return repeated


class LexicalStore:
    """The files of all collections in one directory. A search never creates one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: OrderedDict[str, sqlite3.Connection] = OrderedDict()
        self._counts: dict[str, int] = {}
        # SQLite finds a common term's frequency by reading all its postings (1 ms for 5,000). Collection -> term -> its
        # frequency, and the size of the collection when it was determined.
        self._common: dict[str, dict[str, tuple[int, int]]] = {}
        self._unsaved: dict[str, set[str]] = {}

    @_without_damaged_file
    def add(self, collection: str, chunks: Iterable[IndexedChunk]) -> None:
        """Store chunks, replacing those with the same id, in one transaction."""
        self._counts.pop(collection, None)
        with self._created(collection) as connection:
            for chunk in chunks:
                normal = normalise(f"{chunk.context}\n{chunk.text}")
                self._remove(connection, "chunk_id = ?", (chunk.chunk_id,))
                cursor = connection.execute(
                    "INSERT INTO chunks (chunk_id, build_id, ordinal, text, context, normal, metadata)"
                    " VALUES (?,?,?,?,?,?,?)",
                    (
                        chunk.chunk_id,
                        chunk.build_id,
                        chunk.ordinal,
                        chunk.text,
                        chunk.context,
                        normal,
                        json.dumps(dict(chunk.metadata), ensure_ascii=False),
                    ),
                )
                row_id = cursor.lastrowid or 0
                connection.execute("INSERT INTO terms (rowid, words) VALUES (?,?)", (row_id, _terms_of(normal)))
                _write_aliases(connection, row_id, chunk.build_id, chunk.text)

    @_without_damaged_file
    def delete_chunks(self, collection: str, chunk_ids: Sequence[str]) -> int:
        """Remove chunks by id, in one transaction, and return how many there were."""
        connection = self._connect(collection)
        if connection is None or not chunk_ids:
            return 0
        self._counts.pop(collection, None)
        with connection:
            return sum(self._remove(connection, "chunk_id = ?", (chunk_id,)) for chunk_id in chunk_ids)

    @_without_damaged_file
    def search(self, collection: str, text: str, limit: int, hidden: Collection[str]) -> LexicalResult:
        """Return the chunks that share the rarest words with a question."""
        connection = self._connect(collection)
        terms = query_terms(text)
        if connection is None:
            return LexicalResult([], dict.fromkeys(terms, 0), 0)
        count = self.count(collection)
        frequency = {term: self._frequency(connection, collection, term, count) for term in terms}
        self._save_common(connection, collection)
        best = best_chunks(connection, selective(frequency, count), exact_terms(text), limit, hidden)
        rows = _rows(
            connection, f"SELECT {_COLUMNS}, chunks.id FROM chunks WHERE id IN", [row_id for row_id, _ in best]
        )
        stored = {row[7]: _stored(row) for row in rows}
        return LexicalResult([(stored[row_id], score) for row_id, score in best], frequency, count)

    @_without_damaged_file
    def aliases(self, collection: str, text: str, limit: int, hidden: Collection[str]) -> list[str]:
        """Return other names for what a text names, as visible chunks define them; those of the longest names first."""
        connection = self._connect(collection)
        if connection is None:
            return []
        normal = normalise(text)
        seen: dict[tuple[str, str], int] = {}
        for term in query_terms(text):
            rows = connection.execute(
                "SELECT name, other, count(*) FROM (SELECT name, other FROM aliases WHERE term = ?"
                " AND build_id NOT IN (SELECT value FROM json_each(?)) LIMIT ?) GROUP BY name, other",
                (term, json.dumps(sorted(hidden)), _MAX_ALIASES),
            )
            for name, other, count in rows:
                if is_in(name, normal) and not is_in(normalise(other), normal):
                    seen[name, other] = count
        found = sorted(seen, key=lambda pair: (-len(pair[0]), -seen[pair], pair))
        distinct: dict[str, str] = {}
        for _, other in found:
            distinct.setdefault(normalise(other), other)
        return list(distinct.values())[:limit]

    @_without_damaged_file
    def spellings(self, collection: str, words: Iterable[str], hidden: Collection[str]) -> dict[str, str]:
        """Map lower-case words to their spelling in a visible chunk; those that no chunk contains are left out."""
        connection = self._connect(collection)
        if connection is None:
            return {}
        found: dict[str, str] = {}
        hidden_builds = json.dumps(sorted(hidden))
        for word in words:
            if is_word(word):
                rows = connection.execute(
                    "SELECT context, text FROM terms JOIN chunks ON chunks.id = terms.rowid WHERE terms MATCH ?"
                    " AND build_id NOT IN (SELECT value FROM json_each(?)) LIMIT ?",
                    (f'"{index_terms_of_normal(word)[0]}"', hidden_builds, _SPELLING_CHUNKS),
                )
                # A chunk may contain another form of the same stem only.
                spelt = (spelling_in(f"{context}\n{text}", word) for context, text in rows)
                if spelling := next(filter(None, spelt), ""):
                    found[word] = spelling
        return found

    @_without_damaged_file
    def get(self, collection: str, chunk_ids: Sequence[str]) -> list[StoredChunk]:
        """Return stored chunks by id, in no particular order; unknown ids are left out."""
        connection = self._connect(collection)
        if connection is None or not chunk_ids:
            return []
        return [
            _stored(row) for row in _rows(connection, f"SELECT {_COLUMNS} FROM chunks WHERE chunk_id IN", chunk_ids)
        ]

    @_without_damaged_file
    def page(self, collection: str, build_id: str, start: int, limit: int) -> list[IndexedChunk]:
        """Return the chunks of a build from ordinal `start` on."""
        connection = self._connect(collection)
        if connection is None:
            return []
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM chunks WHERE build_id = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?",
            (build_id, start, limit),
        )
        return [_stored(row).chunk for row in rows]

    @_without_damaged_file
    def around(
        self, collection: str, places: Iterable[tuple[str, int]], reach: int
    ) -> dict[tuple[str, int], list[IndexedChunk]]:
        """Return the chunks of each place's build at most `reach` from it, in order."""
        connection = self._connect(collection)
        found: dict[tuple[str, int], list[IndexedChunk]] = {}
        for build_id, ordinal in places:
            rows: Iterable[tuple[Any, ...]] = ()
            if connection is not None:
                rows = connection.execute(
                    f"SELECT {_COLUMNS} FROM chunks WHERE build_id = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal",
                    (build_id, ordinal - reach, ordinal + reach),
                )
            found[build_id, ordinal] = [_stored(row).chunk for row in rows]
        return found

    @_without_damaged_file
    def builds(self, collection: str) -> dict[str, int]:
        """Return the stored builds with the number of chunks of each."""
        connection = self._connect(collection)
        if connection is None:
            return {}
        return dict(connection.execute("SELECT build_id, count(*) FROM chunks GROUP BY build_id"))

    @_without_damaged_file
    def chunk_ids(self, collection: str, build_id: str) -> set[str]:
        """Return the stored chunks of a build."""
        connection = self._connect(collection)
        if connection is None:
            return set()
        return {row[0] for row in connection.execute("SELECT chunk_id FROM chunks WHERE build_id = ?", (build_id,))}

    @_without_damaged_file
    def count(self, collection: str) -> int:
        """Return the number of all chunks of a collection."""
        connection = self._connect(collection)
        if connection is None:
            return 0
        if collection not in self._counts:
            # SQLite counts by reading the whole table. The result can be kept because only this process changes the
            # table.
            self._counts[collection] = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
        return self._counts[collection]

    def collections(self) -> set[str]:
        """Return the collections that have a file."""
        return {path.stem for path in self._directory.glob("*.sqlite3")}

    def set_aside(self, collection: str) -> None:
        """Rename a collection's damaged file, so that the collection starts empty."""
        if (connection := self._open.pop(collection, None)) is not None:
            connection.close()
        for kept in (self._counts, self._common, self._unsaved):
            kept.pop(collection, None)
        path = self._path(collection)
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
        for suffix in ("", "-wal", "-shm"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.replace(part.with_name(f"{part.name}.damaged-{stamp}"))

    def close(self) -> None:
        """Close every file."""
        while self._open:
            self._open.popitem()[1].close()

    def _path(self, collection: str) -> Path:
        return self._directory / f"{_checked(collection)}.sqlite3"

    def _connect(self, collection: str) -> sqlite3.Connection | None:
        return self._created(collection) if collection in self._open or self._path(collection).exists() else None

    def _created(self, collection: str) -> sqlite3.Connection:
        if (connection := self._open.get(collection)) is not None:
            self._open.move_to_end(collection)
            return connection
        path = self._path(collection)
        self._directory.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, cached_statements=64)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            # FULL: a document is made visible in another database right after its last chunk was written here, so a
            # power cut must not lose that chunk.
            connection.execute("PRAGMA synchronous=FULL")
            with connection:
                connection.executescript(_SCHEMA)
            self._bring_up_to_date(connection)
            self._common[collection] = {
                term: (frequency, size) for term, frequency, size in connection.execute("SELECT * FROM common")
            }
        except sqlite3.Error:
            connection.close()
            raise
        self._open[collection] = connection
        if len(self._open) > _MAX_OPEN:
            closed, idle = self._open.popitem(last=False)
            idle.close()
            self._common.pop(closed, None)
            self._unsaved.pop(closed, None)
        return connection

    @staticmethod
    def _bring_up_to_date(connection: sqlite3.Connection) -> None:
        """Rebuild what an older version of the product derived differently or not at all."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        # Before aliases existed the number was that of the terms alone.
        aliases_version, terms_version = divmod(version, _VERSIONS)
        with connection:
            if terms_version != _TERMS_VERSION:
                connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
                connection.execute("DELETE FROM common")
                with closing(connection.execute("SELECT id, context, text FROM chunks")) as rows:
                    for row_id, context, text in rows:
                        normal = normalise(f"{context}\n{text}")
                        connection.execute("UPDATE chunks SET normal = ? WHERE id = ?", (normal, row_id))
                        connection.execute("INSERT INTO terms (rowid, words) VALUES (?,?)", (row_id, _terms_of(normal)))
            if aliases_version != _ALIASES_VERSION:
                connection.execute("DELETE FROM aliases")
                with closing(connection.execute("SELECT id, build_id, text FROM chunks")) as rows:
                    for row_id, build_id, text in rows:
                        _write_aliases(connection, row_id, build_id, text)
            current = _VERSIONS * _ALIASES_VERSION + _TERMS_VERSION
            if version != current:
                connection.execute(f"PRAGMA user_version={current}")

    def _save_common(self, connection: sqlite3.Connection, collection: str) -> None:
        """Save the frequencies of common terms once there are enough for a transaction."""
        unsaved, common = self._unsaved.get(collection), self._common.get(collection, {})
        if not unsaved or len(unsaved) < _UNSAVED:
            return
        # Frequencies lost in a power cut are determined again, so there is no need to wait for the disk.
        connection.execute("PRAGMA synchronous=NORMAL")
        try:
            with connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO common (term, frequency, size) VALUES (?,?,?)",
                    [(term, *common[term]) for term in sorted(unsaved) if term in common],
                )
        except sqlite3.OperationalError as error:
            # A full disk is no reason to refuse an answer.
            log.warning("frequencies of %s could not be written down: %s", collection, error)
        finally:
            connection.execute("PRAGMA synchronous=FULL")
            unsaved.clear()

    @staticmethod
    def _remove(connection: sqlite3.Connection, condition: str, parameters: tuple[str | int, ...]) -> int:
        rows = connection.execute(
            f"SELECT id, normal FROM chunks WHERE {condition}",
            parameters,
        ).fetchall()
        for row_id, normal in rows:
            connection.execute(
                "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)", (row_id, _terms_of(normal))
            )
            connection.execute("DELETE FROM aliases WHERE chunk = ?", (row_id,))
            connection.execute("DELETE FROM chunks WHERE id = ?", (row_id,))
        return len(rows)

    def _frequency(self, connection: sqlite3.Connection, collection: str, term: str, size: int) -> int:
        """Return how many chunks contain a term: exact for rare terms, within a twentieth for common ones."""
        common = self._common.setdefault(collection, {})
        if (known := common.get(term)) is not None and abs(known[1] - size) <= known[1] * _STALE_SHARE:
            return known[0]
        row = connection.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        found = row[0] if row else 0
        if found >= _COMMON:
            if len(common) >= _MAX_COMMON:
                common.clear()
            common[term] = (found, size)
            self._unsaved.setdefault(collection, set()).add(term)
        return found


def _rows(connection: sqlite3.Connection, query: str, values: Iterable[str | int]) -> list[tuple[Any, ...]]:
    return connection.execute(f"{query} (SELECT value FROM json_each(?))", (json.dumps(list(values)),)).fetchall()


def _write_aliases(connection: sqlite3.Connection, row_id: int, build_id: str, text: str) -> None:
    for left, right in sorted(definitions(text)):
        for name, other in ((left, right), (right, left)):
            normal = normalise(name)
            if terms := query_terms(normal):
                connection.execute(
                    "INSERT INTO aliases VALUES (?,?,?,?,?)", (row_id, build_id, terms[0], normal, other)
                )


def _terms_of(normal: str) -> str:
    return " ".join(index_terms_of_normal(normal))


def _stored(row: tuple[Any, ...]) -> StoredChunk:
    return StoredChunk(IndexedChunk(row[0], row[1], row[2], row[3], row[4], json.loads(row[5])), row[6])


def _checked(collection: str) -> str:
    if not _NAME.fullmatch(collection):
        raise ValueError(f"not a collection name: {collection!r}")
    return collection
