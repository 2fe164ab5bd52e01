"""What every search index takes and gives, whatever it is built on.

An index stores the chunks of *builds*. A build is one parse of one version of one document under one set of
chunk settings; its id is derived from the content hash, so repeating an interrupted build writes the same chunk ids.
An index knows nothing of visibility: the caller names the builds to leave out of a search.

Vectors live in a *space*: the fingerprint of the embedding model that made them. Vectors of two spaces never meet in
one search; a chunk can be in the lexical part of a collection without having a vector in a given space.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """One passage as the index keeps it.

    `text` is what is shown and cited. `context` is what surrounds it (file title, heading path); it is searched, not
    shown. `metadata` holds JSON scalars only: group, uploader, uploaded_at, file, version, page, heading, ordinal.
    """

    chunk_id: str
    build_id: str
    ordinal: int
    text: str
    context: str = ""
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question to one collection.

    `vector` is the question in `space`, or None for a search by words alone. `limit` bounds each channel (dense and
    lexical) on its own, so at most twice as many hits come back.
    """

    collection: str
    text: str
    space: str
    vector: Vector | None
    limit: int
    hidden_builds: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate with the facts that ranking needs.

    `cosine` is in [-1, 1], None where the chunk has no vector in the asked space. `bm25` is positive and larger is
    better, None where the lexical channel did not return the chunk. `matched` holds the distinct query terms (see
    `tokens.query_terms`) that the chunk's text or context contains, whichever channel found it.
    """

    chunk: IndexedChunk
    cosine: float | None
    bm25: float | None
    matched: frozenset[str]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The candidates of both channels, each chunk once, in no meaningful order.

    `document_frequency` gives for every distinct query term the number of chunks of this collection that contain it
    (0 for an unseen one); `chunk_count` is the number of chunks of the collection. `topic` is the cosine of the asked
    vector to the mean of the collection's vectors, `cohesion` the length of that mean (0 to 1): how near the question
    is to what the collection is about, and how narrow that is; None where there are no vectors. All speak of this
    collection only.
    """

    hits: tuple[Hit, ...]
    document_frequency: Mapping[str, int]
    chunk_count: int
    topic: float | None = None
    cohesion: float | None = None


@dataclass(frozen=True, slots=True)
class IndexCount:
    """How many chunks a collection holds by words, and how many of them have a vector in one space."""

    lexical: int
    dense: int


@dataclass(frozen=True, slots=True)
class IndexGap:
    """What the index has lost of a collection, and whether the rest can be searched.

    `notice` is one Chinese sentence for the person who asked: what is wrong and what happens now.
    """

    notice: str
    searchable: bool


class SearchIndex(Protocol):
    """One index of many collections. Every implementation passes `tests/services/index/contract.py`.

    Every method raises `SearchIndexError` when the store behind it fails. All are safe to call concurrently.
    """

    async def add(
        self, collection: str, space: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector] | None
    ) -> None:
        """Store chunks, replacing those of the same id. `vectors` runs parallel to `chunks`; None stores words only.

        When it returns, the chunks survive a kill of the process.
        """
        ...

    async def search(self, request: SearchRequest) -> SearchResult:
        """Candidates of one collection. A collection that does not exist has none."""
        ...

    async def chunk_ids(self, collection: str, space: str, build_id: str) -> set[str]:
        """The chunks of a build that are wholly stored: by words and, unless `space` is empty, with a vector in it."""
        ...

    async def builds(self, collection: str) -> dict[str, int]:
        """The builds of a collection, with the number of chunks that each has by words."""
        ...

    async def chunks(self, collection: str, build_id: str, start: int = 0, limit: int = 20) -> list[IndexedChunk]:
        """Stored chunks of a build in order of `ordinal`, from ordinal `start` on."""
        ...

    async def around(
        self, collection: str, places: Sequence[tuple[str, int]], reach: int
    ) -> dict[tuple[str, int], list[IndexedChunk]]:
        """For every place, a build and an ordinal in it, the chunks of that build at most `reach` away, in order.

        The chunk at the place itself is among them. A place where nothing is stored has an empty list.
        """
        ...

    async def aliases(self, collection: str, text: str, limit: int, hidden_builds: Collection[str] = ()) -> list[str]:
        """Up to `limit` other names for what a text names, as this collection's own visible documents define them.

        None of them is in the text already. See `aliases.definitions` for what counts as a definition.
        """
        ...

    async def delete_build(self, collection: str, build_id: str) -> None:
        """Remove every chunk of a build, in every space. Unknown builds are not an error."""
        ...

    async def count(self, collection: str, space: str) -> IndexCount:
        """How much a collection holds."""
        ...

    async def spaces(self, collection: str) -> set[str]:
        """The spaces in which the collection has vectors, read from the stored collections' own metadata."""
        ...

    async def drop_space(self, collection: str, space: str) -> None:
        """Remove the collection's vectors of one space; the words stay."""
        ...

    async def collections(self) -> set[str]:
        """The names of all stored collections."""
        ...

    async def close(self) -> None:
        """Release what the index holds. Further calls raise `SearchIndexError`."""
        ...
