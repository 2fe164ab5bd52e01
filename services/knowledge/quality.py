"""How good the text of a chunk is to read, as a number from 0 to 1."""

import re

from services.knowledge.models import Chunk

# A chunk of this many letters, digits and ideographs says something by itself; an empty one keeps the least factor.
_FULL_LENGTH, _LEAST_LENGTH_FACTOR = 80, 0.4
# Replacement characters, characters of private fonts, and the usual traces of a wrong encoding.
_BROKEN = re.compile(r"[\ufffd\ue000-\uf8ff]|锟斤拷|烫烫烫|屯屯屯|[ÃÂâ][\x80-\xbf€™œ]")
# A private character at the beginning of a line is the bullet of a list.
_BULLET = re.compile(r"^[ \t]*[\ue000-\uf8ff]+(?=[^\ue000-\uf8ff])", re.MULTILINE)
# Every hundredth of broken characters takes away a tenth.
_BROKEN_WEIGHT = 10.0
# Less than half of the characters being letters, digits or ideographs is a drawing or a table of contents.
_LEAST_READABLE = 0.5
_UNCERTAIN_TABLE_FACTOR = 0.5


def quality_of(chunk: Chunk) -> float:
    """Return the quality of a chunk, the product of four factors, rounded to hundredths.

    Length: 0.4 for no readable characters (letters, digits, ideographs), rising to 1 at 80 of them. Broken characters:
    1 minus ten times their share. Readable characters: their share of all but space, doubled, at most 1. An uncertain
    table: 0.5, because its rows and columns could not be told.

    >>> quality_of(Chunk(0, "住宿标准为每晚三百五十元。" * 8)), quality_of(Chunk(0, "住宿标准。"))
    (1.0, 0.43)
    """
    solid = "".join(chunk.text.split())
    if not solid:
        return 0.0
    readable = sum(map(str.isalnum, solid))
    length = min(1.0, _LEAST_LENGTH_FACTOR + (1 - _LEAST_LENGTH_FACTOR) * readable / _FULL_LENGTH)
    broken = sum(len(match) for match in _BROKEN.findall(_BULLET.sub("", chunk.text))) / len(solid)
    factors = (
        length,
        max(0.0, 1 - _BROKEN_WEIGHT * broken),
        min(1.0, readable / len(solid) / _LEAST_READABLE),
        _UNCERTAIN_TABLE_FACTOR if chunk.uncertain_table else 1.0,
    )
    score = 1.0
    for factor in factors:
        score *= factor
    return round(score, 2)
