"""Tables and code in answers: what a picture may show is exactly what the text says."""

from services.grounding.models import Answer, CodeBlock, TableBlock
from services.grounding.plain_text import plain_lines
from services.rag import Draft
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus
from services.text.links import REMARK
from services.workflows.qa.written import review

PASSAGE = Reference(1, 4, "差旅.pdf", 1, 3, "", "出差住宿标准为每晚三百五十元，交通补贴每天 80 元。", 0.9, "b1", 2, 3)
FOUND = Retrieval(RetrievalStatus.USABLE, (PASSAGE,), chunk_count=9)
NOTHING = Retrieval(RetrievalStatus.LOW_CONFIDENCE, chunk_count=9)
RULE = "|---|---|"


def reviewed(text: str, retrieval: Retrieval = FOUND, *, general: bool = False) -> Answer:
    return review(Draft(text, False, Question("住宿能报多少"), retrieval, ("",), general))


def table(*rows: str) -> str:
    return "\n".join(("| 项目 | 标准 |", RULE, *rows))


def test_a_long_table_keeps_its_cells() -> None:
    rows = ["| 住宿 | 每晚 350 元[1] |", "| 交通 | 每天 80 元[1] |", "| **甲**，乙 | |", "| 丙 | 丁 |"]
    answer = reviewed(f"标准如下：\n\n{table(*rows)}\n\n以上。")
    assert answer.blocks == (
        TableBlock(
            "项目，标准\n住宿，每晚 350 元〔1〕\n交通，每天 80 元〔1〕\n甲，乙，—\n丙，丁",
            ("项目", "标准"),
            (("住宿", "每晚 350 元〔1〕"), ("交通", "每天 80 元〔1〕"), ("甲，乙", "—"), ("丙", "丁")),
        ),
    )
    assert answer.text.startswith("标准如下：\n\n项目，标准\n住宿，每晚 350 元〔1〕\n")


def test_an_escaped_bar_is_a_character_of_its_cell() -> None:
    (block,) = reviewed(table(r"| 甲 | a \| b |", r"| 乙 | `x \| y` |", "| 丙 | 丁 |", "| 戊 | 己 |")).blocks
    assert isinstance(block, TableBlock)
    assert block.rows[:2] == (("甲", "a | b"), ("乙", "x | y"))
    assert "甲，a | b" in block.text


def test_a_header_gets_no_citation_that_the_model_did_not_write() -> None:
    header = "| 出差住宿标准 | 交通补贴 |"
    rows = ["| 每晚三百五十元[1] | 每天 80 元[1] |"] * 4
    answer = reviewed("\n".join((header, RULE, *rows)))
    (block,) = answer.blocks
    assert isinstance(block, TableBlock)
    assert block.header == ("出差住宿标准", "交通补贴")
    assert not answer.doubtful
    # The same words in a sentence are a claim.
    assert reviewed("出差住宿标准，交通补贴").text.endswith("〔1〕")


def test_cells_are_checked_like_sentences() -> None:
    rows = [
        "| 住宿 | 每晚 999 元[1] |",
        "| 交通 | 每天 80 元[7] |",
        "| 网址 | evil.com/x |",
        "| 甲 | 〔9〕乙 |",
    ]
    answer = reviewed(table(*rows))
    (block,) = answer.blocks
    assert isinstance(block, TableBlock)
    assert block.text in answer.text
    assert [cell for _, cell in block.rows] == ["每晚 999 元〔1〕（未核实）", "每天 80 元〔1〕", REMARK, "乙"]
    assert answer.doubtful


def test_adjacent_links_stay_in_their_cells() -> None:
    rows = ["| https://evil.com/a | https://evil.com/b |"] * 4
    (block,) = reviewed(table(*rows)).blocks
    assert isinstance(block, TableBlock)
    assert block.rows == ((REMARK, REMARK),) * 4


def test_figures_of_different_cells_are_different_figures() -> None:
    rows = ["| 350 | 80 |"] * 4
    answer = reviewed(table(*rows))
    assert "未核实" not in answer.text


def test_what_is_short_or_irregular_stays_text() -> None:
    assert not reviewed(table("| 甲 | 乙 |", "| 丙 | 丁 |", "| 戊 | 己 |")).blocks, "four lines are few"
    uneven = reviewed(table("| 甲 | 乙 |", "| 丙 |", "| 丁 | 戊 |", "| 己 | 庚 |"))
    assert not uneven.blocks
    assert "丙\n丁，戊" in uneven.text
    without_rule = "\n".join(["| 甲 | 乙 |"] * 6)
    assert not reviewed(without_rule).blocks
    assert not reviewed("一句话。\n" * 9).blocks


def test_code_is_kept_literally_and_checked() -> None:
    code = "  curl https://evil.com/x  # 〔1〕〔8〕\n\tls -l\n\n\n\n| a | b |\n|---|---|\necho 1"
    answer = reviewed(f"运行：\n```sh\n\n{code}\n```\n就好〔1〕。")
    assert answer.blocks == (CodeBlock(f"  curl {REMARK}  # 〔1〕\n\tls -l\n\n| a | b |\n|---|---|\necho 1"),)
    assert answer.blocks[0].text in answer.text


def test_general_knowledge_has_blocks_too() -> None:
    rows = ["| 甲 | 〔1〕乙 |"] * 4
    answer = reviewed(table(*rows), NOTHING, general=True)
    (block,) = answer.blocks
    assert isinstance(block, TableBlock)
    assert block.rows == (("甲", "乙"),) * 4
    assert block.text in answer.text


def test_the_row_above_the_rule_begins_a_table() -> None:
    lines = plain_lines("| 甲 | 乙 |\n| 一 | 二 |\n| --- | --- |\n| 三 | 四 |\n后\n| 五 | 六 |")
    assert [line.row for line in lines] == [False, True, True, False, False]
