"""What the index keeps of a chunk beside its text, as scalars: its headings, its boundary and its profile.

A chunk that an earlier release stored has neither boundary nor profile: what can be told from its text is then made
where it is needed, and a rebuild stores it.
"""

from collections.abc import Mapping

from services.index.models import IndexedChunk
from services.knowledge.models import Chunk, ChunkBoundary, ChunkProfile
from services.knowledge.profiles import chunk_profile

# Between the headings of a path. No heading contains it.
BELOW = " › "
# Between tags and between categories. None of them contains it, and no category a tab.
_BETWEEN = "\n"


def profile_text(profile: ChunkProfile) -> str:
    """Return the profile of a chunk as one text, in which it leaves the parse subprocess."""
    tags, categories = _BETWEEN.join(profile.tags), _BETWEEN.join(profile.question_categories)
    return f"{profile.quality_score}\t{categories}\t{tags}"


def profile_metadata(chunk: Chunk, profile: str) -> dict[str, str | float]:
    """Return the boundary of a chunk and its profile, given as `profile_text`, as metadata."""
    quality, categories, tags = profile.split("\t", 2)
    return {"boundary": chunk.boundary.value, "tags": tags, "categories": categories, "quality": float(quality)}


def heading_of(metadata: Mapping[str, str | int | float | bool]) -> tuple[str, ...]:
    """Return the path of headings above a chunk, from the top."""
    stored = str(metadata.get("heading", ""))
    return tuple(stored.split(BELOW)) if stored else ()


def boundary_of(chunk: IndexedChunk) -> ChunkBoundary:
    """Return what a chunk consists of, MIXED if that is not known."""
    stored = chunk.metadata.get("boundary")
    return ChunkBoundary(str(stored)) if stored in set(ChunkBoundary) else ChunkBoundary.MIXED


def profile_of(chunk: IndexedChunk) -> ChunkProfile:
    """Return the profile of a chunk, made from its text alone if none is stored."""
    quality = chunk.metadata.get("quality")
    if not isinstance(quality, int | float):
        return chunk_profile(as_split(chunk))
    return ChunkProfile(_items(chunk, "tags"), _items(chunk, "categories"), min(1.0, max(0.0, float(quality))))


def as_split(chunk: IndexedChunk) -> Chunk:
    """Return a stored chunk as the splitter made it, as far as that is known."""
    uncertain = chunk.metadata.get("uncertain_table") is True
    heading = heading_of(chunk.metadata)
    return Chunk(chunk.ordinal, chunk.text, None, heading, uncertain, boundary_of(chunk))


def _items(chunk: IndexedChunk, name: str) -> tuple[str, ...]:
    return tuple(filter(None, str(chunk.metadata.get(name, "")).split(_BETWEEN)))
