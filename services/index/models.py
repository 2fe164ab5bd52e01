"""The interface of every search index, independent of its implementation.

An index stores the chunks of *builds*. A build is one parse of one version of one document under one set of chunk
settings; its id is derived from the content hash, so repeating an interrupted build writes the same chunk ids. An index
knows nothing about visibility: the caller names the builds to leave out of a search.

Vectors belong to an *embedding fingerprint*, which identifies the embedding model that made them. Vectors of two models
are never mixed in one search; a chunk can be in the lexical part of a collection without a vector of a given model.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """One passage as the index stores it.

    `text` is shown and cited. `context` is what surrounds it (file title, heading path); it is searched, but not shown.
    `metadata` holds JSON scalars only: group, uploader, uploaded_at, file, version, page, heading, ordinal,
    uncertain_table for the lines of a table whose rows and columns could not be told, and boundary, tags, categories
    and quality (see `knowledge.chunk_metadata`). A chunk that an earlier release stored lacks the last four.
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

    `vector` is the question as embedded by the model with `embedding_fingerprint`, or None for a search by words
    alone. `limit` applies to each channel (dense and lexical) separately, so at most twice as many hits are returned.
    """

    collection: str
    text: str
    embedding_fingerprint: str
    vector: Vector | None
    limit: int
    hidden_builds: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate with the facts that ranking needs.

    `cosine` is in [-1, 1], or None if the chunk has no vector of the requested model. `bm25` is positive and larger is
    better, or None if the lexical channel did not return the chunk. `matched` holds the distinct query terms (see
    `tokens.query_terms`) that the chunk's text or context contains, whichever channel found it.
    """

    chunk: IndexedChunk
    cosine: float | None
    bm25: float | None
    matched: frozenset[str]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The candidates of both channels, each chunk once, in no meaningful order.

    `document_frequency` gives for every distinct query term the number of chunks of this collection that contain it (0
    for an unseen one); `chunk_count` is the number of chunks of the collection. `topic` is the cosine of the question's
    vector to the mean of the collection's vectors, `cohesion` the length of that mean (0 to 1). They tell how near the
    question is to the subject of the collection, and how narrow that subject is; both are None if there are no vectors.
    All values describe this collection only.
    """

    hits: tuple[Hit, ...]
    document_frequency: Mapping[str, int]
    chunk_count: int
    topic: float | None = None
    cohesion: float | None = None


@dataclass(frozen=True, slots=True)
class IndexCount:
    """The number of chunks that a collection holds by words, and of those that have a vector of one model."""

    lexical: int
    dense: int


@dataclass(frozen=True, slots=True)
class IndexGap:
    """A loss of the index in one collection, and whether the rest can be searched.

    `notice` is one Chinese sentence for the user who asked: what is wrong and what happens now.
    """

    notice: str
    searchable: bool


class SearchIndex(Protocol):
    """One index of many collections. Every implementation passes `tests/services/index/contract.py`.

    Every method raises `SearchIndexError` if the underlying store fails. All methods may be called concurrently.
    """

    async def add_words(self, collection: str, chunks: Sequence[IndexedChunk]) -> None:
        """Store chunks by words, replacing those with the same id.

        When the call returns, the chunks survive a kill of the process.
        """
        ...

    async def add_vectors(
        self, collection: str, embedding_fingerprint: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors of chunks whose words are stored, replacing those of the same model.

        `vectors` is parallel to `chunks`. When the call returns, the vectors survive a kill of the process.
        """
        ...

    async def search(self, request: SearchRequest) -> SearchResult:
        """Return the candidates of one collection; a collection that does not exist has none."""
        ...

    async def chunk_ids(self, collection: str, embedding_fingerprint: str, build_id: str) -> set[str]:
        """Return the completely stored chunks of a build.

        A chunk is complete if it is stored by words and, unless `embedding_fingerprint` is empty, with a vector of that
        model.
        """
        ...

    async def builds(self, collection: str) -> dict[str, int]:
        """Return the builds of a collection, with the number of chunks that each has by words."""
        ...

    async def chunks(self, collection: str, build_id: str, start: int = 0, limit: int = 20) -> list[IndexedChunk]:
        """Return the stored chunks of a build in order of `ordinal`, from ordinal `start` on."""
        ...

    async def around(
        self, collection: str, places: Sequence[tuple[str, int]], reach: int
    ) -> dict[tuple[str, int], list[IndexedChunk]]:
        """Return the chunks around each place, at most `reach` away and in order.

        A place is a build and an ordinal in it. The chunk at the place itself is included. A place without stored
        chunks has an empty list.
        """
        ...

    async def aliases(self, collection: str, text: str, limit: int, hidden_builds: Collection[str] = ()) -> list[str]:
        """Return up to `limit` other names for what a text names, as visible documents of this collection define them.

        Names that the text already contains are left out. See `aliases.definitions` for what counts as a definition.
        """
        ...

    async def spellings(
        self, collection: str, words: Sequence[str], hidden_builds: Collection[str] = ()
    ) -> dict[str, str]:
        """Map those of `words` that visible chunks contain to their spelling there.

        The words are lower-case Latin letters and digits, also compounds (see `tokens`); others are never found.
        """
        ...

    async def delete_build(self, collection: str, build_id: str) -> None:
        """Remove every chunk of a build, with vectors of every model. Unknown builds are not an error."""
        ...

    async def count(self, collection: str, embedding_fingerprint: str) -> IndexCount:
        """Return how much a collection holds."""
        ...

    async def embedding_fingerprints(self, collection: str) -> set[str]:
        """Return the models of the collection's vectors, read from the stored collections' own metadata."""
        ...

    async def drop_vectors(self, collection: str, embedding_fingerprint: str) -> None:
        """Remove the collection's vectors of one model; the words stay."""
        ...

    async def collections(self) -> set[str]:
        """Return the names of all stored collections."""
        ...

    async def close(self) -> None:
        """Release the resources of the index. Further calls raise `SearchIndexError`."""
        ...
