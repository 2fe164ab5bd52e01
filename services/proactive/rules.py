"""The decisions of the proactive mode, each a function of the messages heard. Times are UTC."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from services.index.tokens import matched_terms, normalise, query_terms
from services.proactive.models import GroupMessage
from services.records.groups import UnaskedAnswer
from services.retrieval.models import Question, Reference
from services.retrieval.query import build_query
from services.retrieval.wording import content_terms
from services.text.cleaning import compatible

HOUR = timedelta(hours=1)
SAME_FOR = timedelta(days=1)

# 怎么报销: no question is shorter. The 327 answerable questions of HuixiangDou's development half have a weight of 5
# and more.
_LEAST_WEIGHT = 4
_MOST_CHARS = 300
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z0-9_.\-]+")
# For two questions about one passage. Separates 北京住宿标准 from 上海住宿标准 (0.43), but not from 住宿标准 (0.6).
_OVERLAP = 0.5
_TEXT_CHARS = 500
# The share of a message's words that must occur in a passage for the message to say the same. 去1号楼一层补办，15块 has
# 5 of 8.
_SAID_SHARE, _LEAST_SAID = 0.5, 2
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])[\W_]+(?=[a-z0-9])")
_NOISE = re.compile(r"[^\w ]|_|(?<![a-z0-9]) | (?![a-z0-9])")
_HUSH = re.compile(
    r"(?:请|你|麻烦|能不能|可以|给我|先)*"
    r"(?:(?:别|不要|不用|少|停止)再?(?:说|吵|插嘴|插话|回|讲|答|回答|刷屏|打扰|主动回答|主动)(?:话|我们?)?|闭嘴|住口|住嘴"
    r"|(?:保持)?安静(?:点|些|一?点儿?|一?下|一会儿?)?|(?:好|太|真)?吵(?:死了?|人)?|嘘+|消停(?:点|一?会儿?)?"
    r"|shut ?up|(?:be )?quiet|stop)"
    r"(?:了|啦|吧|行吗|行不行|好吗|好不好|可以吗|啊|呀|\s)*",
    re.IGNORECASE,
)
_HUSH_CHARS = 20
_SETTLED = re.compile(
    r"(?:(?:已经|已|问题|自己|我|终于|刚)*(?:解决|搞定|找到|弄好|知道|明白|会|懂|好|ok)(?:了|啦|咯)|(?:算了|不用了|没事了?|打扰了))",
    re.IGNORECASE,
)


def says_something(text: str) -> bool:
    """Return whether a text is long enough to be a question: four characters, a Latin word counting as two.

    >>> says_something("mmdeploy 怎么装"), says_something("哈哈哈"), says_something("+1")
    (True, False, False)
    """
    plain = build_query(Question(text)).text
    return len(_HAN.findall(plain)) + 2 * len(_WORD.findall(plain)) >= _LEAST_WEIGHT


def says_too_much(text: str) -> bool:
    """Return whether a text is too long for a question: over 300 characters it is a paste or a speech."""
    return len(text.strip()) > _MOST_CHARS


def asks_for_quiet(text: str) -> bool:
    """Return whether this is nothing but a request to be quiet.

    >>> asks_for_quiet("别说了！"), asks_for_quiet("安静点"), asks_for_quiet("安静模式怎么设置")
    (True, True, False)
    """
    plain = re.sub(r"[^\w\s]|_", "", compatible(text)).strip()
    return len(plain) <= _HUSH_CHARS and _HUSH.fullmatch(plain) is not None


def interrupts(message: GroupMessage, before: Sequence[GroupMessage], quiet_s: float) -> bool:
    """Return whether an answer to this message would interrupt a conversation of two people.

    The conversation may be that of the message's author or that of two others.
    """
    return any(conversation(heard, message.at, quiet_s) for heard in (before, [*before, message]))


def conversation(heard: Sequence[GroupMessage], present: datetime, quiet_s: float) -> frozenset[int] | None:
    """Return the two members who are talking with each other, or None.

    Within the last `quiet_s` seconds they spoke by turns, A→B→A, and either one addressed the other or nobody else
    spoke since they began. Messages to the bot do not count. `heard` is oldest first.
    """
    since = present - timedelta(seconds=quiet_s)
    recent = [item for item in heard if since < item.at <= present and not item.asks_bot]
    pair = _last_two(recent)
    if pair and _alternate(item.user_id for item in recent[-_reach(recent, pair) :]):
        return pair
    for item in reversed(recent):
        for other in item.addressed - {item.user_id}:
            both = frozenset({item.user_id, other})
            if _alternate(each.user_id for each in recent if each.user_id in both):
                return both
    return None


def _last_two(recent: Sequence[GroupMessage]) -> frozenset[int] | None:
    last = list(dict.fromkeys(item.user_id for item in reversed(recent)))[:2]
    return frozenset(last) if len(last) == 2 else None


def _reach(recent: Sequence[GroupMessage], pair: frozenset[int]) -> int:
    """Return how many of the last messages are by these two alone."""
    count = 0
    for item in reversed(recent):
        if item.user_id not in pair:
            break
        count += 1
    return count


def _alternate(speakers: Iterable[int]) -> bool:
    turns = 0
    last: int | None = None
    for speaker in speakers:
        turns += speaker != last
        last = speaker
    return turns >= 3


def conversation_since(heard: Sequence[GroupMessage], start: int, present: datetime, quiet_s: float) -> bool:
    """Return whether two talked with each other at any moment since the message at `start` was heard, or do now."""
    moments = [(heard[: end + 1], heard[end].at) for end in range(start, len(heard))]
    return any(conversation(said, at, quiet_s) for said, at in (*moments, (heard, present)))


def taken_up(message: GroupMessage, since: Sequence[GroupMessage]) -> bool:
    """Return whether somebody reacted to the question after it: replied to it, or addressed the asker.

    Merely continuing to talk does not count: in a busy group somebody always does.
    """
    return any(
        item.reply_to == message.message_id or message.user_id in item.addressed - {item.user_id} for item in since
    )


def answered(message: GroupMessage, since: Sequence[GroupMessage], passage: str) -> bool:
    """Return whether somebody else has said what the passage says: most words of their message occur in it.

    A quick answer quotes and mentions nobody (去一楼补办，15 块), so `taken_up` alone does not notice it.
    """
    normal = normalise(passage)
    return any(_says(item.text, normal) for item in since if item.user_id != message.user_id and not item.asks_bot)


def _says(text: str, normal_passage: str) -> bool:
    terms = [term for term in query_terms(text) if len(term) > 1 or not _HAN.match(term)]
    stands = len(matched_terms(normal_passage, terms))
    return stands >= _LEAST_SAID and stands >= _SAID_SHARE * len(terms)


def settled(message: GroupMessage, since: Sequence[GroupMessage]) -> bool:
    """Return whether the asker wrote afterwards that they need no answer any more (解决了, 找到了, 算了)."""
    return any(item.user_id == message.user_id and _SETTLED.match(item.text.strip()) for item in since)


def asked_directly(message: GroupMessage, since: Sequence[GroupMessage]) -> bool:
    """Return whether the asker has addressed the bot itself in the meantime."""
    return any(item.user_id == message.user_id and item.asks_bot for item in since)


def in_last_hour(times: Iterable[datetime], present: datetime) -> int:
    """Return how many of `times` lie in the hour that ends now."""
    return sum(present - HOUR < time for time in times)


def comparable(text: str) -> str:
    """Return a question in the form that is compared and kept.

    It has no courtesies, case, width or punctuation, and at most 500 characters. Spaces are kept only between Latin
    words and numbers, where nothing else would separate them.

    >>> comparable("大佬们，MMDeploy　怎么安装？？") == comparable("mmdeploy怎么安装")
    True
    >>> comparable("How to install CUDA 12.1?")
    'how to install cuda 12 1'
    """
    apart = _BETWEEN_WORDS.sub(" ", normalise(build_query(Question(text)).text))
    return _NOISE.sub("", apart)[:_TEXT_CHARS]


def repeats(text: str, reference: Reference | None, earlier: Iterable[UnaskedAnswer], present: datetime) -> bool:
    """Return whether this question was taken up within a day.

    That is the case for the same words, or for the same passage and nearly the same words. Without a reference only the
    words count. Words are nearly the same if at least half of all terms in either question, except those that only ask,
    are in both.
    """
    mine = comparable(text)
    for item in earlier:
        if item.answered_at <= present - SAME_FOR:
            continue
        if item.text == mine:
            return True
        if reference is not None and _same_passage(item, reference) and overlap(mine, item.text) >= _OVERLAP:
            return True
    return False


def _same_passage(answer: UnaskedAnswer, reference: Reference) -> bool:
    return (
        answer.build_id == reference.build_id
        and answer.first_ordinal <= reference.last_ordinal
        and reference.first_ordinal <= answer.last_ordinal
    )


def overlap(one: str, other: str) -> float:
    """Return the share of common terms in what two comparable texts are about, 0 to 1 (Jaccard)."""
    left, right = _subject(one), _subject(other)
    return len(left & right) / len(left | right) if left | right else 1.0


def _subject(text: str) -> frozenset[str]:
    return content_terms(text)
