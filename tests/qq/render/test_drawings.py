"""Tests of the sizes of pictures and of what does not fit into one."""

import pytest

from qq.render.drawings import Bar, Code, Report, Table

MAIL = "zhangsan@example.com.cn"


def test_a_picture_is_as_wide_as_a_phone_or_as_what_it_shows() -> None:
    assert Table(("甲", "乙"), (("1", "2"),)).width == Code("ls").width == 420
    wide = Table(("甲", "乙", "丙"), (("字" * 40,) * 3,))
    assert wide.width == 671, "three columns of 13 characters"
    assert Code("x" * 80).width > 600
    assert Code("x" * 500).width == 760


def test_columns_share_the_width() -> None:
    for table in (
        Table(("甲", "乙"), (("1", "2"),)),
        Table(("序号", "说明", "备注"), (("1", "字" * 60, "字" * 50),)),
        Table(tuple("ABCDEFGH"), ((MAIL,) * 8,)),
    ):
        assert sum(table.column_widths) == pytest.approx(table.width - 26, abs=1)
        assert min(table.column_widths) > 40


def test_short_cells_and_words_stay_whole() -> None:
    table = Table(("序号", "邮箱", "备注", "说明"), (("1", MAIL, "字" * 40, "字" * 40),))
    number, mail, *_ = table.column_widths
    assert number >= 2 * 15 + 18
    assert mail >= len(MAIL) * 8 + 18


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ((), ()),
        (("甲",) * 9, ()),
        (("甲",), (("1",),) * 41),
        (("甲", "乙"), (("1",),)),
        (("甲",), (("字" * 3000,),)),
    ],
)
def test_a_table_that_no_picture_can_show_is_refused(
    header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
) -> None:
    with pytest.raises(ValueError, match=r"table|rows"):
        Table(header, rows)


def test_code_that_no_picture_can_show() -> None:
    with pytest.raises(ValueError, match="61 lines"):
        Code("x\n" * 60)
    with pytest.raises(ValueError, match="3001 characters"):
        Code("x" * 3001)


def test_tabs_become_blanks() -> None:
    assert Code("if x:\n\ty").lines == ["if x:", "    y"]


@pytest.mark.parametrize(
    ("tiles", "bars"),
    [(13, ()), (1, (Bar("甲", "1"),) * 40), (1, (Bar("字" * 3000, "1"),)), (1, (Bar("甲", "1", 1.5),))],
)
def test_a_report_that_does_not_fit(tiles: int, bars: tuple[Bar, ...]) -> None:
    with pytest.raises(ValueError, match=r"report|bar"):
        Report("题", (("1", "甲"),) * tiles, (("节", bars),))
