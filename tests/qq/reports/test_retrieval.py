"""Tests of what a person who asks why can read: one explained question, and a whole test set."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qq.reports.evaluation import result_csv, summary_text
from qq.reports.retrieval import VERDICTS, matched_place, reason, retrieval_text, verdict_line
from services.evaluation.models import Evaluation, Sample, SampleOutcome
from services.retrieval.models import Retrieval, RetrievalStatus, Verdict
from tests.services.evaluation.retrievals import candidate, retrieval

LOW = Verdict.BELOW_SCORE


def outcome(
    found: Retrieval | None, text: str = "差旅费几天报销", *, failure: str = "", **sample: object
) -> SampleOutcome:
    return SampleOutcome(Sample(text, **sample), found, failure, 0.0354)  # pyright: ignore[reportArgumentType]


def test_an_answered_question() -> None:
    found = retrieval(
        candidate("第三章。差旅费在三十日内报销，逾期不予受理。", score=0.71, coverage=0.451, cosine=0.8613),
        candidate(file="名单.xlsx", page=1, heading="人员", score=0.2, coverage=0.0, cosine=None, verdict=LOW),
        candidate(file="手写.md", page=0, score=None, verdict=Verdict.NOT_RERANKED),
        expansions=["出差", "报账"],
    )
    assert retrieval_text(outcome(found, "大佬们求助，差旅费几天报销")).splitlines() == [
        "会回答：1 段资料过关，最高得分 0.71，不低于门槛 0.50",
        "查的是：差旅费几天报销",
        "又加上：出差、报账",
        "",
        "1. 规章.pdf 第2页",
        "「第三章。差旅费在三十日内报销，逾期不予受理。」",
        "相似 0.86，词 45%，重排 0.71，通过",
        "",
        "2. 名单.xlsx · 人员",
        "「差旅费在三十日内报销。」",
        "相似 无向量，词 0%，重排 0.20，得分不够",
        "",
        "3. 手写.md",
        "「差旅费在三十日内报销。」",
        "相似 0.90，词 50%，重排 未做，没进重排",
        "",
        "召回 3 段，重排 2 段，通过 1 段，用时 35 毫秒",
    ]


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (retrieval(candidate(score=0.43, verdict=LOW)), "不会回答：得分 0.43，低于门槛 0.50"),
        (retrieval(candidate(score=0.49996, verdict=LOW)), "不会回答：得分 0.5000，低于门槛 0.5000"),
        (
            retrieval(candidate(cosine=0.31, verdict=Verdict.BELOW_SIMILARITY)),
            "不会回答：向量相似度 0.31，低于 RETRIEVAL__MIN_VECTOR_SIMILARITY",
        ),
        (
            retrieval(candidate(verdict=Verdict.TOO_FEW_QUALIFIED)),
            "不会回答：过关的资料不到 RETRIEVAL__MIN_QUALIFIED_COUNT 段",
        ),
        (
            retrieval(candidate(verdict=Verdict.OTHER_IDENTIFIER)),
            "不会回答：最接近的一段没有问到的编号",
        ),
        (retrieval(candidate(score=None, verdict=Verdict.NOT_RERANKED)), "不会回答：最接近的一段没进重排"),
        (retrieval(), "不会回答：没有一段资料和它沾边"),
        (Retrieval(RetrievalStatus.NO_RECALL), "不会回答：知识库是空的"),
        # A passage above the score threshold, but below the similarity threshold, does not hide the one that passed.
        (
            retrieval(candidate(score=0.9, verdict=Verdict.BELOW_SIMILARITY), candidate("乙", score=0.6)),
            "会回答：1 段资料过关，最高得分 0.60，不低于门槛 0.50",
        ),
    ],
)
def test_the_verdict_in_plain_words(found: Retrieval, line: str) -> None:
    assert verdict_line(outcome(found)) == line


def test_failures() -> None:
    assert retrieval_text(outcome(None, failure="资料索引出错了。")) == "测不了：资料索引出错了。"
    broken = retrieval(candidate(score=None), status=RetrievalStatus.RERANK_FAILED, warning="重排服务出错了。")
    text = retrieval_text(outcome(broken, failure="重排服务出错了。"))
    assert text.startswith("测不了：重排服务出错了。\n")
    assert text.count("重排服务出错了。") == 1
    degraded = retrieval(candidate(cosine=None), warning="向量服务没有回应。这次只按字词查找。")
    assert "\n向量服务没有回应。这次只按字词查找。\n" in retrieval_text(outcome(degraded))


def test_five_candidates_at_most_and_one_screen() -> None:
    long = "很长的一段，" * 60 + "差旅费在三十日内报销，" + "后面还有，" * 60
    found = retrieval(*[candidate(f"{long}{number}", file="很长的文件名" * 20 + ".pdf") for number in range(9)])
    text = retrieval_text(outcome(found, "长问题" * 300))
    assert "5. " in text
    assert "6. " not in text
    assert len(text) < 800
    assert text.count("差旅费在三十日") == 5


def test_every_verdict_has_a_word() -> None:
    assert set(VERDICTS) == set(Verdict)
    assert len(set(VERDICTS.values())) == len(Verdict)
    for verdict in Verdict:
        assert reason(retrieval(candidate(verdict=verdict)))


@pytest.mark.parametrize(
    ("text", "matched", "weights", "expected"),
    [
        ("开头没有。" * 6 + "這裏講差旅費報銷的事", {"差旅"}, {"差旅": 2.0}, "…没有。這裏講差旅費報銷的事"),
        ("怎么办呢，" * 6 + "ＥＲＲ－４０３２ 怎么修", {"怎么", "err-4032"}, {"怎么": 0.5, "err-4032": 3.0}, None),
        ("没有匹配的词，从头开始显示", set[str](), {}, "没有匹配的词，从头开始显示"),
        ("只在标题里匹配，从头显示", {"标题外"}, {"标题外": 1.0}, "只在标题里匹配，从头显示"),
    ],
)
def test_the_place_that_matched(text: str, matched: set[str], weights: dict[str, float], expected: str | None) -> None:
    shown = matched_place(text, frozenset(matched), weights, 40)
    assert shown == expected or (expected is None and "ＥＲＲ－４０３２ 怎么修" in shown)


@given(st.text(max_size=120), st.sets(st.text(min_size=1, max_size=3), max_size=4), st.integers(8, 60))
def test_a_place_is_a_short_line_of_the_text(text: str, terms: set[str], limit: int) -> None:
    shown = matched_place(text, frozenset(terms), dict.fromkeys(terms, 1.0), limit)
    assert len(shown) <= limit
    assert shown.strip("…").strip() in " ".join(text.split())


# -- a test set -------------------------------------------------------------------------------------------------------

GOOD = retrieval(candidate(score=0.71))
BAD = retrieval(candidate(score=0.43, verdict=LOW))


def test_the_summary_names_what_went_wrong() -> None:
    outcomes = [
        outcome(GOOD, "该答答了", expected=True, document="规章"),
        outcome(BAD, "该答没答", expected=True),
        outcome(GOOD, "不该答答了", expected=False),
        outcome(BAD, "不该答没答", expected=False),
        outcome(GOOD, "答错文件", expected=True, document="别的.pdf"),
        outcome(GOOD, "没标注"),
        outcome(None, "坏了", failure="资料索引出错了。", expected=True),
    ]
    assert summary_text("题目.csv", Evaluation(outcomes, 7)).splitlines() == [
        "「题目.csv」测完了，共 7 题",
        "会回答 4 题，不会回答 2 题，没测成 1 题",
        "有标注的 5 题：准确率 66.7%，召回率 66.7%，F1 66.7%",
        "注明文件并会回答的 2 题，找对文件 1 题",
        "",
        "不对的 3 题：",
        "1. 不该答答了（不该答，得分 0.7100）",
        "2. 答错文件（没用上「别的.pdf」）",
        "3. 该答没答（该答没答，得分 0.4300）",
        "",
        "看为什么：/kb test 问题",
    ]


def test_a_summary_without_labels_and_one_that_broke_off() -> None:
    plain = Evaluation([outcome(GOOD), outcome(BAD)], 2)
    assert summary_text("题.csv", plain) == "「题.csv」测完了，共 2 题\n会回答 1 题，不会回答 1 题"
    broken = Evaluation([outcome(None, failure="重排服务出错了，请稍后再试。")] * 5, 300)
    assert summary_text("题.csv", broken).splitlines() == [
        "「题.csv」测到第 5 题停下了，共 300 题：重排服务出错了，请稍后再试。",
        "会回答 0 题，不会回答 0 题，没测成 5 题",
    ]
    nothing_positive = Evaluation([outcome(BAD, expected=False)], 1)
    assert "准确率 无，召回率 无，F1 无" in summary_text("题.csv", nothing_positive)


def test_only_eight_of_the_wrong_ones_are_listed() -> None:
    text = summary_text("题.csv", Evaluation([outcome(BAD, expected=True)] * 30, 30))
    assert "不对的 30 题，先看 8 题：" in text
    assert "8. " in text
    assert "9. " not in text


def read_back(content: bytes) -> list[dict[str, str]]:
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_the_table_of_results() -> None:
    outcomes = [
        outcome(GOOD, "一", expected=True, document="规章.pdf"),
        outcome(BAD, "二", expected=True),
        outcome(None, "三", failure="资料索引出错了。"),
    ]
    first, second, third = read_back(result_csv(Evaluation(outcomes, 3)))
    assert first == {
        "问题": "一",
        "应答": "是",
        "结果": "会回答",
        "对错": "对",
        "得分": "0.7100",
        "门槛": "0.5000",
        "原因": "1 段资料过关，最高得分 0.71，不低于门槛 0.50",
        "最接近的资料": "规章.pdf 第2页",
        "应在文件": "规章.pdf",
        "用时毫秒": "35",
    }
    assert (second["结果"], second["对错"], second["原因"]) == ("不会回答", "错", "得分 0.43，低于门槛 0.50")
    assert (third["结果"], third["应答"], third["原因"]) == ("没测成", "", "资料索引出错了。")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠", " =", "=cmd|' /C calc'!A0\""])
def test_no_cell_is_a_formula(start: str) -> None:
    evil = f"{start}1+1"
    found = retrieval(candidate(file=f"{start}.pdf", verdict=LOW))
    [row] = read_back(result_csv(Evaluation([outcome(found, evil, document=evil)], 1)))
    assert row["问题"] == f"'{evil}"
    assert row["应在文件"] == f"'{evil}"
    assert row["最接近的资料"].startswith("'")


@given(st.text(), st.text(max_size=20))
def test_every_table_reads_back(text: str, document: str) -> None:
    [row] = read_back(result_csv(Evaluation([outcome(GOOD, text, document=document)], 1)))
    assert all(not cell.lstrip().startswith(("=", "+", "-", "@")) for cell in row.values())
    assert row["结果"] == "会回答"
