"""Approved answers in CSV files: what is read, what is refused and where, and what is written."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.errors import DocumentRejected
from services.faq.models import Approver, FaqEntry, FaqOrigin, Pair
from services.faq.pairs import read_pair
from services.faq.table_file import MAX_BYTES, MAX_PAIRS, check_offer, read_table, table_file
from services.faq.wording import normal_question
from services.records.conversations import Source

TIME = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)


def _read(directory: Path, text: str, encoding: str = "utf-8") -> list[Pair]:
    path = directory / "问答.csv"
    path.write_bytes(text.encode(encoding))
    return read_table(path)


def _refusal(directory: Path, text: str) -> str:
    with pytest.raises(DocumentRejected) as refused:
        _read(directory, text)
    return refused.value.told()


def _entry(question: str, answer: str, changed: tuple[str, ...] = ()) -> FaqEntry:
    sources = (Source(1, "规定.txt 第3页"),)
    return FaqEntry(3, 2, question, answer, sources, FaqOrigin.REVIEW, Approver(10003, "小李"), TIME, changed)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_columns_are_found_by_name_or_by_place(tmp_path: Path, encoding: str) -> None:
    expected = [Pair("宿舍几点熄灯", "晚上十一点半。"), Pair("报销要几天", "三天，\n节假日顺延。")]
    rows = '宿舍几点熄灯,晚上十一点半。\r\n,\r\n报销要几天,"三天，\n节假日顺延。"\r\n'
    assert _read(tmp_path, rows, encoding) == expected
    assert _read(tmp_path, f"问题,回答\r\n{rows}", encoding) == expected
    named = '编号;Answer;Question\r\n1;晚上十一点半。;宿舍几点熄灯\r\n2;"三天，\n节假日顺延。";报销要几天\r\n'
    assert _read(tmp_path, named, encoding) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "空"),
        ("问题,回答\n", "没有读到问答"),
        ("问题,备注\n甲,乙\n", "表头里没有「回答」这一列"),
        ("备注,回答\n甲,乙\n", "表头里没有「问题」这一列"),
        ("问题,回答\n甲,乙\n丙,\n,丁\n", "第 3 行没有回答；第 4 行没有问题。"),
        ('问题,回答\n"甲\n一",乙\n丙,\n', "第 4 行没有回答。"),
        ("问题,回答\n几点熄灯,十点\n几点熄灯？,九点\n", "第 3 行和第 2 行是同一个问题，回答不一样。"),
        ("问题,回答\n" + "问" * 201 + ",答\n", "第 2 行问题超过 200 字。"),
        ("问题,回答\n问," + "答" * 1501 + "\n", "第 2 行回答超过 1500 字。"),
        ('问题,回答\n甲,"乙\n', "引号没有成对"),
        (
            "问题,回答\n" + "甲,\n" * 7,
            "第 2 行没有回答；第 3 行没有回答；第 4 行没有回答；第 5 行没有回答；第 6 行没有回答等 7 处。",
        ),
        ("问题,回答\n" + "".join(f"问{n},答\n" for n in range(MAX_PAIRS + 1)), "问答超过 500 条"),
        ("问题,回答\n" + "甲" * 100_001 + ",乙\n", "格式不对"),
    ],
)
def test_a_file_is_refused_with_the_lines_that_are_wrong(tmp_path: Path, text: str, reason: str) -> None:
    assert reason in _refusal(tmp_path, text)


def test_the_same_pair_twice_is_one(tmp_path: Path) -> None:
    assert _read(tmp_path, "几点熄灯,十点\n几点熄灯？,十点\n") == [Pair("几点熄灯", "十点")]


def test_what_is_not_worth_downloading() -> None:
    check_offer("问答.CSV", MAX_BYTES)
    for name, size in (("问答.xlsx", 10), ("问答.csv", MAX_BYTES + 1)):
        with pytest.raises(DocumentRejected):
            check_offer(name, size)


def test_the_table_says_what_people_want_to_know() -> None:
    content = table_file([_entry("几点熄灯", "十一点半〔1〕。", ("规定.txt",)), _entry("=1+1", " +2\n=3")])
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert rows[0] == {
        "问题": "几点熄灯",
        "回答": "十一点半〔1〕。",
        "编号": "3",
        "版本": "2",
        "状态": "过期",
        "出处": "规定.txt 第3页",
        "审核人": "小李（10003）",
        "审核时间": "2026-11-22 16:00",
    }
    assert (rows[1]["问题"], rows[1]["回答"], rows[1]["状态"]) == ("'=1+1", "' +2\n=3", "有效")


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("=+-@'\t,;\"\n＝"), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_what_is_exported_can_be_imported(tmp_path: Path, texts: list[tuple[str, str]]) -> None:
    read = [pair for question, answer in texts if isinstance(pair := read_pair(question, answer), Pair)]
    kept = list({normal_question(pair.question): pair for pair in read}.values())
    path = tmp_path / "问答.csv"
    path.write_bytes(table_file([_entry(pair.question, pair.answer) for pair in kept]))
    if kept:
        assert read_table(path) == kept


@given(TEXTS)
def test_no_cell_begins_a_formula(text: str) -> None:
    content = table_file([_entry(text, text)])
    for row in list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))[1:]:
        assert not any(cell.lstrip(" \n").startswith(tuple("=+-@\t\r＝＋－＠")) for cell in row)
