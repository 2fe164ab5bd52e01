"""Categories by rules: the words of a question decide, and what says nothing is not classified."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.models import Question
from services.workflows.qa.classification import classify_by_rules, is_vague
from services.workflows.qa.models import MainCategory


@pytest.mark.parametrize(
    ("text", "main", "sub"),
    [
        ("pip 安装 torch 报 ImportError 怎么办", "technical", "debugging"),
        ("napcat 用 docker 怎么部署", "technical", "deployment"),
        ("这个环境要装什么依赖", "technical", "environment"),
        ("推理太慢，显存不足，怎么优化", "technical", "optimization"),
        ("lora 微调用哪个模型", "model_usage", None),
        ("忘了密码怎么登录平台", "platform", None),
        ("毕设答辩要准备什么", "project", None),
        ("宿舍几点熄灯", "other", None),
        ("物业费怎么交", "other", None),
        ("rapid 是什么意思", "other", None),
    ],
)
def test_the_words_decide(text: str, main: str, sub: str | None) -> None:
    category = classify_by_rules(Question(text))
    assert category is not None
    assert (category.main_category.value, category.sub_category) == (main, sub)
    assert category.confidence == 0.5 if main == "other" else category.confidence >= 0.7


def test_the_keywords_are_what_the_question_is_about() -> None:
    category = classify_by_rules(Question("CUDA 内存不足怎么办"))
    assert category is not None
    assert category.keywords == ["cuda", "内存不足"]


@pytest.mark.parametrize("text", ["怎么办", "报错了", "这个咋弄啊", "打不开了 求助", "为什么不行", "？", "那怎么办呢"])
def test_what_says_nothing_is_not_classified(text: str) -> None:
    assert classify_by_rules(Question(text)) is None
    # What it replies to may say it.
    assert classify_by_rules(Question(text, "打印机显示缺纸")) is not None


@pytest.mark.parametrize(
    "text", ["几点下课", "食堂呢", "谁负责采购", "E1042 怎么办", "打印机没反应", "退费", "who is responsible"]
)
def test_a_short_question_with_a_subject_is_not_vague(text: str) -> None:
    assert not is_vague(Question(text))


@given(st.text(max_size=200))
def test_every_text_has_one_category_or_none(text: str) -> None:
    category = classify_by_rules(Question(text))
    assert category is None or category.main_category in set(MainCategory)
    assert category == classify_by_rules(Question(text))
