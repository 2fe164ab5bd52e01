"""Questions and answers as people hand them in: cleaned, and refused with a sentence if they cannot be used."""

from services.faq.models import Pair
from services.grounding.citations import cited_numbers, normalise_citations
from services.records.conversations import Source
from services.text.cleaning import clean

QUESTION_CHARS = 200
# One message of QQ, which is what an answer is sent as.
ANSWER_CHARS = 1500


def read_pair(question: str, answer: str) -> Pair | str:
    r"""Return the pair, or why it cannot be used, as a Chinese clause without a full stop.

    >>> read_pair(" 几点\n熄灯 ", "十一点半。")
    Pair(question='几点 熄灯', answer='十一点半。')
    >>> read_pair("几点熄灯", " ")
    '没有回答'
    """
    # Cut before cleaning, so that the time has a bound.
    asked = " ".join(clean(question[: 4 * QUESTION_CHARS]).split())
    answered = clean(answer[: 4 * ANSWER_CHARS]).strip()
    if not asked:
        return "没有问题"
    if not answered:
        return "没有回答"
    if len(asked) > QUESTION_CHARS or len(question) > 4 * QUESTION_CHARS:
        return f"问题超过 {QUESTION_CHARS} 字"
    if len(answered) > ANSWER_CHARS:
        return f"回答超过 {ANSWER_CHARS} 字"
    return Pair(asked, answered)


def cited(answer: str, sources: tuple[Source, ...]) -> tuple[str, tuple[Source, ...]]:
    """Return an answer whose numbers 〔n〕 are exactly those of the sources returned with it."""
    text = normalise_citations(answer, {source.number for source in sources})
    named = set(cited_numbers(text))
    return text, tuple(source for source in sources if source.number in named)
