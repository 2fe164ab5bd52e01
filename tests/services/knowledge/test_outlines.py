"""The outline of a document from its chunks."""

import doctest

from services.index.models import IndexedChunk
from services.knowledge import outlines as module
from services.knowledge.outlines import outline_of


def _chunks(*parts: tuple[str, int, str]) -> list[IndexedChunk]:
    return [
        IndexedChunk(f"b-{ordinal}", "b", ordinal, text, "", {"heading": heading, "page": page})
        for ordinal, (heading, page, text) in enumerate(parts)
    ]


def test_the_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_parts_are_those_of_the_first_level_with_several_headings() -> None:
    outline = outline_of(
        _chunks(
            ("手册 › 一、考勤", 1, "一、考勤\n上班打卡。迟到扣分。"),
            ("手册 › 一、考勤 › 请假", 1, "请假三天以上要部门批准。"),
            ("手册 › 二、报销", 2, "## 二、报销\n**发票**要[贴好](a.md)[^1]。\n| --- | --- |"),
            ("手册 › 三、福利", 4, "<td>节日礼品</td>"),
        )
    )
    assert [(part.heading, part.page, part.ordinal) for part in outline.parts] == [
        ("一、考勤", 1, 0),
        ("二、报销", 2, 2),
        ("三、福利", 4, 3),
    ]
    assert [part.text for part in outline.parts] == [
        "上班打卡。迟到扣分。请假三天以上要部门批准。",
        "发票要贴好。",
        "节日礼品",
    ]
    assert (outline.pages, outline.chunks) == (4, 4)
    assert outline.characters == 84


def test_places_are_every_page_and_heading() -> None:
    outline = outline_of(_chunks(("手册 › 一、考勤", 1, "甲。"), ("手册 › 一、考勤", 1, "乙。"), ("手册", 2, "丙。")))
    assert [(place.heading, place.page, place.ordinal) for place in outline.places] == [
        (("手册", "一、考勤"), 1, 0),
        (("手册",), 2, 2),
    ]


def test_without_headings_parts_are_pages_or_pieces() -> None:
    paged = outline_of(_chunks(("", 1, "第一页。"), ("", 1, "还是第一页。"), ("", 2, "第二页。")))
    assert [(part.page, part.text) for part in paged.parts] == [(1, "第一页。还是第一页。"), (2, "第二页。")]
    plain = outline_of(_chunks(*(("", 0, f"第{number}段。") for number in range(20))))
    assert len(plain.parts) == 5
    assert plain.parts[1].ordinal == 4
    assert plain.pages == 0
    titled = outline_of(_chunks(("标题", 0, "第一段。"), ("标题", 0, "第二段。")))
    assert [(part.heading, part.text) for part in titled.parts] == [("标题", "第一段。"), ("", "第二段。")]


def test_a_table_tells_its_columns_and_a_long_text_is_cut() -> None:
    table, long = outline_of(
        _chunks(("班费", 1, "项目 | 金额\n校服 | 260\n|  | 30\n其他 | |"), ("其他", 2, "很长" * 200))
    ).parts
    assert table.text == "项目、金额；校服、260；30；其他"
    assert len(long.text) == 160
    assert long.text.endswith("…")


def test_what_only_marks_a_table_or_a_list_is_left_out() -> None:
    text = (
        "项目 | 金额 | 备注 | \n | | |\n校服 |  | a\\|b | \n（下一张表）\n | 张三 |  | 138\n"
        "- [ ] 交表\n```bash\nls -l\n```\n第一章……………………3\n\uf0b7 三 &lt; 五"
    )
    (part,) = outline_of(_chunks(("登记", 0, text))).parts
    assert part.text == "项目、金额、备注；校服、a|b；张三、138；交表；ls -l；第一章；三 < 五"


def test_a_sheet_has_no_page_and_its_header_is_read_once() -> None:
    rows = [
        IndexedChunk(
            f"b-{number}", "b", number, f"项目 | 金额\n校服{number} | 260", "", {"page": 1, "file": "费用.XLSX"}
        )
        for number in range(2)
    ]
    first, second = outline_of(rows).parts
    assert (first.text, second.text, second.page) == ("项目、金额；校服0、260", "校服1、260", None)


def test_nothing_has_no_parts() -> None:
    assert outline_of([]).parts == ()
