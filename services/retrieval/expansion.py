"""Other words for a question whose own words found nothing, for one second search and no third."""

from collections.abc import Iterable

from services.retrieval.query import Query

MOST_WORDS = 5
_MAX_WORD_CHARS = 40


def new_words(query: Query, found: Iterable[str]) -> list[str]:
    """Return up to five of the words that are not in the question, each on one line and once.

    >>> new_words(Query("怎么开 OSS"), ["oss", "对象存储", "对象存储"])
    ['对象存储']
    """
    lowered = query.text.lower()
    words = dict.fromkeys(" ".join(word.split())[:_MAX_WORD_CHARS] for word in found)
    return [word for word in words if word and word.lower() not in lowered][:MOST_WORDS]
