"""Conversion of a QQ message to a search query: the first stage."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.models import Question
from services.retrieval.pictured import telling_lines
from services.retrieval.speech import written

# A longer message is a paste, not a question; its beginning says what it is about.
_MAX_CHARS = 1000
_QUOTED_CHARS = 300
# Nothing behind this is read: it leaves room for courtesies and placeholders before the first thousand characters.
_READ_CHARS = 4 * _MAX_CHARS

# Placeholders for pictures, faces and voice messages, as clients and forwarded logs write them.
_PLACEHOLDER = re.compile(
    r"\[(?:图片|表情|动画表情|语音|视频|文件|链接|红包|CQ:[^\[\]]*|[^\[\]\s]{1,8}表情)\]|\[/?[\u4e00-\u9fff]{1,3}\]"
)
# Not inside an email address, such as license@frob.example.
_AT = re.compile(r"(?<![A-Za-z0-9._-])(?:@\S{1,24}(?=\s|$)|@[^\s\u4e00-\u9fff]{1,24})")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\U00002600-\U000027bf\U0001f1e6-\U0001f1ff\ufe0e\ufe0f\u200b-\u200d\u2060\u2b00-\u2bff]+"
)
_TITLE = (
    r"(?:(?:各位|诸位)?(?:大佬们?|带佬们?|大神们?|佬们|群友们?|老师们|同学们|兄弟们?|小伙伴们?|朋友们?)|各位|诸位)好?"
)
_GREETING = r"(?:(?:hello|hi|hey)(?![a-z])|你好|您好|在吗|在不在|嗨|哈喽|早上好|中午好|下午好|晚上好|大家好)"
_PLEA = (
    r"(?:求助|求救|求教|请教一个问题|请教个问题|请教一?下|请教|请问一?下|请问|想请教一?下|想问一?下|想问问|麻烦问一?下"
    r"|问一下|问下|问个问题|打扰一下|打扰了|救命|急急急|在线等|挺急的|弱弱地?问一?下?|萌新(?:求助|提问)?|小白(?:求助|提问)?)"
)
_SEPARATORS = r"[\s,，.。!！、~～:：;；…]"
_TRAILING_SEPARATORS = " \t\n,，.。!！、~～:：;；…"
_LEADING = re.compile(rf"^(?:{_SEPARATORS}*(?:{_TITLE}|{_GREETING}|{_PLEA})){{1,4}}{_SEPARATORS}*", re.IGNORECASE)
# Separators before it are stripped afterwards: a pattern that begins with a run reads it once for each character.
_TRAILING = re.compile(
    rf"(?:(?:谢谢|感谢|多谢|谢了|thx|thanks)(?:{_TITLE}|啦|了|您|你)?|{_TITLE}|求助|救命|在线等|挺急的"
    rf"|有(?:大佬|人|谁)(?:知道|懂|会)吗)[!！?？~～。.]*$",
    re.IGNORECASE,
)
# Code, paths and error messages are pasted literally, so they must not be altered.
_VERBATIM = re.compile(
    r"```.*?```|`[^`\n]+`|Traceback \(most recent call last\).*|(?m:^[^\S\n]*(?:File \"|\w+(?:Error|Exception):).*$)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A search query: the cleaned question."""

    text: str

    def with_words(self, words: Sequence[str]) -> "Query":
        """Return the same question with additional words."""
        return Query(f"{self.text}\n{' '.join(words)}")


def build_query(question: Question) -> Query:
    """Remove what QQ adds to a question, and write spoken words as documents do. Code and error messages stay complete.

    A quoted message is searched with the question: "这个怎么解决？" means nothing without it. So are the lines of a
    picture that tell an error. If the person wrote only noise, these are the question. If there are none either, the
    original message is searched.

    >>> build_query(Question("@群知 大佬们求助😭 mmdeploy 怎么安装，谢谢大佬")).text
    'mmdeploy 怎么安装'
    """
    own, quoted = _clean(question.text), _clean(question.quoted)[:_QUOTED_CHARS]
    pictured = telling_lines(question.pictured, _QUOTED_CHARS)
    text = "\n".join(part for part in (own, quoted, pictured) if part) or question.shown.strip()
    return Query(text[:_MAX_CHARS])


def _clean(text: str) -> str:
    """Clean a text, removing polite phrases only at the ends of the prose.

    Inside a sentence the same words may carry its meaning.
    """
    text = text[:_READ_CHARS]
    verbatim = _VERBATIM.search(text)
    prose, code = (text[: verbatim.start()], text[verbatim.start() :]) if verbatim else (text, "")
    prose = _EMOJI.sub(" ", _AT.sub(" ", _PLACEHOLDER.sub(" ", prose))).strip()
    stripped = _LEADING.sub("", prose)
    if trailing := _TRAILING.search(stripped):
        stripped = stripped[: trailing.start()].rstrip(_TRAILING_SEPARATORS)
    stripped = stripped.strip()
    # What is nothing but a particle stays as it is.
    said = stripped or prose
    return "\n".join(part for part in (written(said).strip() or said, code.strip()) if part)
