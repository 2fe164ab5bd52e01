"""Test invariants of the splitter, and cuts that a reader would expect."""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.knowledge.models import Chunk, ChunkBoundary, Section
from services.knowledge.splitter import split
from services.text.sentences import CLOSING

_ALPHABET = "研究所经费abC 12.。，,！？；…、：\n\n\t（「”）\"'`#|-/e\u0301👩\u200d💻"
_TEXT = st.text(alphabet=_ALPHABET, max_size=400)
# Sequences that random characters rarely produce: long words, links, abbreviations, fences.
_PARTS = st.sampled_from(
    [
        "清河研究所的经费由所务会审批。",
        "他说：“可以。”然后离开了！",
        "See e.g. Fig. 3.14 at https://a.b/c?d=1;e. Next one.",
        "```\n# code\n\nx = 1\n```",
        "~~~\nlong code\n" + "y" * 60 + "\n~~~",
        "无标点" * 40,
        "word " * 40,
        "。。。。。",
        "\n\n",
        "\n",
        " ",
        "1. 目的",
        "）】",
    ]
)
_DOCUMENT = st.one_of(_TEXT, st.lists(_PARTS, max_size=12).map("".join), st.lists(_PARTS, max_size=12).map("\n".join))
_HEADING = st.sampled_from([(), ("第一章",), ("第一章", "第一节"), ("第一章", "第二节"), ("第二章",)])
_SECTION = st.builds(Section, _DOCUMENT, st.sampled_from([None, 1, 2]), _HEADING)
_ROW = st.lists(st.text(alphabet="研究所经费。，ab 1)", max_size=30), min_size=1, max_size=4).map(" | ".join)
_TABLE = st.builds(
    Section,
    text=st.lists(_ROW, max_size=20).map("\n".join),
    page=st.sampled_from([None, 1]),
    heading=st.just(("第三章",)),
    table=st.just(True),
    header=_ROW,
)
_SIZES = st.integers(20, 200).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(_DOCUMENT, _SIZES)
@example("a" * 19 + "。" + "b", (20, 0))
@example("“" * 30, (20, 5))
@example("x " * 30 + "）" * 25, (20, 10))
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost_and_overlap_repeats_only_the_end(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    source = squeezed(text)
    # All positions in the source where the chunks so far may end, because repeated text can be matched in several ways.
    ends = {0}
    for chunk in split([Section(text)], size, overlap):
        body = squeezed(chunk.text)
        ends = {
            end - back + len(body)
            for end in ends
            for back in range(min(end, overlap, len(body) - 1) + 1)
            if source.startswith(body, end - back)
        }
        assert ends
    assert len(source) in ends


@given(st.lists(_SECTION, max_size=8), _SIZES)
@settings(max_examples=150, deadline=None)
def test_chunks_are_numbered_bounded_and_deterministic(sections: list[Section], sizes: tuple[int, int]) -> None:
    chunks = split(sections, *sizes)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(0 < len(chunk.text) <= sizes[0] and chunk.text == chunk.text.strip() for chunk in chunks)
    assert split(iter(sections), *sizes) == chunks


@given(st.lists(_SECTION, max_size=8), st.integers(20, 200))
@settings(max_examples=150, deadline=None)
def test_without_overlap_the_sections_come_in_order(sections: list[Section], size: int) -> None:
    titles = {title for section in sections for title in section.heading}
    chunks = split(sections, size, 0)
    lines = [line for chunk in chunks for line in chunk.text.split("\n") if line not in titles]
    assert squeezed("".join(lines)) == squeezed("".join(section.text for section in sections))


def with_short_runs(text: str) -> str:
    """Return the text without closing punctuation at its start, and with at most nine closing characters in a row."""
    closing = "".join(map(re.escape, CLOSING)) + "\u0301\u200d.,!?:;"
    text = re.sub(rf"^[{closing}\s]+", "", text)
    return re.sub(rf"((?:[{closing}]\s*){{9}})(?:[{closing}]\s*)+", r"\1甲", text)


@given(st.lists(_DOCUMENT.map(with_short_runs).map(Section), max_size=5), _SIZES)
@settings(max_examples=150, deadline=None)
def test_no_chunk_begins_with_closing_punctuation(sections: list[Section], sizes: tuple[int, int]) -> None:
    for chunk in split(sections, *sizes):
        assert chunk.text[0] not in CLOSING


@given(st.lists(_TABLE, min_size=1, max_size=3), st.integers(20, 200))
@settings(max_examples=150, deadline=None)
def test_every_chunk_of_a_table_begins_with_its_header(tables: list[Section], size: int) -> None:
    for table in tables:
        chunks = split([table], size, size // 2)
        header = table.header.strip()
        assert all(len(chunk.text) <= size for chunk in chunks)
        if not header or len(header) > size // 2:
            assert squeezed("".join(chunk.text for chunk in chunks)) == squeezed(header + table.text)
            continue
        assert all(chunk.text.startswith(header) for chunk in chunks)
        rows = "".join(chunk.text[len(header) :] for chunk in chunks)
        assert squeezed(rows) == squeezed(table.text)


@given(st.lists(_SECTION, max_size=8), _SIZES)
@settings(max_examples=150, deadline=None)
def test_chunks_stay_under_one_top_heading(sections: list[Section], sizes: tuple[int, int]) -> None:
    known = {section.heading[:depth] for section in sections for depth in range(3)}
    pages = {section.page for section in sections}
    for chunk in split(sections, *sizes):
        assert chunk.heading in known
        assert chunk.page in pages


def texts(text: str, size: int, overlap: int = 0) -> list[str]:
    return [chunk.text for chunk in split([Section(text)], size, overlap)]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("第一句话到此为止了。第二句话也说完了！第三句？", ["第一句话到此为止了。第二句话也说完了！", "第三句？"]),
        ("他回答说：“好的，没问题。”于是大家散会了。", ["他回答说：“好的，没问题。”", "于是大家散会了。"]),
        ("圆周率约为3.14159。其余数字略去不再写出。", ["圆周率约为3.14159。", "其余数字略去不再写出。"]),
        ("Use e.g. Fig. 2. Then stop.", ["Use e.g. Fig. 2.", "Then stop."]),
        ("见 http://a/?x=1;y 。再看下一页面的说明。", ["见 http://a/?x=1;y 。", "再看下一页面的说明。"]),
        ("先看一下这里的图片。\n![图](images/1.png)", ["先看一下这里的图片。", "![图](images/1.png)"]),
        ("请打开 readme.md 文件！然后照着里面写的去做。", ["请打开 readme.md 文件！", "然后照着里面写的去做。"]),
        ('他说"走吧。""好。"她也答应了一起去那里。', ['他说"走吧。""好。"', "她也答应了一起去那里。"]),
        ("清河研究所地址，东湖路十八号，电话六零二三", ["清河研究所地址，东湖路十八号，", "电话六零二三"]),
        ("甲" * 20 + "」乙", ["甲" * 19, "甲」乙"]),
        ("甲" * 19 + "「乙", ["甲" * 19, "「乙"]),
    ],
)
def test_cuts_where_a_reader_would(text: str, cut: list[str]) -> None:
    assert texts(text, 20) == cut


def test_prefers_the_end_of_a_paragraph() -> None:
    first, second = "甲" * 14 + "。", "乙二。丙丁戊己庚辛壬癸子丑寅卯。"
    assert texts(f"{first}\n{second}", 20) == [first, second]


def test_overlap_is_whole_sentences() -> None:
    text = "一二三四五六七。八九十一二。三四五六七。八九十一二三。"
    assert texts(text, 20, 8) == ["一二三四五六七。八九十一二。三四五六七。", "三四五六七。八九十一二三。"]


def test_code_is_kept_whole_with_its_indentation() -> None:
    code = "```python\nfor x in y:\n\n    print(x)  # 。\n```"
    assert code in texts(f"说明文字一共有十几个字那么长的句子。\n\n{code}\n\n后面还有一段说明文字也不短。", 50)


def test_code_that_is_too_long_is_cut_between_lines() -> None:
    code = "```python\nfor x in numbers:\n    print(x, 'e.g. a. b')\n    total += x\n```"
    assert texts(code, 50) == [
        "```python\nfor x in numbers:",
        "print(x, 'e.g. a. b')\n    total += x\n```",
    ]


def test_long_table_repeats_its_header() -> None:
    rows = "\n".join(f"采样点{number} | {number}" for number in range(10))
    chunks = split([Section(rows, 3, ("数据",), table=True, header="地点 | 值")], 40, 10)
    assert len(chunks) > 2
    assert all(chunk.text.startswith("地点 | 值\n采样点") and chunk.page == 3 for chunk in chunks)


def test_fragments_of_one_chapter_and_page_merge_with_their_titles() -> None:
    sections = [
        Section("本章说明。", 4, ("第一章",)),
        Section("为了管理。", 4, ("第一章", "第一条")),
        Section("适用全员。", 5, ("第一章", "第二条")),
        Section("另一章。", 5, ("第二章",)),
    ]
    assert split(sections, 100, 20) == [
        Chunk(0, "本章说明。\n第一条\n为了管理。", 4, ("第一章",), boundary=ChunkBoundary.MIXED),
        Chunk(1, "适用全员。", 5, ("第一章", "第二条"), boundary=ChunkBoundary.SECTION),
        Chunk(2, "另一章。", 5, ("第二章",), boundary=ChunkBoundary.SECTION),
    ]


def test_a_title_stays_when_its_text_begins_with_the_same_word() -> None:
    sections = [
        Section("请假须提前一天。", None, ("手册", "请假")),
        Section("报销须附发票。", None, ("手册", "报销")),
        Section("第三条 离职须交还门禁卡。", None, ("手册", "第三条")),
    ]
    (chunk,) = split(sections, 500, 50)
    assert chunk.text == "请假\n请假须提前一天。\n报销\n报销须附发票。\n第三条 离职须交还门禁卡。"


def test_sections_under_headings_of_their_own_stay_apart() -> None:
    text = "这一节有两行多的内容，足够单独成为一块，所以不和别的小节合在一起，出处也就写得准。"
    sections = [Section(text, None, ("手册", "开放时间")), Section(text, None, ("手册", "借书"))]
    assert [chunk.heading for chunk in split(sections, 500, 50)] == [("手册", "开放时间"), ("手册", "借书")]


def test_large_sections_do_not_merge() -> None:
    sections = [Section("甲" * 39 + "。", 1, ("章", "甲")), Section("乙" * 39 + "。", 2, ("章", "乙"))]
    assert [(chunk.page, chunk.heading) for chunk in split(sections, 100, 0)] == [(1, ("章", "甲")), (2, ("章", "乙"))]


def test_empty_sections_make_no_chunk() -> None:
    assert split([Section(" \n\t\n"), Section("", table=True)], 100, 10) == []


@pytest.mark.parametrize("sizes", [(19, 0), (100, 51), (100, -1)])
def test_impossible_sizes_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="chars must be"):
        split([], *sizes)


@pytest.mark.parametrize(
    "text",
    [
        "研" * 1_000_000,
        "研究，" * 100_000,
        "一句。" * 100_000,
        "。" * 300_000,
        " " * 500_000 + "a" + " " * 500_000,
        "a" + " " * 500_000 + "b",
        "`" * 300_000,
        "```\n" * 75_000,
        "e.g. " * 60_000,
        '"' * 300_000,
        "a\n" * 150_000,
    ],
    ids=[
        "hanzi",
        "clauses",
        "sentences",
        "stops",
        "space",
        "gap",
        "ticks",
        "fences",
        "abbreviations",
        "quotes",
        "lines",
    ],
)
def test_long_texts_take_seconds_at_most(text: str) -> None:
    begin = time.process_time()
    chunks = split([Section(text)], 500, 80)
    assert time.process_time() - begin < 8  # linear time is below 1 s, quadratic time would be many minutes
    assert sum(len(squeezed(chunk.text)) for chunk in chunks) >= len(squeezed(text))
