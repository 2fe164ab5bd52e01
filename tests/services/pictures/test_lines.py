"""Tests of the order in which pieces of text are read."""

from services.pictures.lines import TextBox, lines_of


def _box(text: str, left: float, top: float, width: float | None = None) -> TextBox:
    return TextBox(text, left, top, left + (10 * len(text) if width is None else width), top + 20)


def test_pieces_of_a_line_are_joined_from_left_to_right() -> None:
    boxes = [_box("Running", 300, 33), _box("NAME", 10, 0), _box("gateway", 10, 30), _box("STATUS", 300, 2)]
    assert lines_of(boxes) == ["NAME  STATUS", "gateway  Running"]
    assert lines_of([_box("world", 75, 4), _box("hello", 10, 0)]) == ["hello world"]
    assert lines_of([]) == []


def test_close_lines_of_a_slightly_turned_picture_stay_apart() -> None:
    boxes = [TextBox(f"第{n}行", 0, 24 * n, 300, 24 * n + 30) for n in range(4)]
    assert lines_of(boxes) == ["第0行", "第1行", "第2行", "第3行"]


def test_columns_of_prose_are_read_one_after_the_other_and_those_of_tables_row_by_row() -> None:
    prose = [
        _box(f"{side}边第{n}行的一整句话很长", x, 30 * n, 280) for n in range(6) for side, x in (("左", 0), ("右", 320))
    ]
    assert [line[0] for line in lines_of(prose)] == ["左"] * 6 + ["右"] * 6
    table = [_box(text, x, 30 * n) for n in range(6) for text, x in ((f"项目{n}", 0), (f"{n}元", 320))]
    assert lines_of(table) == [f"项目{n}  {n}元" for n in range(6)]
