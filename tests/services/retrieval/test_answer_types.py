"""What kind of value a question asks for."""

import pytest

from services.index.tokens import normalise
from services.retrieval.answer_types import AnswerType, asked_type, missing
from services.retrieval.speech import written


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("一学期学费多少", AnswerType.MONEY),
        ("洗一次几块钱", AnswerType.MONEY),
        ("图书馆几点关", AnswerType.CLOCK),
        ("啥时候停水", AnswerType.DATE),
        ("报告多久出来", AnswerType.DURATION),
        ("请假几天要批", AnswerType.DURATION),
        ("前台电话多少", AnswerType.PHONE),
        ("群号是多少", AnswerType.ACCOUNT),
        ("一组几个人", AnswerType.PEOPLE),
        ("平时分占几成", AnswerType.SHARE),
        ("要修几个学分", AnswerType.NUMBER),
        ("how many files", AnswerType.NUMBER),
        ("有哪几块内容", None),
        ("密码忘了咋办", None),
    ],
)
def test_asked_types(question: str, kind: AnswerType | None) -> None:
    assert asked_type(normalise(written(question))) is kind


@pytest.mark.parametrize(
    ("kind", "passage", "value"),
    [
        (AnswerType.MONEY, "每人每年 3500 元", 0.0),
        (AnswerType.MONEY, "收费标准 | 3500", 0.0),
        (AnswerType.MONEY, "第 3 条", 0.5),
        (AnswerType.MONEY, "按规定标准交纳", 1.0),
        (AnswerType.CLOCK, "22:30 熄灯", 0.0),
        (AnswerType.CLOCK, "晚上十点半", 0.0),
        (AnswerType.CLOCK, "闭馆时间另行通知，共 3 层", 1.0),
        (AnswerType.PHONE, "电话 0571-86919000", 0.0),
        (AnswerType.PHONE, "请到前台", 1.0),
        (AnswerType.PHONE, "姓名 | 部门 | 电话\n王晓岚 | 仪器室 | 6023", 0.0),
        (AnswerType.DURATION, "三十日内答复", 0.0),
        (AnswerType.DATE, "4月20日", 0.0),
        (AnswerType.SHARE, "不低于百分之八十", 0.0),
        (AnswerType.SHARE, "按比例", 1.0),
        (AnswerType.PEOPLE, "不少于五人", 0.0),
    ],
)
def test_missing(kind: AnswerType, passage: str, value: float) -> None:
    assert missing(kind, normalise(passage)) == value
