"""A value of a PDF's table is in its own row and column, or the table is said to be uncertain."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from services.knowledge.loaders import LOADERS
from services.knowledge.models import Omissions, Section
from services.knowledge.splitter import split
from tests.samples.documents import PDF_FONT

HEAD = ("采样点", "水温", "浊度", "结论")
ROWS = (("东湖口", "12.5", "3.1", "合格"), ("西溪桥", "13.0", "8.4", "超标"), ("南闸", "11.8", "2.2", "合格"))
_ROW = 24.0
_COLUMNS = (60.0, 180.0, 260.0, 340.0, 440.0)
_WRITTEN = "\n".join(" | ".join(row) for row in ROWS)

Draw = Callable[[Canvas], None]


def load(path: Path, *pages: Draw) -> list[Section]:
    pdfmetrics.registerFont(UnicodeCIDFont(PDF_FONT))
    canvas = Canvas(str(path), pagesize=A4)
    for draw in pages:
        canvas.setFont(PDF_FONT, 10)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return list(LOADERS["pdf"].loader()(path, Omissions()))


def tables(sections: list[Section]) -> list[tuple[str, str]]:
    return [(section.header, section.text) for section in sections if section.table]


def lines_of_grid(canvas: Canvas, columns: tuple[float, ...], top: float, count: int) -> None:
    bottom = top - count * _ROW
    for number in range(count + 1):
        canvas.line(columns[0], top - number * _ROW, columns[-1], top - number * _ROW)
    for x in columns:
        canvas.line(x, top, x, bottom)


def texts(
    canvas: Canvas, row: tuple[str, ...], columns: tuple[float, ...], base: float, *, right: bool = False
) -> None:
    for number, text in enumerate(row):
        if right and number:
            canvas.drawRightString(columns[number + 1] - 8, base, text)
        else:
            canvas.drawString(columns[number] + 4, base, text)


def ruled(
    top: float = 700, rows: tuple[tuple[str, ...], ...] = (HEAD, *ROWS), columns: tuple[float, ...] = _COLUMNS
) -> Draw:
    def draw(canvas: Canvas) -> None:
        lines_of_grid(canvas, columns, top, len(rows))
        # Column by column, as many programs write them: the order of drawing pairs nothing.
        for column in range(len(columns) - 1):
            for number, row in enumerate(rows):
                texts(canvas, (row[column],), columns[column:], top - number * _ROW - 16)

    return draw


def test_ruled_table_is_read_by_rows_whatever_the_order_of_drawing(tmp_path: Path) -> None:
    assert tables(load(tmp_path / "a.pdf", ruled())) == [(" | ".join(HEAD), _WRITTEN)]


@pytest.mark.parametrize("right", [False, True])
def test_aligned_columns_without_lines_are_read_by_rows(tmp_path: Path, *, right: bool) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 740, "本月各采样点的结果如下，请各组核对。")
        for column in range(4):
            for number, row in enumerate((HEAD, *ROWS)):
                x = _COLUMNS[column + 1] - 30 if right and column else _COLUMNS[column]
                (canvas.drawRightString if right and column else canvas.drawString)(x, 700 - number * 16, row[column])

    assert tables(load(tmp_path / "a.pdf", draw)) == [(" | ".join(HEAD), _WRITTEN)]


def test_empty_cells_of_aligned_columns_stay_empty(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for number, row in enumerate((HEAD, ROWS[0], ("西溪桥", "13.0", "", "停测"), ROWS[2])):
            texts(canvas, row, _COLUMNS, 700 - number * 16)

    (table,) = tables(load(tmp_path / "a.pdf", draw))
    assert "西溪桥 | 13.0 |  | 停测" in table[1]


def test_aligned_columns_that_cannot_be_told_are_uncertain(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        texts(canvas, HEAD, _COLUMNS, 700)
        for number, row in enumerate(ROWS):
            texts(canvas, row, _COLUMNS, 684 - number * 16)
        # A value that reaches over two columns.
        canvas.drawString(200, 684 - 3 * 16, "9.9 或者 9.8 都算")
        canvas.drawString(60, 684 - 3 * 16, "北渠")

    sections = load(tmp_path / "a.pdf", draw)
    assert [section.uncertain_table for section in sections] == [True]
    assert "东湖口 12.5 3.1 合格" in sections[0].text
    assert [(chunk.uncertain_table, chunk.page) for chunk in split(sections, 400, 0)] == [(True, 1)]


_PROSE = "water samples were taken every week at all places"


def _two_columns(canvas: Canvas, left: range, right: range) -> None:
    """Draw lines of prose in two columns of a page, at heights that differ between the columns."""
    for number in left:
        canvas.drawString(40, 740 - 16 * number, _PROSE)
    for number in right:
        canvas.drawString(320, 736 - 16 * number, _PROSE)


def test_a_table_in_one_of_two_columns_of_prose_is_read_without_the_other(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        _two_columns(canvas, range(14), range(6, 14))
        for number, row in enumerate((HEAD, *ROWS)):
            texts(canvas, row, (320.0, 390.0, 440.0, 490.0), 736 - 16 * number)

    sections = load(tmp_path / "a.pdf", draw)
    assert tables(sections) == [(" | ".join(HEAD), _WRITTEN)]
    assert sum(section.text.count(_PROSE) for section in sections) == 22
    assert not any(section.uncertain_table for section in sections)


def test_a_table_that_reaches_into_the_other_column_of_prose_is_not_read_by_rows(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        _two_columns(canvas, range(6, 14), range(14))
        for number, row in enumerate((HEAD, *ROWS, ("北渠", "12.0", "4.0", "合格但是须在下周复查"))):
            texts(canvas, row, (40.0, 110.0, 160.0, 205.0), 740 - 16 * number)

    sections = load(tmp_path / "a.pdf", draw)
    assert tables(sections) == []
    assert "合格但是须在下周复查" in sections[0].text


@pytest.mark.parametrize("crosses", [False, True])
def test_a_table_over_two_columns_of_prose_is_not_cut(tmp_path: Path, *, crosses: bool) -> None:
    def draw(canvas: Canvas) -> None:
        _two_columns(canvas, range(6, 14), range(6, 14))
        for number, (name, *values) in enumerate((HEAD, *ROWS)):
            canvas.drawString(200 if crosses else 40, 740 - 16 * number, name)
            texts(canvas, tuple(values), (285.0 if crosses else 320.0, 400.0, 450.0), 740 - 16 * number)

    assert tables(load(tmp_path / "a.pdf", draw)) == [(" | ".join(HEAD), _WRITTEN)]


def test_text_over_a_line_makes_a_ruled_table_uncertain(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        ruled()(canvas)
        canvas.drawString(150, 700 - 4 * _ROW - 16, "跨在线上的一长串文字没有写在格子里")
        lines_of_grid(canvas, _COLUMNS, 700 - 4 * _ROW, 1)

    sections = load(tmp_path / "a.pdf", draw)
    assert [section.uncertain_table for section in sections] == [True]


def test_merged_cells_and_a_header_of_two_rows(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 710, "表 2 各点结果")
        for y in (700, 652, 628, 604):
            canvas.line(60, y, 440, y)
        canvas.line(180, 676, 340, 676)
        for x in (60, 180, 340, 440):
            canvas.line(x, 700, x, 604)
        canvas.line(260, 676, 260, 604)
        canvas.drawString(64, 670, "采样点")
        canvas.drawString(230, 684, "现场读数")
        canvas.drawString(184, 660, "水温")
        canvas.drawString(264, 660, "浊度")
        canvas.drawString(344, 670, "结论")
        texts(canvas, ROWS[0], _COLUMNS, 636)
        texts(canvas, ROWS[1], _COLUMNS, 612)

    assert tables(load(tmp_path / "a.pdf", draw)) == [
        (
            "表 2 各点结果\n采样点 | 现场读数 / 水温 | 现场读数 / 浊度 | 结论",
            "东湖口 | 12.5 | 3.1 | 合格\n西溪桥 | 13.0 | 8.4 | 超标",
        )
    ]


def test_wrapped_text_of_a_cell_stays_in_its_row(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        rows = (HEAD, ("东湖口闸前十米", "12.5", "3.1", "合格"), ROWS[1])
        lines_of_grid(canvas, _COLUMNS, 700, 3)
        texts(canvas, HEAD, _COLUMNS, 684)
        canvas.drawString(64, 700 - _ROW - 10, "东湖口闸")
        canvas.drawString(64, 700 - _ROW - 21, "前十米")
        texts(canvas, ("", *rows[1][1:]), _COLUMNS, 700 - _ROW - 16)
        texts(canvas, rows[2], _COLUMNS, 700 - 2 * _ROW - 16)

    ((_, text),) = tables(load(tmp_path / "a.pdf", draw))
    assert text == "东湖口闸前十米 | 12.5 | 3.1 | 合格\n西溪桥 | 13.0 | 8.4 | 超标"


def test_characters_spread_over_a_narrow_cell_are_words(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        lines_of_grid(canvas, _COLUMNS, 700, 3)
        texts(canvas, HEAD, _COLUMNS, 684)
        texts(canvas, ("", *ROWS[0][1:]), _COLUMNS, 700 - _ROW - 16)
        for number, (one, other) in enumerate((("东", "湖"), ("口", "12"))):
            texts(canvas, (one,), _COLUMNS, 700 - _ROW - 10 - 11 * number)
            canvas.drawString(_COLUMNS[0] + 20, 700 - _ROW - 10 - 11 * number, other)
        texts(canvas, ("张 三", *ROWS[1][1:]), _COLUMNS, 700 - 2 * _ROW - 16)

    ((_, text),) = tables(load(tmp_path / "a.pdf", draw))
    assert text == "东湖口12 | 12.5 | 3.1 | 合格\n张 三 | 13.0 | 8.4 | 超标"


def test_rows_without_lines_between_them_are_told_by_their_figures(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        lines_of_grid(canvas, _COLUMNS, 700, 1)
        texts(canvas, HEAD, _COLUMNS, 684)
        for y in (676, 600):
            canvas.line(60, y, 440, y)
        for x in _COLUMNS:
            canvas.line(x, 676, x, 600)
        for number, row in enumerate(ROWS):
            texts(canvas, row, _COLUMNS, 660 - number * 16)

    assert tables(load(tmp_path / "a.pdf", draw)) == [(" | ".join(HEAD), _WRITTEN)]


@pytest.mark.parametrize("repeats", [False, True])
def test_table_over_two_pages_has_its_header_on_both(tmp_path: Path, *, repeats: bool) -> None:
    def first(canvas: Canvas) -> None:
        canvas.drawString(60, 760, "各采样点的结果如下。")
        ruled(700, (HEAD, *ROWS[:2]))(canvas)

    rows = (HEAD, ROWS[2]) if repeats else (ROWS[2], ("北渠", "12.0", "4.0", "合格"))
    sections = load(tmp_path / "a.pdf", first, ruled(760, rows))
    (one, other) = tables(sections)
    assert one == (" | ".join(HEAD), "东湖口 | 12.5 | 3.1 | 合格\n西溪桥 | 13.0 | 8.4 | 超标")
    assert other[0] == " | ".join(HEAD)
    assert other[1].startswith("南闸 | 11.8 | 2.2 | 合格")
    assert [section.page for section in sections if section.table] == [1, 2]


def test_two_tables_side_by_side_stay_apart(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        ruled(700, (("项目", "结果"), ("铅", "0.01"), ("汞", "0.02")), (40.0, 120.0, 200.0))(canvas)
        ruled(700, (("项目", "结果"), ("铜", "0.03"), ("锌", "0.04")), (300.0, 380.0, 460.0))(canvas)

    assert tables(load(tmp_path / "a.pdf", draw)) == [
        ("项目 | 结果", "铅 | 0.01\n汞 | 0.02"),
        ("项目 | 结果", "铜 | 0.03\n锌 | 0.04"),
    ]


def test_columns_that_are_there_twice_become_one_table(tmp_path: Path) -> None:
    head = ("项目", "结果", "单位")
    rows = (head * 2, ("铅", "0.01", "mg/L", "铜", "0.03", "mg/L"), ("汞", "0.02", "mg/L", "锌", "0.04", "mg/L"))

    def draw(canvas: Canvas) -> None:
        for number, row in enumerate(rows):
            texts(canvas, row, (40.0, 110.0, 180.0, 300.0, 370.0, 440.0, 500.0), 700 - number * 16)

    assert tables(load(tmp_path / "a.pdf", draw)) == [
        (" | ".join(head), "铅 | 0.01 | mg/L\n汞 | 0.02 | mg/L\n铜 | 0.03 | mg/L\n锌 | 0.04 | mg/L")
    ]


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_turned_page_reads_like_an_upright_one(tmp_path: Path, angle: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(300, 420)
        canvas.rotate(angle)
        canvas.translate(-250, -650)
        ruled()(canvas)

    assert tables(load(tmp_path / "a.pdf", draw)) == [(" | ".join(HEAD), _WRITTEN)]


def test_hidden_text_is_in_no_cell(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        ruled()(canvas)
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(300, 700 - _ROW - 16, "999")

    assert tables(load(tmp_path / "a.pdf", draw)) == [(" | ".join(HEAD), _WRITTEN)]


def test_text_around_a_table_stays_text(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 760, "监测结果分四列列出。")
        ruled()(canvas)
        canvas.drawString(60, 560, "注：浊度的单位是度。")

    sections = load(tmp_path / "a.pdf", draw)
    assert [(section.table, section.text) for section in sections] == [
        (False, "监测结果分四列列出。"),
        (True, _WRITTEN),
        (False, "注：浊度的单位是度。"),
    ]


def test_two_columns_of_prose_are_no_table(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for column in (40, 310):
            for number in range(12):
                canvas.drawString(column, 760 - number * 16, "这是一篇分成两栏排的文章里第几行的话呢")

    assert not any(section.table or section.uncertain_table for section in load(tmp_path / "a.pdf", draw))
