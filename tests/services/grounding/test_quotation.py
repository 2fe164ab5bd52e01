"""Chosen parts as a person reads them."""

from hypothesis import given
from hypothesis import strategies as st

from services.grounding.passage import parts_of
from services.grounding.quotation import shown, shown_row
from services.index.tokens import index_terms
from services.text.tables import CELLS

TEXT = "第一句在这里。第二句在这里。\n第三句在这里。\n项目 | 价格 | 备注\n灯笼 | 105 | \n对联 | 20 | 红色\n"


def test_a_line_says_that_something_is_left_out() -> None:
    assert shown(parts_of(TEXT), {0, 2}) == "第一句在这里。\n……\n第三句在这里。"
    assert shown(parts_of(TEXT), {0, 1}) == "第一句在这里。第二句在这里。"


def test_rows_are_written_with_the_names_of_their_columns() -> None:
    assert shown(parts_of(TEXT), {3, 5}) == "项目：对联；价格：20；备注：红色"
    assert shown(parts_of(TEXT), {3, 4, 5}).split("\n")[0] == "项目：灯笼；价格：105"


def test_a_row_with_more_cells_than_its_head_keeps_its_cells() -> None:
    assert shown_row("项目 | 价格", "灯笼 | 105 | 红色") == "灯笼 / 105 / 红色"
    assert shown_row("", "灯笼 | 105 | 红") == "灯笼 / 105 / 红"


def test_a_head_that_holds_values_names_nothing() -> None:
    assert shown_row("姓名 | 王五 | 工号 | 7788", "部门 | 保卫处 | 电话 | 66120") == "部门 / 保卫处 / 电话 / 66120"
    assert shown_row("项目 | 2023 | 2024", "营收 | 10 | 12") == "项目：营收；2023：10；2024：12"


def test_an_empty_first_cell_moves_no_other() -> None:
    assert shown_row("型号 | 批号 | 效期", "|  | 84640 | 2023-04-30") == "批号：84640；效期：2023-04-30"


def test_of_a_long_cell_the_sentences_about_the_question_are_shown() -> None:
    filler = "这项检查用于评估一般健康状况，结果请由医生结合其他检查判断。" * 6
    row = f"尿常规 | {filler}留取后 1 小时内送检。放置过久会影响结果。{filler} | 晨尿最佳"
    text = shown_row("项目 | 说明 | 备注", row, set(index_terms("尿常规多久内送检")))
    assert "留取后 1 小时内送检。" in text
    assert text.startswith("项目：尿常规；说明：…") and text.endswith("备注：晨尿最佳")
    assert len(text) < 300


@given(st.lists(st.lists(st.text("字a ", max_size=6), min_size=3, max_size=3), min_size=2, max_size=5))
def test_every_cell_stands_beside_the_name_of_its_own_column(rows: list[list[str]]) -> None:
    head, *others = rows
    for row in others:
        text = shown_row(CELLS.join(head), CELLS.join(row))
        pairs = [(name.strip(), cell.strip()) for name, cell in zip(head, row, strict=True) if cell.strip()]
        assert text == "；".join(f"{name}：{cell}" if name and name != cell else cell for name, cell in pairs)
