"""Definitions in real sentences, and sentences that only look like definitions."""

import doctest
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index import aliases
from services.index.aliases import MAX_CHARS, MAX_LATIN_CHARS, definitions, is_in
from services.index.tokens import normalise


def test_the_examples() -> None:
    assert doctest.testmod(aliases).failed == 0


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("《差旅费管理办法》（以下简称“差旅办法”）自即日起施行。", "差旅办法", "差旅费管理办法"),
        ("校园一卡通（下称「一卡通」）由财务处发放", "一卡通", "校园一卡通"),
        ("鑫诺卫星通信有限公司（简称鑫诺卫星公司）成立于1994年5月30日", "鑫诺卫星公司", "鑫诺卫星通信有限公司"),
        ("根据计算机科学与技术学院（简称计院）的通知", "计算机科学与技术学院", "计院"),
        ("中国长江电力股份有限公司 ()，简称长江电力，中国长江电力", "中国长江电力股份有限公司", "长江电力"),
        ("大雄宝殿，也叫大雄殿，或简称大殿，是佛教寺院的正殿", "大殿", "大雄宝殿"),
        ("大鳞大眼鲷，又称日本锯大眼鲷，俗名红目鲢、红目眶，为辐鳍鱼纲", "大鳞大眼鲷", "红目眶"),
        ("唐鱼（学名：'），又称白云山鱼、金丝灯，", "唐鱼", "金丝灯"),
        ("露天操场指的是位于室外的操场，又称运动场。", "操场", "运动场"),
        ("三氯化氮，也称为三氯胺，是化学式为NCl的化合物", "三氯化氮", "三氯胺"),
        ("工行是中国工商银行的简称。", "中国工商银行", "工行"),
        ("`ppl` 是困惑度 (perplexity) 的缩写，是一种评价指标", "ppl", "困惑度"),
        ("学生会，即“校学生会”", "学生会", "校学生会"),
        ("目前在自然语言处理（NLP）领域", "NLP", "自然语言处理"),
        ("AI（人工智能）已经", "AI", "人工智能"),
        ("Protobuf，全称 Protocol Buffer，是 Google 的", "Protobuf", "Protocol Buffer"),
        ("逆渗透（Reverse osmosis），又称 RO、反渗透，是一种净化水的办法", "RO", "逆渗透"),
        ("We use Group Normalization (GN) here.", "GN", "Group Normalization"),
        ("The Mean Average Precision (mAP)", "Mean Average Precision", "mAP"),
        ("PGC（Professional Generated Content）", "PGC", "Professional Generated Content"),
        ("'cas' is short for 'Class Aware Sampler'", "Class Aware Sampler", "cas"),
        ("`PR` is the abbreviation of `Pull Request`.", "PR", "Pull Request"),
    ],
)
def test_a_definition_is_found(text: str, left: str, right: str) -> None:
    assert (left, right) in definitions(text)


@pytest.mark.parametrize(
    "text",
    [
        "本公司（以下简称甲方）承诺",
        "人民广场（简称广场）位于市中心。",
        "自即日起生效（2024年1月1日）。",
        "每人每天不超过三百五十元，即每月一万元以内。",
        "为任务选一个别名，又称为什么都可以。",
        "def function(*args, **kwargs): return order.indexOf(id)",
        "支持 softmax (default) 和 sigmoid (optional)",
        "see [LICENSES.md](LICENSES.md) and (#9823)",
        "货柜容许最高重量67,200磅（30,500公斤）",
        "韩国现代的成年礼是在20岁（虚岁，即18-19实岁）",
        "the label is wrong (see above)",
        "准备好了吗（是的）",
        "简称：",
        "（简称）",
    ],
)
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert definitions(text) == set()


@given(st.text(alphabet="甲乙丙又称简的是，。（）“”《》、 AbC1-(\n", max_size=120))
def test_names_are_names(text: str) -> None:
    for left, right in definitions(text):
        assert left < right
        assert normalise(left) != normalise(right)
        for name in (left, right):
            assert 2 <= len(name) <= max(MAX_CHARS, MAX_LATIN_CHARS)
            assert name in text
            assert not set(name) & set("，。（）“”《》、()\n")
            assert is_in(normalise(name), normalise(text))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 4_000,
        "又称" * 2_000,
        "甲（又称" * 1_000,
        "“" * 2_000 + "（简称",
        "a b " * 1_000,
        "又称a或" * 1_000,
        "| " * 2_000,
        "是" * 1_990 + "的简称",
        "A B (C D) " * 400,
        " " * 1_990 + "（简称甲）",
    ],
)
def test_no_text_takes_long(text: str) -> None:
    """A chunk has at most 2,000 characters; the limit is a hundred times the slowest measured time."""
    before = time.process_time()
    definitions(text[:2_000])
    assert time.process_time() - before < 5
