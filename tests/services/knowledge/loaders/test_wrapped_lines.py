"""Lines of text files that are broken at a fixed width."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.knowledge.loaders import LOADERS
from services.knowledge.loaders.wrapped_lines import unwrapped
from services.knowledge.models import Omissions

NOTICE = """各社团使用活动室须提前三个工作日提交申请，由活动室管
理员审核后发放钥匙，使用时间不得超过两个小时，超过时
间的需要重新申请。
一、开放时间为周一至周五的下午四点到晚上九点半，周末
    为上午九点到晚上九点半，法定节假日关闭。
联系人：王老师
二、使用后须打扫干净，关闭电源和门窗，违者停用两周并
扣除社团考核分五分。"""
ENGLISH = """The room is open from Monday to Friday in the afternoon
and from nine on weekends, but it is closed on holidays
and whenever the building is closed for other reasons.
- A key is handed out after the request was read by the
  person in charge.
- Short item"""


def test_broken_paragraphs_are_whole() -> None:
    assert unwrapped(NOTICE.split("\n")) == [
        "各社团使用活动室须提前三个工作日提交申请，由活动室管理员审核后发放钥匙，使用时间不得超过两个小时，超过时间的需要重新申请。",
        "一、开放时间为周一至周五的下午四点到晚上九点半，周末为上午九点到晚上九点半，法定节假日关闭。",
        "联系人：王老师",
        "二、使用后须打扫干净，关闭电源和门窗，违者停用两周并扣除社团考核分五分。",
    ]
    assert [line.split()[-1] for line in unwrapped(ENGLISH.split("\n"))] == ["reasons.", "charge.", "item"]


@pytest.mark.parametrize(
    "text",
    [
        "活动时间：9月20日下午三点到五点\n活动地点：操场东侧看台旁边空地\n参加人员：全体大一同学\n请提前十分钟到场",
        "甲 | 乙\n" * 5,
        "def run():\n    first = compute(1)\n    second = compute(2)\n    third = compute(3)",
        "短行\n又一短行\n再一短行\n最后一行",
        "第一段很长，写了很多很多内容，一直到这里才结束，没有在固定的宽度断开过。\n第二段。\n第三段也不短，但是结束在别的地方\n第四段",
    ],
)
def test_other_lines_stay(text: str) -> None:
    assert unwrapped(text.split("\n")) == text.split("\n")


def test_a_text_file_is_read_so(tmp_path: Path) -> None:
    path = tmp_path / "须知.txt"
    path.write_text(NOTICE, encoding="utf-8")
    text = "\n".join(section.text for section in LOADERS["txt"].loader()(path, Omissions()))
    assert "由活动室管理员审核" in text


@given(st.lists(st.text(st.sampled_from("甲乙，。a b1-|：\t "), max_size=60), max_size=12))
def test_no_character_is_lost(lines: list[str]) -> None:
    assert "".join("".join(unwrapped(lines)).split()) == "".join("".join(lines).split())
