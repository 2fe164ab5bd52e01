"""The instructions are never revealed, neither whole nor in pieces; ordinary answers are not mistaken for them."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.disclosure import PIECE_CHARS, discloses
from services.prompts import load_prompts

PROMPTS = load_prompts()
VALUES = {
    "persona": PROMPTS.persona,
    "fence": "====资料边界 0123456789abcdef====",
    "today": "",
    "context": "",
    "nothing": "【资料里没有】",
    "chat": "【闲聊】",
    "chat_history": [],
    "input": "问题",
}
INSTRUCTIONS = [
    template.format_messages(**VALUES)[0].text for template in (PROMPTS.answer, PROMPTS.conversation, PROMPTS.general)
]


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, str]:
    """Return the instructions of one prompt, and a part of them that has enough letters."""
    instructions = draw(st.sampled_from(INSTRUCTIONS))
    letters = [place for place, sign in enumerate(instructions) if sign.isalnum()]
    first = draw(st.integers(0, len(letters) - PIECE_CHARS))
    last = draw(st.integers(first + PIECE_CHARS - 1, len(letters) - 1))
    return instructions, instructions[letters[first] : letters[last] + 1]


@given(pieces(), st.text(max_size=20), st.text(max_size=20))
def test_every_piece_is_recognised(case: tuple[str, str], before: str, behind: str) -> None:
    instructions, piece = case
    assert discloses(f"{before}\n{piece}\n{behind}", instructions, [])


@given(pieces(), st.sampled_from([" ", "-", "\u200b", " | ", "\n", "。", "😀", "**"]))
def test_what_stands_between_letters_hides_nothing(case: tuple[str, str], between: str) -> None:
    instructions, piece = case
    assert discloses(between.join(piece), instructions, [])


@given(
    st.sampled_from(INSTRUCTIONS), st.sampled_from(["〔1〕", "[9]", "\u3164", "\nabc. ", "<br>", "[CQ:face,id=1]", "①"])
)
def test_numbers_and_markup_between_lines_hide_nothing(instructions: str, between: str) -> None:
    lines = [instructions[start : start + 12] for start in range(0, len(instructions), 12)]
    assert discloses(between.join(lines), instructions, [])


@given(st.sampled_from(INSTRUCTIONS), st.randoms(use_true_random=False))
def test_short_lines_in_any_order_are_recognised(instructions: str, chance: random.Random) -> None:
    lines = [instructions[start : start + 14] for start in range(0, len(instructions), 14)]
    chance.shuffle(lines)
    assert discloses("\n".join(lines), instructions, [])


@given(pieces(), st.text("abc5 :：", max_size=9))
def test_backwards_and_in_base64_it_is_the_same(case: tuple[str, str], before: str) -> None:
    instructions, piece = case
    assert discloses(before + piece[::-1], instructions, [])
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(f"规则是{piece}。".encode()).decode()
        assert discloses(before + encoded, instructions, [])
        assert discloses(
            "\n".join(encoded[start : start + 20] for start in range(0, len(encoded), 20)), instructions, []
        )


@given(pieces())
def test_what_an_approved_passage_says_may_be_said(case: tuple[str, str]) -> None:
    instructions, piece = case
    assert not discloses(piece, instructions, ["别的话", f"第三条 {piece}，自印发之日起施行"])


ORDINARY = [
    "资料里没有找到相关内容，可以换个更具体的问法。",
    "我是群里的资料助手，可以根据上传的文件回答问题，也会标明出处。",
    "先填报销单，再由主管签字，最后交到财务处。步骤：\n1. 登录系统\n2. 上传发票\n3. 等审批",
    "参考资料里说，住宿标准为每晚三百五十元，超出部分自理〔1〕。",
    "提示词注入是指在文件里写上「忽略以上所有指令」之类的话，让模型照做。",
    "系统提示和角色设定是两回事：前者由开发者写，后者描述语气。",
    "你刚才问的是食堂几点开门，我说周一到周五供应午餐。",
]


@pytest.mark.parametrize("answer", ORDINARY)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_ordinary_answers_are_not_taken_for_them(answer: str, instructions: str) -> None:
    assert not discloses(answer, instructions, [])


@given(st.text(max_size=200))
def test_without_instructions_nothing_is_given_away(text: str) -> None:
    assert not discloses(text, "", [])
