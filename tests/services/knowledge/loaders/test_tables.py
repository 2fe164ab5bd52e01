"""Every value of a table stays in its column, whichever cells beside it are empty or merged."""

from collections.abc import Sequence
from pathlib import Path

import docx
import pptx
import pytest
from docx.document import Document
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from pptx.util import Inches

from services.grounding.quotation import shown_row
from services.grounding.sentence_model import table_heads
from services.knowledge.loaders import LOADERS
from services.knowledge.loaders.markdown import _cells  # pyright: ignore[reportPrivateUsage]
from services.knowledge.loaders.tables import (
    Cell,
    laid_out,
    sparse_table_sections,
    table_sections,
    with_single_headers,
)
from services.knowledge.models import Omissions, Section
from services.knowledge.splitter import split

HEAD = ("节次", "周一", "周二", "周三")
LESSONS = (("第一节", "", "数学", "语文"), ("", "体育", "", "英语"), ("第三节", "", "", "美术"))


def chunks(path: Path) -> list[str]:
    """Return the texts of a file's chunks."""
    return [chunk.text for chunk in split(LOADERS[path.suffix[1:]].loader()(path, Omissions()), 400, 60)]


def lesson(text: str, row: str, day: str) -> str:
    """Return the cell in a row and column of a table, parsed like Markdown."""
    head, *rows = [_cells(line) for line in text.split("\n")]
    cells = next(cells for cells in rows if row in cells)
    return dict(zip(head, [*cells, *[""] * len(head)], strict=False))[day]


def write_csv(path: Path) -> None:
    path.write_text("\n".join(",".join(row) for row in (HEAD, *LESSONS)), encoding="utf-8")


def write_markdown(path: Path) -> None:
    rows = ["| " + " | ".join(row) + " |" for row in (HEAD, ("--",) * 4, *LESSONS)]
    path.write_text("\n".join(rows), encoding="utf-8")


def write_html(path: Path) -> None:
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in (HEAD, *LESSONS))
    path.write_text(f"<meta charset=utf-8><table>{rows}</table>", encoding="utf-8")


def write_docx(path: Path) -> None:
    document = docx.Document()
    fill_docx(document, (HEAD, *LESSONS))
    document.save(str(path))


def fill_docx(document: Document, rows: tuple[tuple[str, ...], ...]) -> None:
    table = document.add_table(rows=len(rows), cols=4)
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text


def write_pptx(path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(4, 4, Inches(1), Inches(1), Inches(6), Inches(2)).table
    for row, texts in enumerate((HEAD, *LESSONS)):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    presentation.save(str(path))


def write_xlsx(path: Path) -> None:
    workbook = Workbook()
    for row in (HEAD, *LESSONS):
        workbook.worksheets[0].append([text or None for text in row])
    workbook.save(path)


@pytest.mark.parametrize(
    ("extension", "write"),
    [
        ("csv", write_csv), ("md", write_markdown), ("html", write_html), ("docx", write_docx), ("pptx", write_pptx),
        ("xlsx", write_xlsx),
    ],
)  # fmt: skip
def test_empty_cells_keep_their_place_in_every_format(tmp_path: Path, extension: str, write) -> None:  # pyright: ignore
    path = tmp_path / f"a.{extension}"
    write(path)
    text = chunks(path)[-1]
    assert lesson(text, "第一节", "周一") == ""
    assert lesson(text, "第一节", "周二") == "数学"
    assert lesson(text, "体育", "节次") == ""
    assert lesson(text, "体育", "周一") == "体育"
    assert lesson(text, "体育", "周三") == "英语"
    assert lesson(text, "第三节", "周三") == "美术"
    # The sentence model recognises every line as a row under this header.
    assert table_heads(text.splitlines(keepends=True)) == [0, 0, 0, 0]


def test_rows_that_a_cell_of_a_page_spans_keep_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<meta charset=utf-8><table><tr><th>节次<th>周一<th>周二<tr><td>第一节<td rowspan=2>体育<td>数学"
        "<tr><td>第二节<td>语文<tr><td colspan=2>午休<td>社团</table>",
        encoding="utf-8",
    )
    text = chunks(path)[0]
    assert lesson(text, "第二节", "周一") == "体育"
    assert lesson(text, "第二节", "周二") == "语文"
    assert lesson(text, "午休", "周二") == "社团"


def test_a_value_over_several_columns_stands_in_each_of_them(tmp_path: Path) -> None:
    table = (
        "<table><tr><td rowspan=2>场馆<td colspan=3>夏季<td>冬季<tr><td>工作日<td>周五<td>周末<td>备注"
        "<tr><td rowspan=2>泳池<td>18:00<td rowspan=2 colspan=2>08:00<td>略<tr><td>19:00<td>停水"
        "<tr><td colspan=4>合计两处<td>略</table>"
    )
    (tmp_path / "a.html").write_text(f"<meta charset=utf-8>{table}", encoding="utf-8")
    (tmp_path / "a.md").write_text(table, encoding="utf-8")
    for name in ("a.html", "a.md"):
        assert chunks(tmp_path / name) == [
            "场馆 | 夏季 / 工作日 | 夏季 / 周五 | 夏季 / 周末 | 冬季 / 备注\n泳池 | 18:00 | 08:00 | 08:00 | 略\n"
            "泳池 | 19:00 | 08:00 | 08:00 | 停水\n合计两处 |  |  |  | 略"
        ]


def test_a_name_over_columns_in_the_last_row_of_a_header_is_the_name_of_each() -> None:
    rows = laid_out(
        [
            [Cell("时段", rows=2), Cell("甲班", columns=3)],
            [Cell("上午", columns=2), Cell("下午")],
            [Cell("人数"), Cell("20"), Cell("21"), Cell("19")],
        ]
    )
    assert with_single_headers(rows)[0] == ["时段", "甲班 / 上午", "甲班 / 上午", "甲班 / 下午"]


def test_a_first_row_of_values_is_no_second_header() -> None:
    rows = laid_out(
        [
            [Cell("路线"), Cell("经过", columns=2)],
            [Cell("5", rows=2), Cell("火车站"), Cell("中医院")],
            [Cell("广场"), Cell("")],
        ]
    )
    assert with_single_headers(rows) == [["路线", "经过", "经过"], ["5", "火车站", "中医院"], ["5", "广场", ""]]


def test_a_total_over_several_columns_is_there_once() -> None:
    rows = laid_out(
        [
            [Cell("物品"), Cell("单价"), Cell("数量"), Cell("金额")],
            [Cell("灯管"), Cell("12"), Cell("3"), Cell("36")],
            [Cell("合计", columns=2), Cell("36元", columns=2)],
        ]
    )
    assert with_single_headers(rows)[-1] == ["合计", "", "36元", ""]


def test_cells_below_a_title_that_all_span_the_same_columns_are_one_column() -> None:
    rows = laid_out(
        [
            [Cell("姓名"), Cell("一月"), Cell("二月"), Cell("备注")],
            [Cell("王"), Cell("5"), Cell("6"), Cell("")],
            [Cell("股东情况", columns=4)],
            [Cell("名称", rows=2), Cell("持股", columns=2, rows=2), Cell("种类", rows=2)],
            [],
            [Cell("海鸿"), Cell("81", columns=2), Cell("普通")],
        ]
    )
    assert with_single_headers(rows)[-2:] == [["名称", "持股", "", "种类"], ["海鸿", "81", "", "普通"]]


def test_a_wide_value_of_a_form_names_no_columns() -> None:
    form = laid_out(
        [
            [Cell("姓名"), Cell("张三", columns=3)],
            [Cell("性别"), Cell("男"), Cell("电话"), Cell("6023")],
            [Cell("住址", columns=2), Cell("三号楼", columns=2)],
        ]
    )
    assert with_single_headers(form) == [
        ["姓名", "张三", "", ""], ["性别", "男", "电话", "6023"], ["住址", "", "三号楼", ""]
    ]  # fmt: skip


def test_merged_cells_of_word_keep_their_columns(tmp_path: Path) -> None:
    document = docx.Document()
    fill_docx(
        document, (HEAD, ("第一节", "体育", "数学", "语文"), ("第二节", "", "英语", "美术"), ("", "", "", "音乐"))
    )
    table = document.tables[0]
    table.cell(1, 1).merge(table.cell(2, 1))
    # The last row begins two columns further right (gridBefore).
    row = table.rows[3]._tr  # pyright: ignore[reportPrivateUsage]
    for cell in list(row.iterchildren(qn("w:tc")))[:2]:
        row.remove(cell)
    before = OxmlElement("w:gridBefore")
    before.set(qn("w:val"), "2")
    row.get_or_add_trPr().append(before)
    document.save(str(tmp_path / "a.docx"))
    text = chunks(tmp_path / "a.docx")[-1]
    assert lesson(text, "第二节", "周一") == "体育"
    assert lesson(text, "第二节", "周二") == "英语"
    assert lesson(text, "音乐", "周三") == "音乐"


def test_merged_cells_of_excel_and_powerpoint_keep_their_columns(tmp_path: Path) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for row in (HEAD, ("第一节", "体育", "数学", "语文"), ("第二节", None, "英语", "美术")):
        sheet.append(list(row))
    sheet.merge_cells("B2:B3")
    workbook.save(tmp_path / "a.xlsx")
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(3, 4, Inches(1), Inches(1), Inches(6), Inches(2)).table
    for number, row in enumerate((HEAD, ("第一节", "体育", "数学", "语文"), ("第二节", "", "英语", "美术"))):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    table.cell(1, 1).merge(table.cell(2, 1))
    presentation.save(str(tmp_path / "a.pptx"))
    for name in ("a.xlsx", "a.pptx"):
        text = chunks(tmp_path / name)[-1]
        assert lesson(text, "第二节", "周一") == "体育"
        assert lesson(text, "第二节", "周二") == "英语"


def test_a_long_text_is_not_repeated_in_the_rows_it_spans() -> None:
    grid = laid_out([[Cell("说明" * 50, rows=3), Cell("a")], [Cell("b")], [Cell("c")]])
    assert grid.rows[1:] == [["", "b"], ["", "c"]]


def test_empty_rows_and_columns_are_dropped() -> None:
    rows = [["", "", "", ""], ["", "姓名", "", "电话"], ["", "", "", ""], ["", "王", "", "6023"]]
    assert [section.header for section in table_sections(rows)] == ["姓名 | 电话"]


@pytest.mark.parametrize("count", [3, 200])
def test_a_sparse_sheet_is_as_long_as_what_is_in_it(tmp_path: Path, count: int) -> None:
    workbook = Workbook()
    for number in range(count):
        workbook.worksheets[0].cell(1 + 977 * number, 1 + 53 * number, f"值{number}")
    workbook.save(tmp_path / "a.xlsx")
    texts = chunks(tmp_path / "a.xlsx")
    assert sum(map(len, texts)) < 20 * count
    for number in range(count):
        assert any(f"值{number}" in text for text in texts)


_GRID = st.lists(
    st.lists(st.builds(Cell, st.text("甲乙丙丁", max_size=3), st.integers(1, 3), st.integers(1, 3)), max_size=4),
    max_size=6,
)


@given(_GRID)
def test_spans_never_put_two_cells_in_one_place(rows: list[list[Cell]]) -> None:
    grid = laid_out(rows).rows
    assert len(grid) == len(rows)
    for row, texts in zip(rows, grid, strict=True):
        assert len(texts) >= sum(cell.columns for cell in row)
        written = [text for text in texts if text]
        own = [cell.text for cell in row if cell.text]
        # The row's own texts are there in order; other texts continue from the rows above.
        place = iter(written)
        assert all(text in place for text in own)


@given(
    st.lists(st.dictionaries(st.integers(0, 60), st.text("甲乙丙1 \n", max_size=4), max_size=5), min_size=1, max_size=8)
)
def test_every_text_of_a_table_is_written(rows: list[dict[int, str]]) -> None:
    sections = list(sparse_table_sections(rows))
    written = "\n".join(part for section in sections for part in (section.header, section.text))
    expected = [" ".join(text.split()) for row in rows for text in row.values() if text.strip()]
    cells = [cell.strip() for line in written.split("\n") for cell in line.split("|")]
    assert all(any(cell == text or cell.endswith(f"：{text}") for cell in cells) for text in expected)


@pytest.mark.parametrize("cell", ["甲 | 乙", "| 甲", "甲 |", "|", "甲  |\n乙"])
def test_a_bar_in_a_cell_moves_no_other_cell(cell: str) -> None:
    (section,) = table_sections([["名", "备注", "电话"], ["张", cell, "6023"]])
    assert [len(row.split(" | ")) for row in (section.header, section.text)] == [3, 3]
    assert section.text.split(" | ")[2] == "6023"


def test_a_bar_in_a_word_stays() -> None:
    (section,) = table_sections([["名", "命令"], ["列表", "ls|wc"]])
    assert section.text == "列表 | ls|wc"


def test_header_of_two_rows_becomes_one(tmp_path: Path) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for row in (("点位", "读数", None, "结论"), (None, "水温", "浊度", None), ("东湖口", 12.5, 3.1, "合格")):
        sheet.append(row)
    for area in ("A1:A2", "B1:C1", "D1:D2"):
        sheet.merge_cells(area)
    workbook.save(tmp_path / "a.xlsx")
    document = docx.Document()
    table = document.add_table(rows=3, cols=4)
    for number, row in enumerate(
        (("点位", "读数", "", "结论"), ("", "水温", "浊度", ""), ("东湖口", "12.5", "3.1", "合格"))
    ):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    for first, last in (((0, 0), (1, 0)), ((0, 1), (0, 2)), ((0, 3), (1, 3))):
        table.cell(*first).merge(table.cell(*last))
    document.save(str(tmp_path / "a.docx"))
    (tmp_path / "a.html").write_text(
        "<meta charset=utf-8><table><tr><th rowspan=2>点位<th colspan=2>读数<th rowspan=2>结论<tr><th>水温<th>浊度"
        "<tr><td>东湖口<td>12.5<td>3.1<td>合格</table>",
        encoding="utf-8",
    )
    for name in ("a.xlsx", "a.docx", "a.html"):
        assert chunks(tmp_path / name)[-1] == "点位 | 读数 / 水温 | 读数 / 浊度 | 结论\n东湖口 | 12.5 | 3.1 | 合格"


def test_name_over_several_columns_without_a_header_cell_beside_it() -> None:
    rows = laid_out(
        [
            [Cell(""), Cell("住宿费", columns=2)],
            [Cell("职级"), Cell("旺季"), Cell("淡季")],
            [Cell("员工"), Cell("350"), Cell("280")],
        ]
    )
    assert with_single_headers(rows)[0] == ["职级", "住宿费 / 旺季", "住宿费 / 淡季"]


def test_row_label_over_many_rows_is_no_header() -> None:
    rows = laid_out(
        [[Cell("论文", rows=3), Cell(""), Cell("第一作者")], [Cell("核心"), Cell("8")], [Cell("普通"), Cell("3")]]
    )
    assert with_single_headers(rows)[1:] == [["论文", "核心", "8"], ["论文", "普通", "3"]]


def test_title_stands_above_the_header_in_every_chunk() -> None:
    rows = [["2026 年度预算"], ["科目", "金额"], *([f"科目{number}", str(number)] for number in range(30))]
    texts = [chunk.text for chunk in split(table_sections(rows), 100, 0)]
    assert len(texts) > 2
    assert all(text.startswith("2026 年度预算\n科目 | 金额\n科目") for text in texts)


def test_second_header_in_a_table_begins_another_one() -> None:
    rows = [
        ["", "本期", "上期"], ["收入", "12", "10"], ["支出", "7", "6"],
        ["", "期末", "期初"], ["资产", "90", "80"],
        ["前两名股东"], ["姓名", "股数", "比例"], ["王", "5", "50%"], ["李", "4", "40%"],
    ]  # fmt: skip
    assert [(section.header, section.text) for section in table_sections(rows)] == [
        ("|  | 本期 | 上期", "收入 | 12 | 10\n支出 | 7 | 6"),
        ("|  | 期末 | 期初", "资产 | 90 | 80"),
        ("前两名股东\n姓名 | 股数 | 比例", "王 | 5 | 50%\n李 | 4 | 40%"),
    ]


def test_labels_with_digits_begin_no_other_table() -> None:
    rows = [["格式", "说明"], ["PDF"], ["CSV"], ["网页", "只读正文"], ["MP3、M4A", "录音"], ["MP4", "录像"]]
    (table,) = table_sections(rows)
    assert (table.header, table.text) == (
        "格式 | 说明",
        "PDF | |\nCSV | |\n网页 | 只读正文\nMP3、M4A | 录音\nMP4 | 录像",
    )


def test_a_row_with_only_its_label_is_a_row_under_the_header() -> None:
    rows = [["项目", "金额"], ["差旅"], *([f"第{number}次出差", str(100 + number)] for number in range(8))]
    texts = [chunk.text for chunk in split(table_sections(rows), 60, 0)]
    assert len(texts) > 1
    for text in texts:
        passage = text.splitlines(keepends=True)
        assert table_heads(passage) == [0] * len(passage)
        assert passage[0] == "项目 | 金额\n"
    assert shown_row("项目 | 金额", "差旅 | |") == "项目：差旅"


def test_two_columns_whose_first_has_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",单价\n铅笔,2\n橡皮,3\n", encoding="utf-8")
    assert chunks(path) == ["|  | 单价\n铅笔 | 2\n橡皮 | 3"]


def test_second_table_in_a_chunk_is_no_row_of_the_first() -> None:
    sections = [Section("1 | 2", table=True, header="甲 | 乙"), Section("3 | 4", table=True, header="丙 | 丁")]
    (chunk,) = split(sections, 400, 0)
    assert table_heads(chunk.text.splitlines(keepends=True)) == [0, 0, None, 3, 3]


def test_note_below_a_table_is_text() -> None:
    table, note = table_sections([["点位", "水温"], ["东湖口", "12.5"], ["注：每周一测。"]])
    assert (table.text, note.text, note.table) == ("东湖口 | 12.5", "注：每周一测。", False)


def written_book(path: Path, *sheets: Sequence[Sequence[object]]) -> Path:
    book = Workbook()
    for number, rows in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        assert isinstance(sheet, Worksheet)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def test_a_form_of_four_columns_is_labels_with_values(tmp_path: Path) -> None:
    rows = [
        ["社团报名表"],
        ["姓名", "张三", "性别", "男"],
        ["学号", "2023001", "班级", "计科2班"],
        ["联系电话", "4417-0092", "邮箱", ""],
    ]
    (text,) = chunks(written_book(tmp_path / "a.xlsx", rows))
    assert text.split("\n") == [
        "社团报名表",
        "姓名：张三",
        "性别：男",
        "学号：2023001",
        "班级：计科2班",
        "联系电话：4417-0092",
    ]


def test_a_table_of_four_columns_is_no_form(tmp_path: Path) -> None:
    rows = [["姓名", "部门", "职务", "电话"], ["张三", "宣传部", "部长", "111"], ["李四", "外联部", "干事", "222"]]
    (text,) = chunks(written_book(tmp_path / "a.xlsx", rows))
    assert text.split("\n")[0] == "姓名 | 部门 | 职务 | 电话"


def test_an_empty_form_keeps_what_it_asks_for(tmp_path: Path) -> None:
    rows = [["姓名", "张三", "性别", "男"], ["学号", "", "班级", ""], ["联系电话", "", "邮箱", ""]]
    (text,) = chunks(written_book(tmp_path / "a.xlsx", rows))
    assert text.split("\n") == ["姓名：张三", "性别：男", "学号", "班级", "联系电话", "邮箱"]


def test_what_stands_beside_a_title_is_no_column(tmp_path: Path) -> None:
    rows = [["收支表", None, None, "单位：元"], ["项目", "金额", "日期", "经手"], ["班费", 300, "9月1日", "甲"]]
    (text,) = chunks(written_book(tmp_path / "a.xlsx", [*rows, ["打印", 20, "9月3日", "乙"]]))
    assert text.split("\n")[:2] == ["收支表 单位：元", "项目 | 金额 | 日期 | 经手"]


@pytest.mark.parametrize("note", [[], ["注：以上价格九月有效"]])
def test_a_second_table_below_a_gap_has_its_own_header(tmp_path: Path, note: list[str]) -> None:
    rows = [["项目", "单价", "备注"], ["帽子", 20, ""], ["徽章", 8, "含税"], [], note, []]
    second = [["部门", "负责人", "电话"], ["宣传部", "王五", 111], ["外联部", "赵六", 222]]
    sections = list(LOADERS["xlsx"].loader()(written_book(tmp_path / "a.xlsx", [*rows, *second]), Omissions()))
    tables = [section for section in sections if section.table]
    assert [table.header for table in tables] == ["项目 | 单价 | 备注", "部门 | 负责人 | 电话"]
    assert [section.text for section in sections if not section.table] == note


def test_a_gap_between_rows_of_one_table_is_none(tmp_path: Path) -> None:
    rows = [["姓名", "分数"], ["甲", 1], ["乙", 2], [], ["丙", 3], ["丁", 4]]
    (section,) = LOADERS["xlsx"].loader()(written_book(tmp_path / "a.xlsx", rows), Omissions())
    assert section.text == "甲 | 1\n乙 | 2\n丙 | 3\n丁 | 4"


def test_tables_beside_each_other_are_two(tmp_path: Path) -> None:
    rows = [
        ["一楼", None, None, "二楼"],
        ["菜品", "价格", None, "菜品", "价格"],
        ["红烧肉", 12, None, "盖浇饭", 10],
        ["青菜", 4, None, "牛肉面", 14],
    ]
    tables = list(LOADERS["xlsx"].loader()(written_book(tmp_path / "a.xlsx", rows), Omissions()))
    assert [(table.header, table.text) for table in tables] == [
        ("一楼\n菜品 | 价格", "红烧肉 | 12\n青菜 | 4"),
        ("二楼\n菜品 | 价格", "盖浇饭 | 10\n牛肉面 | 14"),
    ]


def test_the_name_of_a_table_stands_above_its_unit(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    table = "<table><tr><td>项目<td>期末<tr><td>现金<td>3<tr><td>存款<td>5</table>"
    page.write_text(f"<p>说明。<p>1、合并资产负债表<p>编制单位：某公司<p>单位：元{table}", encoding="utf-8")
    prose, section = LOADERS["html"].loader()(page, Omissions())
    assert prose.text == "说明。"
    assert section.header == "1、合并资产负债表\n编制单位：某公司\n单位：元\n项目 | 期末"
