"""Ratings in words: 5 已解决 步骤很清楚."""

import re
from collections.abc import Mapping

from services.records.feedback import Rating
from services.records.tables import Resolution
from services.text.cleaning import clean, compatible

_COMMENT_CHARS = 300
_WORD = re.compile(r"([^\s,，;；。]+)[\s,，;；。]*")
_SCORE = re.compile(r"([1-5])(?:分|星|/5)?")
_RESOLUTIONS: Mapping[str, Resolution] = {
    **dict.fromkeys(("已解决", "已解决了", "解决", "解决了", "resolved"), Resolution.RESOLVED),
    **dict.fromkeys(
        ("部分", "部分解决", "解决一部分", "解决了一部分", "partly", "partially", "partially_resolved"),
        Resolution.PARTIALLY_RESOLVED,
    ),
    **dict.fromkeys(
        ("没解决", "未解决", "没有解决", "unresolved"),
        Resolution.UNRESOLVED,
    ),
}
_SCORES: Mapping[Resolution, int] = {
    Resolution.RESOLVED: 5,
    Resolution.PARTIALLY_RESOLVED: 3,
    Resolution.UNRESOLVED: 1,
}


def read_rating(text: str) -> Rating | None:
    """Return the rating that a text gives, or None if it begins neither with a score nor with an outcome.

    A missing score follows from the outcome, and a missing outcome from the score: 4 and 5 resolved, 3 partly.

    >>> rating = read_rating("４分，部分解决，少了一步")
    >>> rating and (rating.score, rating.resolution.value, rating.comment)
    (4, 'partially_resolved', '少了一步')
    >>> read_rating("谢谢") is None
    True
    """
    rest = " ".join(clean(text).split())
    score: int | None = None
    resolution: Resolution | None = None
    while match := _WORD.match(rest):
        word = compatible(match.group(1)).casefold()
        if score is None and (points := _SCORE.fullmatch(word)):
            score = int(points.group(1))
        elif resolution is None and word in _RESOLUTIONS:
            resolution = _RESOLUTIONS[word]
        else:
            break
        rest = rest[match.end() :]
    if score is None and resolution is None:
        return None
    comment = rest[:_COMMENT_CHARS]
    if resolution is None:
        resolution = _outcome(score or 1)
    return Rating(score or _SCORES[resolution], resolution, comment)


def _outcome(score: int) -> Resolution:
    if score >= _SCORES[Resolution.PARTIALLY_RESOLVED] + 1:
        return Resolution.RESOLVED
    return Resolution.PARTIALLY_RESOLVED if score == _SCORES[Resolution.PARTIALLY_RESOLVED] else Resolution.UNRESOLVED
