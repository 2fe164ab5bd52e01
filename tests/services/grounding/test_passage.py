"""The parts of a passage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.passage import Role, parts_of

LIST = "报名材料如下：\n1. 身份证复印件\n2. 一寸照片\n\n截止日期是五月一日。"


def test_what_announces_a_list_and_its_items_are_recognised() -> None:
    parts = parts_of(LIST)
    assert [part.role for part in parts] == [Role.SENTENCE, Role.ITEM, Role.ITEM, Role.SENTENCE]
    assert [part.announces for part in parts] == [True, False, False, False]
    assert parts[3].starts_paragraph


@pytest.mark.parametrize(
    ("line", "announces"),
    [
        ("申请书的模板如下。", True),
        ("可通过以下指令获取可用的分区", True),
        ("下列人员可以参加：", True),
        ("以下简称甲方，负责全部费用的支付和管理工作的落实。", False),
        ("宿舍 23:00 熄灯。", False),
    ],
)
def test_a_part_that_ends_with_an_announcement_announces(line: str, announces: bool) -> None:
    assert parts_of(f"{line}\n内容在这里写着。")[0].announces is announces


def test_a_row_knows_the_head_of_its_table() -> None:
    parts = parts_of("价目\n项目 | 价格\n灯笼 | 105\n对联 | 20\n")
    assert [(part.role, part.head) for part in parts[-3:]] == [
        (Role.TABLE_HEAD, None),
        (Role.ROW, len(parts) - 3),
        (Role.ROW, len(parts) - 3),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "查看日志：\n```bash\nps aux | grep python | wc -l\ncat a | sort\n```\n完成后退出即可。",
        "用 tail -f a.log | grep ERR 命令看日志。",
    ],
)
def test_a_pipe_in_a_command_makes_no_table(text: str) -> None:
    assert not {part.role for part in parts_of(text)} & {Role.TABLE_HEAD, Role.ROW}


@given(st.text("字a1。！？!?；;：\n |-、.#", max_size=300))
def test_the_parts_are_the_passage(text: str) -> None:
    parts = parts_of(text)
    joined = "".join(part.text for part in parts)
    assert text.startswith(joined)
    assert not text[len(joined) :].strip()
