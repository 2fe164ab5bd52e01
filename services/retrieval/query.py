"""From what somebody wrote in QQ to what is searched: the first stage."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.models import Question

# A message longer than this is not a question but a paste; its beginning says what it is about.
_MAX_CHARS = 1000
_QUOTED_CHARS = 300
# Nothing behind this is read: it leaves room for courtesies and placeholders before the first thousand characters.
_READ_CHARS = 4 * _MAX_CHARS

# Placeholders of pictures, faces and voices as clients and forwarded logs write them.
_PLACEHOLDER = re.compile(
    r"\[(?:图片|表情|动画表情|语音|视频|文件|链接|红包|CQ:[^\[\]]*|[^\[\]\s]{1,8}表情)\]|\[/?[\u4e00-\u9fff]{1,3}\]"
)
# Not within an address: license@frob.example.
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
# Code, paths, error texts: whoever pastes them means them letter by letter.
_VERBATIM = re.compile(
    r"```.*?```|`[^`\n]+`|Traceback \(most recent call last\).*|(?m:^[^\S\n]*(?:File \"|\w+(?:Error|Exception):).*$)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched: the cleaned question."""

    text: str

    def with_words(self, words: Sequence[str]) -> "Query":
        """The same question, asked with further words."""
        return Query(f"{self.text}\n{' '.join(words)}")


def build_query(question: Question) -> Query:
    """Strip what QQ adds to a question; code and error text stay whole.

    A quoted message is searched with the question: "这个怎么解决？" means nothing without it. When only noise was
    written, the quoted message is the question; when there is none either, the message is searched as it stands.

    >>> build_query(Question("@群知 大佬们求助😭 mmdeploy 怎么安装，谢谢大佬")).text
    'mmdeploy 怎么安装'
    """
    own, quoted = _clean(question.text), _clean(question.quoted)[:_QUOTED_CHARS]
    text = "\n".join(part for part in (own, quoted) if part) or question.shown.strip()
    return Query(text[:_MAX_CHARS])


def _clean(text: str) -> str:
    """Only the ends of the prose lose courtesies: in the middle of a sentence the same words may carry its meaning."""
    text = text[:_READ_CHARS]
    verbatim = _VERBATIM.search(text)
    prose, code = (text[: verbatim.start()], text[verbatim.start() :]) if verbatim else (text, "")
    prose = _EMOJI.sub(" ", _AT.sub(" ", _PLACEHOLDER.sub(" ", prose))).strip()
    stripped = _LEADING.sub("", prose)
    if trailing := _TRAILING.search(stripped):
        stripped = stripped[: trailing.start()].rstrip(_TRAILING_SEPARATORS)
    stripped = stripped.strip()
    return "\n".join(part for part in (stripped or prose, code.strip()) if part)
