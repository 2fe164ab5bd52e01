"""What the rules say about a document and its chunks: type, origin, tags, categories of questions, quality.

It runs in the parse subprocess. Nothing of it is embedded, searched or scored.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from services.knowledge.document_types import document_type_of, source_of
from services.knowledge.models import Chunk, ChunkProfile, DocumentProfile
from services.knowledge.quality import quality_of
from services.knowledge.terms import frequent_terms
from services.text.categories import categories_of

# The limits of the specification.
MOST_TAGS, TAG_CHARS = 20, 100
# A longer heading is a sentence or a question and no tag.
_HEADING_CHARS = 16
_DOCUMENT_HEADINGS, _DOCUMENT_TERMS = 8, 12
_CHUNK_TERMS = 8
_NUMBERING = re.compile(
    r"^\s*(?:第[一二三四五六七八九十百零〇\d]{1,5}[章节编篇部分条讲课]{1,2}|[（(]?[一二三四五六七八九十\d]{1,3}[)）、.．]|\d{1,2}(?:\.\d{1,2}){1,4}\.?|\d{1,2}(?=\s))\s*"
)
_MARGIN = re.compile(r"^[^\w《「（(]+|[^\w》」）)]+$")
_MARKUP = re.compile(r"[*_`#<>\[\]|]+")
_SENTENCE_SIGNS = re.compile(r"[，。；：！？,;!?]")
_SEPARATORS = re.compile(r"[\n\r\t]+")


def profiles_of(name: str, chunks: Sequence[Chunk]) -> tuple[DocumentProfile, list[ChunkProfile]]:
    """Return the profiles of a document, known by its file name, and of its chunks in order."""
    terms = _terms(name, chunks)
    return _document_profile(name, chunks, terms), [chunk_profile(chunk, terms) for chunk in chunks]


def document_profile_of(name: str, chunks: Sequence[Chunk]) -> DocumentProfile:
    """Return the profile of a document alone."""
    return _document_profile(name, chunks, _terms(name, chunks))


def chunk_profile(chunk: Chunk, terms: Sequence[str] = ()) -> ChunkProfile:
    """Return the profile of a chunk. `terms` are those of its document, most telling first."""
    found = [term for term in terms if term in chunk.text]
    return ChunkProfile(
        tags=tags_of([*_heading_tags(reversed(chunk.heading)), *found[:_CHUNK_TERMS]]),
        question_categories=categories_of(chunk.text),
        quality_score=quality_of(chunk),
    )


def tags_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return distinct words as tags: at most 20, each of at most 100 characters and on one line."""
    tags = (_SEPARATORS.sub(" ", word).strip()[:TAG_CHARS].rstrip() for word in words)
    return tuple(dict.fromkeys(filter(None, tags)))[:MOST_TAGS]


def _document_profile(name: str, chunks: Sequence[Chunk], terms: Sequence[str]) -> DocumentProfile:
    source_type, source_url = source_of(name, chunks)
    top = _heading_tags(heading for chunk in chunks for heading in chunk.heading[:2])
    return DocumentProfile(
        document_type=document_type_of(name, chunks),
        source_type=source_type,
        source_url=source_url,
        # A short document repeats no word.
        tags=tags_of([*terms[:_DOCUMENT_TERMS], *list(dict.fromkeys(top))[:_DOCUMENT_HEADINGS]])
        or tags_of(_heading_tags([PurePath(name).stem])),
    )


def _terms(name: str, chunks: Sequence[Chunk]) -> list[str]:
    headings = {title for chunk in chunks for title in chunk.heading}
    return frequent_terms([chunk.text for chunk in chunks], {PurePath(name).stem, *headings})


def _heading_tags(headings: Iterable[str]) -> Iterator[str]:
    """Yield the headings that name a subject, without their numbers and markup."""
    for heading in headings:
        title = _NUMBERING.sub("", _MARGIN.sub("", _MARKUP.sub("", heading)))
        if 1 < len(title) <= _HEADING_CHARS and not _SENTENCE_SIGNS.search(title):
            yield title
