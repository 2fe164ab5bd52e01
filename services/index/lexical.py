"""Search by words: one SQLite FTS5 file for each collection, so that no group's statistics touch another's.

Synchronous; it lives in the index process. Beside its text a chunk keeps the normalised one, of which its terms are
made; the full-text table itself keeps no text. (It keeps positions although no phrase is ever asked: without them
SQLite's bm25() takes every chunk to hold every term.)
"""

import json
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.index.models import IndexedChunk
from services.index.tokens import TERM_CHARACTERS, index_terms_of_normal, normalise, query_terms

_NAME = re.compile(r"[a-z0-9_]{1,64}")
_MAX_OPEN = 64
# More terms than this say nothing more about what is asked.
_MAX_TERMS = 48
# Chunks that all searched terms together may touch; the rarest terms come first, so only the commonest are left out.
_MAX_POSTINGS = 15_000
# From this frequency on a term's weight hardly changes with a few chunks more or less.
_COMMON = 100
_STALE_SHARE = 0.05
_MAX_COMMON = 20_000
# Raised when terms are made differently; a file of another version is filled anew from its own texts.
_TERMS_VERSION = 1

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
    """A chunk, and the normalised form of its context and text, in which terms are looked for."""

    chunk: IndexedChunk
    normal: str


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """Chunks with their BM25 (larger is better), best first, and how many chunks contain each term."""

    hits: list[tuple[StoredChunk, float]]
    document_frequency: dict[str, int]
    chunk_count: int


class LexicalStore:
    """All collections' files below one directory. A search never creates one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: OrderedDict[str, sqlite3.Connection] = OrderedDict()
        self._counts: dict[str, int] = {}
        # SQLite finds a common term's frequency by walking all its postings (1 ms for 5,000): collection -> term ->
        # its frequency, and the size of the collection when it was found.
        self._common: dict[str, dict[str, tuple[int, int]]] = {}

    def add(self, collection: str, chunks: Iterable[IndexedChunk]) -> None:
        """Store chunks, replacing those of the same id, in one transaction."""
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
                connection.execute(
                    "INSERT INTO terms (rowid, words) VALUES (?,?)",
                    (cursor.lastrowid, _terms_of(normal)),
                )

    def delete_chunks(self, collection: str, chunk_ids: Sequence[str]) -> int:
        """Remove chunks by id, in one transaction; gives how many there were."""
        connection = self._connect(collection)
        if connection is None or not chunk_ids:
            return 0
        self._counts.pop(collection, None)
        with connection:
            return sum(self._remove(connection, "chunk_id = ?", (chunk_id,)) for chunk_id in chunk_ids)

    def search(self, collection: str, text: str, limit: int, hidden: Collection[str]) -> LexicalResult:
        """The chunks that share the rarest words with a question."""
        connection = self._connect(collection)
        terms = query_terms(text)
        if connection is None:
            return LexicalResult([], dict.fromkeys(terms, 0), 0)
        count = self.count(collection)
        frequency = {term: self._frequency(connection, collection, term, count) for term in terms}
        chosen = _selective(frequency)
        if not chosen:
            return LexicalResult([], frequency, count)
        # Terms hold no quotation marks (see tokens), so a quoted term is never read as FTS5 syntax.
        match = " OR ".join(f'"{term}"' for term in chosen)
        # Ranked on ids alone: the texts of thousands of matches must not go through the sorter.
        visible, marks = "", ",".join("?" * len(hidden))
        if hidden:
            visible = f" AND rowid NOT IN (SELECT id FROM chunks WHERE build_id IN ({marks}))"
        rows = connection.execute(
            f"SELECT {_COLUMNS}, -best.rank FROM"
            f" (SELECT rowid, rank FROM terms WHERE terms MATCH ?{visible} ORDER BY rank LIMIT ?) AS best"
            " JOIN chunks ON chunks.id = best.rowid ORDER BY best.rank, chunks.id",
            (match, *hidden, limit),
        ).fetchall()
        return LexicalResult([(_stored(row), row[7]) for row in rows], frequency, count)

    def get(self, collection: str, chunk_ids: Sequence[str]) -> list[StoredChunk]:
        """Stored chunks by id, in no order; unknown ids are left out."""
        connection = self._connect(collection)
        if connection is None or not chunk_ids:
            return []
        marks = ",".join("?" * len(chunk_ids))
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM chunks WHERE chunk_id IN ({marks})",
            tuple(chunk_ids),
        )
        return [_stored(row) for row in rows]

    def page(self, collection: str, build_id: str, start: int, limit: int) -> list[IndexedChunk]:
        """Chunks of a build from ordinal `start` on."""
        connection = self._connect(collection)
        if connection is None:
            return []
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM chunks WHERE build_id = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?",
            (build_id, start, limit),
        )
        return [_stored(row).chunk for row in rows]

    def chunk_ids(self, collection: str, build_id: str) -> set[str]:
        """The stored chunks of a build."""
        connection = self._connect(collection)
        if connection is None:
            return set()
        return {row[0] for row in connection.execute("SELECT chunk_id FROM chunks WHERE build_id = ?", (build_id,))}

    def builds(self, collection: str) -> set[str]:
        """Builds with at least one chunk."""
        connection = self._connect(collection)
        if connection is None:
            return set()
        return {row[0] for row in connection.execute("SELECT DISTINCT build_id FROM chunks")}

    def count(self, collection: str) -> int:
        """All chunks of a collection."""
        connection = self._connect(collection)
        if connection is None:
            return 0
        if collection not in self._counts:
            # SQLite counts by walking the whole table; only this process ever changes it.
            self._counts[collection] = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
        return self._counts[collection]

    def collections(self) -> set[str]:
        """The collections that have a file."""
        return {path.stem for path in self._directory.glob("*.sqlite3")}

    def drop(self, collection: str) -> None:
        """Remove a collection's file."""
        self._counts.pop(collection, None)
        self._common.pop(collection, None)
        if (connection := self._open.pop(_checked(collection), None)) is not None:
            connection.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._path(collection)}{suffix}").unlink(missing_ok=True)

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
        connection.execute("PRAGMA journal_mode=WAL")
        # FULL: a document is made visible in another database right after its last chunk was written here, so a power
        # cut must not take that chunk.
        connection.execute("PRAGMA synchronous=FULL")
        with connection:
            connection.executescript(_SCHEMA)
        if connection.execute("PRAGMA user_version").fetchone()[0] != _TERMS_VERSION:
            self._make_terms(connection)
        self._open[collection] = connection
        if len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)[1].close()
        return connection

    @staticmethod
    def _make_terms(connection: sqlite3.Connection) -> None:
        with connection:
            connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
            with closing(connection.execute("SELECT id, context, text FROM chunks")) as rows:
                for row_id, context, text in rows:
                    normal = normalise(f"{context}\n{text}")
                    connection.execute("UPDATE chunks SET normal = ? WHERE id = ?", (normal, row_id))
                    connection.execute("INSERT INTO terms (rowid, words) VALUES (?,?)", (row_id, _terms_of(normal)))
            connection.execute(f"PRAGMA user_version={_TERMS_VERSION}")

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
            connection.execute("DELETE FROM chunks WHERE id = ?", (row_id,))
        return len(rows)

    def _frequency(self, connection: sqlite3.Connection, collection: str, term: str, size: int) -> int:
        """How many chunks contain a term: exact for rare ones, within a twentieth for common ones."""
        common = self._common.setdefault(collection, {})
        if (known := common.get(term)) is not None and abs(known[1] - size) <= known[1] * _STALE_SHARE:
            return known[0]
        row = connection.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        found = row[0] if row else 0
        if found >= _COMMON:
            if len(common) >= _MAX_COMMON:
                common.clear()
            common[term] = (found, size)
        return found


def _selective(frequency: dict[str, int]) -> list[str]:
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
    return chosen


def _terms_of(normal: str) -> str:
    return " ".join(index_terms_of_normal(normal))


def _stored(row: tuple[Any, ...]) -> StoredChunk:
    return StoredChunk(IndexedChunk(row[0], row[1], row[2], row[3], row[4], json.loads(row[5])), row[6])


def _checked(collection: str) -> str:
    if not _NAME.fullmatch(collection):
        raise ValueError(f"not a collection name: {collection!r}")
    return collection
