"""What an admin means who replies to a notice about reviews."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from services.reviews.models import Approved, Decision, Edited, Rejected

_NUMBER = re.compile(r"(?:编号|第)?\s*(\d{1,6})\s*[条号.、:：,，]?\s*(?=\D|$)")
_APPROVED = re.compile(r"(?:审核)?(?:通过|同意|批准|没问题|可以|ok|okay|approved?|👍)[了吧啦的]?", re.IGNORECASE)
_REJECTED = re.compile(
    r"(?:拒绝|驳回|不通过|不同意|rejected?|👎)(?:了|掉)?(?:[\s,:，：]+|$)(?:原因[\s,:，：]*)?(.*)", re.I | re.DOTALL
)
_EDITED = re.compile(r"(?:改成|改为|修改为|应该是|正确答案(?:是)?|edit)[\s,:，：]*(.*)", re.IGNORECASE | re.DOTALL)
_REMARK = re.compile(
    r"(?:我|先|让我|等我|大家|谁|帮|再|回头|晚点|稍后|一会儿?|明天|今天|下午|晚上)*"
    r"(?:收到|看看|看一?下|来看|来|处理|稍等|等一?[下等会]|知道|明白|了解|好的?|辛苦|谢谢|不对|错|不确定|不清楚|不知道|没看懂)"
    r"[了啦吧哈呀啊的下儿]*",
)
_QUESTION = re.compile(r".*[?？吗呢]", re.DOTALL)
_LEAST_CHARS = 4
# Among them the skin tones of 👍.
_MARKS = " \r\n\t。.!！~，,、\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision on the review of this number."""

    number: int
    decision: Decision


def read_verdict(text: str, numbers: Collection[int]) -> Verdict | None:
    """Return what a reply to a notice about the reviews `numbers` decides, or None if that is not clear.

    A notice about several reviews needs the number. What neither approves nor rejects is the right answer itself,
    unless it is a remark or a question.

    >>> read_verdict("通过", {12}), read_verdict("12 拒绝 没有依据", {11, 12}), read_verdict("我看看", {12})
    (Verdict(number=12, decision=Approved()), Verdict(number=12, decision=Rejected(reason='没有依据')), None)
    """
    said = text.strip()
    number, rest = _numbered(said, numbers)
    if number is None:
        return None
    plain = rest.strip(_MARKS)
    if _APPROVED.fullmatch(plain):
        return Verdict(number, Approved())
    if found := _REJECTED.fullmatch(plain):
        return Verdict(number, Rejected(found[1].strip()))
    # The number in front of an answer is a part of it if it is not needed: 3 天内可以退.
    said = said if len(numbers) == 1 else rest
    edited = _EDITED.fullmatch(said)
    right = edited[1].strip() if edited else said
    if not right or (edited is None and (len(said) < _LEAST_CHARS or _is_no_answer(said.strip(_MARKS)))):
        return None
    return Verdict(number, Edited(right))


def _is_no_answer(text: str) -> bool:
    return _REMARK.fullmatch(text) is not None or _QUESTION.fullmatch(text) is not None


def _numbered(text: str, numbers: Collection[int]) -> tuple[int | None, str]:
    """Return which of the reviews a text is about, and the text without the number."""
    found = _NUMBER.match(text)
    if found and int(found[1]) in numbers:
        return int(found[1]), text[found.end() :].strip()
    word, _, rest = text.rpartition(" ")
    if rest.isdecimal() and len(rest) <= 6 and int(rest) in numbers:
        return int(rest), word.strip()
    return (next(iter(numbers)), text) if len(numbers) == 1 else (None, text)
