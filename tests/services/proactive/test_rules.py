"""The laws of the decisions: conversations of two, limits, repetitions."""

import doctest
import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.proactive import rules
from services.proactive.models import GroupMessage
from services.records.groups import UnaskedAnswer
from services.retrieval.models import Reference
from tests.services.proactive.messages import GROUP, START, said

A, B, C, D = 1, 2, 3, 4
QUIET_S = 120.0


def talk(*speakers: int, every_s: float = 5.0) -> list[GroupMessage]:
    """Return one message of each speaker, in this order."""
    return [said(speaker, after_s=number * every_s) for number, speaker in enumerate(speakers)]


def pair(heard: Sequence[GroupMessage], quiet_s: float = QUIET_S) -> set[int] | None:
    """Return who is talking with each other at the time of the last message."""
    found = rules.conversation(heard, heard[-1].at if heard else START, quiet_s)
    return None if found is None else set(found)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(rules).failed == 0


# -- conversations of two ---------------------------------------------------------------------------------------------


def test_two_who_take_turns_are_talking() -> None:
    assert pair(talk(A, B, A)) == {A, B}
    assert pair(talk(A, A, B, B, A)) == {A, B}
    assert pair(talk(C, D, C, B, A, B)) == {A, B}


def test_one_question_and_one_answer_are_no_conversation_yet() -> None:
    assert pair([]) is None
    assert pair(talk(A, B)) is None
    assert pair(talk(A, A, B, B)) is None


def test_a_third_voice_makes_it_everybodys_unless_they_address_each_other() -> None:
    assert pair(talk(A, B, C, A, B, C)) is None
    heard = talk(A, B, C, A, D)
    assert pair(heard) is None
    assert pair([heard[0], replace(heard[1], addressed=frozenset({A})), *heard[2:]]) == {A, B}


def test_who_addresses_somebody_silent_is_in_no_conversation() -> None:
    assert pair([replace(item, addressed=frozenset({D})) for item in talk(A, C, A, B)]) is None
    assert pair([replace(item, addressed=frozenset({A})) for item in talk(A, A, A)]) is None


def test_messages_to_the_bot_are_no_part_of_it() -> None:
    heard = talk(A, B, A)
    assert pair([*heard[:2], replace(heard[2], asks_bot=True)]) is None


def test_a_question_interrupts_the_conversation_of_others_and_the_askers_own() -> None:
    before = talk(A, B, A)
    assert rules.interrupts(said(C, after_s=20), before, QUIET_S)
    assert rules.interrupts(said(A, after_s=20), talk(A, B), QUIET_S)
    assert not rules.interrupts(said(C, after_s=20), talk(A, B), QUIET_S)
    assert not rules.interrupts(said(C, after_s=20 + QUIET_S), before, QUIET_S)


speakers = st.lists(st.sampled_from((A, B, C, D)), max_size=12)
gaps = st.lists(st.floats(0.1, 60), min_size=12, max_size=12)


def spoken(who: Sequence[int], after: Sequence[float], addressed: Sequence[int] = ()) -> list[GroupMessage]:
    heard: list[GroupMessage] = []
    seconds = 0.0
    for number, (speaker, gap) in enumerate(zip(who, after, strict=False)):
        seconds += gap
        to = frozenset({addressed[number]}) - {speaker} if number < len(addressed) else frozenset[int]()
        heard.append(said(speaker, after_s=seconds, addressed=to))
    return heard


@given(speakers, gaps, speakers)
def test_names_do_not_matter(who: list[int], after: list[float], to: list[int]) -> None:
    heard = spoken(who, after, to)
    renamed = [
        replace(item, user_id=item.user_id + 100, addressed=frozenset(user + 100 for user in item.addressed))
        for item in heard
    ]
    found = pair(heard)
    assert pair(renamed) == (None if found is None else {user + 100 for user in found})


@given(speakers, gaps, speakers)
def test_what_is_older_than_the_window_does_not_matter(who: list[int], after: list[float], to: list[int]) -> None:
    heard = spoken(who, after, to)
    last = heard[-1].at if heard else START
    recent = [item for item in heard if item.at > last - timedelta(seconds=QUIET_S)]
    assert pair(heard) == pair(recent)


@given(speakers, gaps, speakers)
def test_a_conversation_is_of_two_who_both_spoke(who: list[int], after: list[float], to: list[int]) -> None:
    heard = spoken(who, after, to)
    found = pair(heard)
    if found is not None:
        mine = [item.user_id for item in heard if item.user_id in found]
        assert set(mine) == found
        assert len(found) == 2
        assert len(mine) >= 3


@given(gaps, st.lists(st.sampled_from((A, B)), min_size=3, max_size=12))
def test_with_two_speakers_three_turns_make_it(after: list[float], who: list[int]) -> None:
    heard = spoken(who, [min(gap, 5) for gap in after])
    turns = 1 + sum(left != right for left, right in itertools.pairwise(who))
    assert (pair(heard) is not None) == (turns >= 3)


@given(speakers, gaps, speakers)
def test_without_a_window_nobody_is_talking(who: list[int], after: list[float], to: list[int]) -> None:
    assert pair(spoken(who, after, to), quiet_s=0) is None


# -- while waiting ----------------------------------------------------------------------------------------------------

QUESTION = said(A, "mmdeploy 怎么安装")


def test_nobody_said_anything() -> None:
    assert not rules.taken_up(QUESTION, [])
    assert not rules.taken_up(QUESTION, [said(A, "急急急，在线等一个答案")])


@pytest.mark.parametrize(
    "later",
    [
        said(B, "看", reply_to=QUESTION.message_id),
        said(A, "补充一下", reply_to=QUESTION.message_id),
        said(B, "你", addressed=[A]),
    ],
    ids=["reply", "own reply", "at"],
)
def test_somebody_took_it_up(later: GroupMessage) -> None:
    assert rules.taken_up(QUESTION, [later])


def test_who_just_goes_on_talking_answers_nothing() -> None:
    assert not rules.taken_up(
        QUESTION, [said(B, "同问"), said(C, "今天食堂的红烧肉不错"), said(D, "+1", addressed=[B])]
    )


def test_talking_to_the_bot_is_no_answer() -> None:
    later = [said(B, "群知，预算是多少钱呢", asks_bot=True)]
    assert not rules.taken_up(QUESTION, later)
    assert not rules.asked_directly(QUESTION, later)
    assert rules.asked_directly(QUESTION, [said(A, "怎么安装", asks_bot=True)])


later_talk = st.lists(
    st.tuples(st.sampled_from((A, B, C, D)), st.sampled_from((A, B, C, D)), st.booleans()), max_size=6
)


@given(later_talk, st.integers(0, 5))
def test_it_is_taken_up_exactly_by_a_reply_or_an_at_and_stays_so(
    later: list[tuple[int, int, bool]], first: int
) -> None:
    messages = [
        said(user, addressed={other} - {user}, reply_to=QUESTION.message_id if replies else None)
        for user, other, replies in later
    ]
    expected = any(replies or (other == A and user != A) for user, other, replies in later)
    assert rules.taken_up(QUESTION, messages) == expected
    if rules.taken_up(QUESTION, messages[:first]):
        assert rules.taken_up(QUESTION, messages)


@pytest.mark.parametrize("text", ["解决了", "好了", "算了，不弄了", "我找到了", "已经搞定啦", "知道了谢谢"])
def test_the_asker_needs_nothing_more(text: str) -> None:
    assert rules.settled(QUESTION, [said(A, text)])
    assert not rules.settled(QUESTION, [said(B, text)])


@pytest.mark.parametrize("text", ["还是不行", "会不会是版本问题", "好像不对", "没解决"])
def test_the_asker_still_needs_it(text: str) -> None:
    assert not rules.settled(QUESTION, [said(A, text)])


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "？", "哈哈哈", "+1", "[图片]", "@群知", "😭😭😭", "6666", "在吗", "ok"])
def test_too_short_for_a_question(text: str) -> None:
    assert not rules.says_something(text)


@pytest.mark.parametrize("text", ["怎么报销", "报错 E-4032 怎么办", "how to install it", "看MMEngine源码？"])
def test_long_enough_for_a_question(text: str) -> None:
    assert rules.says_something(text)


@pytest.mark.parametrize(
    "text",
    [
        "别说了",
        "闭嘴",
        "安静",
        "安静点！",
        "别吵了",
        "吵死了",
        "太吵了。",
        "嘘",
        "不要再说了",
        "能不能安静一下",
        "Shut up",
        "别插嘴",
    ],
)
def test_requests_to_be_quiet(text: str) -> None:
    assert rules.asks_for_quiet(text)


@pytest.mark.parametrize(
    "text",
    ["", "别的办法呢", "安静模式怎么设置", "不要用这个版本", "好的", "谢谢", "stop 命令是什么", "不用了", "吵架怎么办"],
)
def test_no_requests_to_be_quiet(text: str) -> None:
    assert not rules.asks_for_quiet(text)


@given(st.text(max_size=700))
def test_no_question_is_longer_than_300_characters(text: str) -> None:
    assert rules.says_too_much(text) == (len(text.strip()) > 300)


# -- limits -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 4 * 3600), max_size=80), st.integers(1, 8))
def test_no_hour_holds_more_than_the_limit(seconds: list[float], limit: int) -> None:
    times = [START + timedelta(seconds=value) for value in sorted(seconds)]
    answered: list[float] = []
    for time in times:
        if rules.in_last_hour([START + timedelta(seconds=value) for value in answered], time) < limit:
            answered.append((time - START).total_seconds())
    for first in answered:
        assert sum(first <= value < first + 3600 for value in answered) <= limit
    # Nothing that would have fitted is refused.
    for time in times:
        second = (time - START).total_seconds()
        if second not in answered:
            assert sum(second - 3600 < value <= second for value in answered) >= limit


# -- repetitions ------------------------------------------------------------------------------------------------------


def reference(build_id: str = "build", first: int = 2, last: int = 4) -> Reference:
    return Reference(1, 1, "手册.md", 1, None, "", "……", 0.9, build_id, first, last)


def answered(text: str, after_s: float = 0.0) -> UnaskedAnswer:
    at = START + timedelta(seconds=after_s)
    return UnaskedAnswer(GROUP, 1, "group_777", rules.comparable(text), "build", 2, 4, 0.9, at)


def test_the_same_words_are_the_same_question_wherever_the_answer_stands() -> None:
    earlier = [answered("大佬们，MMDeploy 怎么安装？")]
    assert rules.repeats("mmdeploy怎么安装", None, earlier, START)
    assert rules.repeats("ＭＭＤｅｐｌｏｙ 怎么安裝！！", reference("other"), earlier, START)
    assert not rules.repeats("mmdeploy怎么卸载", None, earlier, START)


def test_nearly_the_same_words_only_count_for_the_same_passage() -> None:
    earlier = [answered("mmdeploy 怎么安装")]
    assert rules.repeats("请问如何安装 mmdeploy 呢", reference(), earlier, START)
    assert rules.repeats("请问如何安装 mmdeploy 呢", reference(first=4, last=6), earlier, START)
    assert not rules.repeats("请问如何安装 mmdeploy 呢", reference(first=5, last=6), earlier, START)
    assert not rules.repeats("请问如何安装 mmdeploy 呢", reference("other"), earlier, START)
    assert not rules.repeats("请问如何安装 mmdeploy 呢", None, earlier, START)


def test_words_of_a_latin_sentence_count_one_by_one() -> None:
    earlier = [answered("How to install CUDA on Windows?")]
    assert rules.repeats("how do i install cuda on windows", reference(), earlier, START)
    assert not rules.repeats("how to train a detector with two gpus", reference(), earlier, START)
    assert not rules.repeats("cuda 11.2 安装", None, [answered("cuda 1.12 安装")], START)


def test_another_question_about_the_same_passage_is_another() -> None:
    assert not rules.repeats("上海住宿标准是多少", reference(), [answered("北京住宿标准是多少")], START)


def test_the_same_in_other_words_about_the_same_passage() -> None:
    earlier = [answered("请问宿舍几点熄灯呀")]
    for text in ("有人知道几点熄灯吗", "宿舍啥时候熄灯啊"):
        assert rules.repeats(text, reference(), earlier, START)
        assert not rules.repeats(text, None, earlier, START)


PASSAGE = "问：门禁卡丢了怎么办？\n答：带学生证到1号楼一层宿管值班室补办，工本费15元，当天可取。"


def test_whoever_says_what_the_passage_says_has_answered() -> None:
    question = said(A, "门禁卡丢了怎么办")
    for text in ("去1号楼一层补办，15块", "宿管值班室可以补办"):
        assert rules.answered(question, [said(B, text)], PASSAGE)
        assert not rules.answered(question, [said(A, text)], PASSAGE)
        assert not rules.answered(question, [said(B, text, asks_bot=True)], PASSAGE)
    for text in ("今天食堂的红烧肉不错", "补", "我也不知道", "等我下课看看再说吧，现在有点忙"):
        assert not rules.answered(question, [said(B, text)], PASSAGE)


def test_after_a_day_it_may_be_answered_again() -> None:
    earlier = [answered("mmdeploy 怎么安装")]
    day = timedelta(days=1)
    assert rules.repeats("mmdeploy 怎么安装", reference(), earlier, START + day - timedelta(seconds=1))
    assert not rules.repeats("mmdeploy 怎么安装", reference(), earlier, START + day)


@given(st.text(max_size=60), st.text(max_size=60))
def test_overlap_is_a_symmetric_share(one: str, other: str) -> None:
    left, right = rules.comparable(one), rules.comparable(other)
    assert 0 <= rules.overlap(left, right) <= 1
    assert rules.overlap(left, right) == rules.overlap(right, left)
    assert rules.overlap(left, left) == 1


@given(st.text(max_size=800))
def test_what_is_kept_of_a_question_is_bounded_and_repeats_itself(text: str) -> None:
    kept = rules.comparable(text)
    assert len(kept) <= 500
    assert rules.repeats(text, None, [answered(text)], START)


@given(st.text(max_size=400))
def test_any_text_can_be_judged(text: str) -> None:
    assert not (rules.asks_for_quiet(text) and len(text.strip()) > 60)
    rules.settled(QUESTION, [said(A, text)])
