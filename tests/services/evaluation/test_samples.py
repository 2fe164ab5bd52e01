"""Tests of test sets as people write them: any encoding, with and without a header, and invalid files."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.errors import DocumentRejected
from services.evaluation.models import Sample
from services.evaluation.samples import MAX_BYTES, MAX_QUESTIONS, check_offer, read_samples

TABLE = "问题,应答,文件\n差旅费几天内报销,是,规章.pdf\n今天吃什么,否,\n宿舍几点关门,,\n"
EXPECTED = [Sample("差旅费几天内报销", True, "规章.pdf"), Sample("今天吃什么", False), Sample("宿舍几点关门")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "题目"


def read(path: Path, content: str | bytes) -> list[Sample]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_samples(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16", "utf-16-le", "utf-32"])
def test_any_encoding(path: Path, encoding: str) -> None:
    assert read(path, TABLE.encode(encoding)) == EXPECTED


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_delimiter(path: Path, delimiter: str) -> None:
    assert read(path, TABLE.replace(",", delimiter)) == EXPECTED


def test_columns_are_found_by_name_in_any_order(path: Path) -> None:
    text = "编号,Document,QUESTION, Expected\r\n1,a.md,甲？,YES\r\n2,,乙？,0\r\n"
    assert read(path, text) == [Sample("甲？", True, "a.md"), Sample("乙？", False)]


def test_the_first_column_without_a_header(path: Path) -> None:
    assert read(path, "甲？,是\n乙？,否\n") == [Sample("甲？"), Sample("乙？")]


def test_a_column_that_is_not_called_question(path: Path) -> None:
    assert read(path, "内容,expected\n甲？,1\n") == [Sample("甲？", True)]


def test_one_question_a_line_may_hold_commas(path: Path) -> None:
    text = "怎么安装,在哪下载?\n报错了\n第三个\n第四个\n"
    assert [sample.text for sample in read(path, text)] == ["怎么安装,在哪下载?", "报错了", "第三个", "第四个"]


def test_a_named_file_means_that_it_should_be_answered(path: Path) -> None:
    text = "问题,文件,应答\n甲？,a.md,\n乙？,a.md,否\n丙？,,\n"
    assert [sample.expected for sample in read(path, text)] == [True, False, None]


def test_quoted_cells_become_one_line(path: Path) -> None:
    assert read(path, '问题,应答\n"第一行\r\n第二行, 还有""引号""",是\n') == [Sample('第一行 第二行, 还有"引号"', True)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "是空的"),
        ("问题,应答\n\n,\n", "没有读到问题"),
        ("问题,应答\n甲,也许\n", "「甲」这题的应答写的是「也许」"),
        (b"%PDF-1.7 not a table", "内容不是 csv"),
        (bytes(range(256)) * 40, "不是文本"),
        ('问题,应答\n"' + "长" * 140_000 + '",是\n', "另存为 CSV"),
        ("问题\n" + "甲\n" * (MAX_QUESTIONS + 1), f"超过 {MAX_QUESTIONS} 个"),
    ],
)
def test_what_is_no_test_set(path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(DocumentRejected) as caught:
        read(path, content)
    assert words in caught.value.user_message
    assert caught.value.user_message.endswith("。")


def test_what_is_not_worth_downloading() -> None:
    check_offer("题目.CSV", MAX_BYTES)
    check_offer("大小不明.csv", 0)
    for name, size, words in (("题目.xlsx", 10, "只能测 CSV"), ("题目.csv", MAX_BYTES + 1, "超过 1 MB")):
        with pytest.raises(DocumentRejected, match=words):
            check_offer(name, size)


def test_exactly_so_many_are_taken(path: Path) -> None:
    assert len(read(path, "甲\n" * MAX_QUESTIONS)) == MAX_QUESTIONS


@pytest.mark.parametrize(
    "content",
    [
        # Canonical ordering of combining marks takes quadratic time; rows may be many, and quotes may never end.
        "问题\n甲" + "\u0316\u0301" * (MAX_BYTES // 5),
        "问题\n" + "," * (MAX_BYTES - 100),
        "问题\n" + '"' * (MAX_BYTES - 100),
        "问题\n甲\n" + "\n" * (MAX_BYTES - 100),
        "问题\n甲\n" + ",\n" * (MAX_BYTES // 2 - 100),
    ],
    ids=["marks", "commas", "quotes", "lines", "rows"],
)
def test_the_worst_megabyte_takes_no_time(path: Path, content: str) -> None:
    begun = time.process_time()
    try:
        read(path, content)
    except DocumentRejected as error:
        assert error.user_message.endswith("。")
    assert time.process_time() - begun < 1.0


@given(content=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_give_questions_or_a_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    try:
        samples = read(path, content)
    except DocumentRejected as error:
        assert error.user_message
    else:
        assert samples
        assert all(sample.text and sample.text == " ".join(sample.text.split()) for sample in samples)
