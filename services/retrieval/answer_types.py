"""Answer types: what kind of value a question asks for, and whether a passage has one.

A passage about fees without any amount answers no question for an amount, however similar it is.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from services.text.numerals import SIGNS

_NUMERAL = rf"[{SIGNS}半两几]"
_ANY = rf"(?:\d|{_NUMERAL})"


class AnswerType(StrEnum):
    """A kind of value."""

    MONEY = "money"
    CLOCK = "clock"
    DATE = "date"
    DURATION = "duration"
    PHONE = "phone"
    ACCOUNT = "account"
    PEOPLE = "people"
    SHARE = "share"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a value is asked for, how it is written, and what else in a passage may be one."""

    asked: re.Pattern[str]
    written: re.Pattern[str]
    perhaps: re.Pattern[str]


def _kind(asked: str, written: str, perhaps: str = _ANY) -> _Kind:
    return _Kind(re.compile(asked), re.compile(written), re.compile(perhaps))


_PAID = (
    r"(?:费|价格?|价钱|金额|罚款?|奖金|奖励|补贴|补助|津贴|工资|薪[资水]|[月年]薪|押金|预算|报销?|成本|报价"
    r"|营收|收入|利润)"
)
_DAYS = (
    r"(?:天|日|个?工作日|个?小时|个?钟头?|分钟|秒钟?|个?月|年|周|个?星期|学期|学年"
    r"|ms|min|hours?|days?|minutes?|seconds?|[hs])"
)
# In order: the first kind that is asked for counts.
_KINDS: dict[AnswerType, _Kind] = {
    AnswerType.PHONE: _kind(
        r"(?:电话|手机号?|号码|热线)[^,，。？?]{0,4}(?:多少|是什么|几号|几|有吗)|(?:什么|多少).{0,2}电话|联系(?:方式|电话)",
        r"(?<!\d)(?:1[3-9]\d{9}|0\d{2,3}[- ]?\d{7,8}|[48]00[- ]?\d{3,4}[- ]?\d{3,4}|\d{7,8})(?!\d)|\d{3,4}-\d{4,8}"
        # An extension is a short number that is called one, also in the column of a table.
        r"|(?:电话|手机|热线|分机|内线|总机)[\s\S]{0,120}?(?<![\d.])\d{3,6}(?![\d.元年月日])",
        r"\d{3,}",
    ),
    AnswerType.ACCOUNT: _kind(
        r"(?:qq|微信|邮箱|群号|会议号|email|mail|vx|官方群)[^,，。？?]{0,4}(?:多少|是什么|几|地址)",
        r"(?<!\d)\d{5,12}(?!\d)|[\w.+-]+@[\w-]+|(?:微信|qq|群)[号:： ]{1,3}\w",
        r"\d{5,}|@",
    ),
    AnswerType.SHARE: _kind(
        r"百分之几|百分之多少|几折|(?:比例|税率|利率|占比|费率)[^,，。？?]{0,4}(?:多少|几|是什么)|多少.{0,2}比例",
        rf"%|百分之|‰|[\d{SIGNS}]成|[\d{SIGNS}]折|[\d{SIGNS}]分之",
    ),
    AnswerType.CLOCK: _kind(
        r"几点(?!几)|几时|什么钟点",
        rf"\d{{1,2}}:\d{{2}}|(?:\d{{1,2}}|[{SIGNS}]{{1,3}})\s*(?:点(?!以上|击|赞)|时(?!间|候|长|期|代))"
        r"|[ap]\.?m\b|24小时|全天",
        r"$^",
    ),
    AnswerType.DURATION: _kind(
        rf"多久|多长时间|(?:几|多少)\s*{_DAYS}(?!号)|how long",
        rf"{_ANY}\s*{_DAYS}|当[天日]|立即|即时|永久|长期|随时|次日|一辈子|终身",
    ),
    AnswerType.DATE: _kind(
        r"哪天|哪一天|哪几天|几号(?!楼|线|机)|几月|哪年|哪月|什么日期|(?:什么时候|何时)[^,，。？?]{0,6}$|(?:什么时候|何时)",
        rf"\d{{1,2}}\s*[月日号]|[{SIGNS}]+[月日]|\d{{4}}\s*年|\d{{4}}[-/.]\d{{1,2}}|\d{{1,2}}[./]\d{{1,2}}|周[一二三四五六日末]"
        rf"|{_ANY}\s*{_DAYS}|\d{{1,2}}:\d{{2}}|每[年月周天日]|[上下]旬|学期|假期|之?[前后](?!面)|时",
        r"$^",
    ),
    AnswerType.PEOPLE: _kind(
        r"(?:几|多少)\s*(?:个|名|位)?\s*(?:人|学生|专家|委员|评委|员工|老师)(?!民|均|次)|几人间",
        rf"{_ANY}\s*(?:余|多)?\s*(?:个|名|位)?\s*(?:人|学生|专家|委员|成员|评委|员工|教师|教授)|{_ANY}\s*[名位]|[单双]人",
    ),
    AnswerType.MONEY: _kind(
        rf"多少钱|多少(?:元|块|人民币)|什么价|怎么收费|{_PAID}[^,，。？?]{{0,6}}(?:多少|几)|(?:多少|几).{{0,2}}{_PAID}",
        rf"\d[\d,.]*\s*(?:万|亿|千|百)?\s*(?:元|块|圆|人民币|美元|usd|rmb)|[¥$￥]\s*\d|[{SIGNS}]{{1,8}}\s*(?:元|块)|免费|不收费|免收"
        rf"|(?:元|{_PAID})\D{{0,40}}\d",
    ),
    AnswerType.NUMBER: _kind(r"多少|(?<!哪)几(?!乎|率|何|点)|how (?:many|much)|多[大高重快宽深](?!学)", _ANY, _ANY),
}


def asked_type(normal: str) -> AnswerType | None:
    """Return the kind of value that a normalised question in written words asks for, or None.

    >>> asked_type("一等奖学金多少钱"), asked_type("图书馆几点闭馆"), asked_type("怎么报销")
    (<AnswerType.MONEY: 'money'>, <AnswerType.CLOCK: 'clock'>, None)
    """
    return next((kind for kind, forms in _KINDS.items() if forms.asked.search(normal)), None)


def missing(kind: AnswerType, normal: str) -> float:
    """Return how surely a normalised passage has no value of a kind: 0 if it has one, 0.5 perhaps, 1 if it has none.

    >>> missing(AnswerType.MONEY, "按规定标准交纳"), missing(AnswerType.MONEY, "学费 3500 元")
    (1.0, 0.0)
    """
    forms = _KINDS[kind]
    if forms.written.search(normal):
        return 0.0
    return 0.5 if forms.perhaps.search(normal) else 1.0
