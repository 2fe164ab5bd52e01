"""Human review: members ask for it, admins decide by command, by replying to a notice, or by reaction."""

import asyncio
import re

from nonebot import get_driver, logger, on_message, on_notice
from nonebot.adapters.onebot.v11 import Bot, GroupMessageEvent, Message, MessageEvent, NoticeEvent
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.compat import type_validate_python
from nonebot.plugin import PluginMetadata
from nonebot.typing import T_State

from qq.commands.calls import split_word
from qq.commands.matcher import Argument, ArgumentMessage, register
from qq.commands.models import Command
from qq.depends import is_open, services
from qq.reactions import reaction_of
from qq.reports.reviews import list_text, outcome_text, review_text
from qq.reviews import review_messenger
from qq.speaker import Speaker, Speaking, member_lookup
from qq.unasked import replied_to
from services.records.reviews import Review, ReviewReason
from services.reviews.models import Approved, Decision, DecisionStatus, Edited, Rejected, Reviewer
from services.reviews.sent import MOST_OF_GROUP, MOST_OF_MEMBER, Refusal
from services.reviews.verdicts import read_verdict
from services.roles import Place, Rights, Role, refusal
from services.session import Session
from services.text.cleaning import clean

__plugin_meta__ = PluginMetadata(
    "审核", "拿不准的回答请管理员看", "/review list、/review approve……", type="application"
)

_ADMINS = Rights(group=Role.ADMIN, private=None)
_NAME_CHARS = 20
_CORRECTION = re.compile(r"\s*正确(?:的)?(?:答案|回答)(?:应该|应当)?[是为]?\s*[:：,，]?\s*(.+)", re.DOTALL)
_MOST_CHARS = 4000
_REFUSALS = {
    Refusal.NO_TURN: "找不到这条对应的问题，请回复我的回答再发 /review。",
    Refusal.REVIEWED: "这个回答管理员已经看过了。",
    Refusal.SUGGESTED: "群友的回答，管理员正在看。",
    Refusal.MEMBER_FULL: f"你请管理员看的还有 {MOST_OF_MEMBER} 个没看完，等看完再发。",
    Refusal.GROUP_FULL: f"要管理员看的已经有 {MOST_OF_GROUP} 个了，等看完再发。",
}
_UNCLEAR = "没看懂。回复「通过」「拒绝 原因」，或者直接写上正确的回答；有几个时先写编号，例如：12 通过"


# -- commands ---------------------------------------------------------------------------------------------------------


async def _ask(bot: Bot, event: MessageEvent, speaker: Speaking, argument: Argument) -> str:
    self_id, session = speaker.chat.self_id, speaker.session
    quoted = replied_to(event.original_message)
    sent = (
        await services().sent_answers.last_to(speaker.session_id, session.user_id)
        if quoted is None
        else await services().sent_answers.find(self_id, session.chat, quoted)
    )
    if sent is None:
        return _REFUSALS[Refusal.NO_TURN]
    asked = await services().sent_reviews.ask(
        sent.turn_id,
        session,
        ReviewReason.REQUESTED,
        self_id=self_id,
        answer_id=sent.message_id,
        question_id=await _question_of(bot, event, sent.message_id),
        note=clean(argument)[:_MOST_CHARS],
    )
    return _REFUSALS[asked] if isinstance(asked, Refusal) else f"已请管理员看（编号 {asked.number}），有结果会回。"


async def _list(speaker: Speaking, argument: Argument) -> str:
    page = _number(argument) if argument else 1
    if not page:
        return "没看懂页码，例如：/review list 2"
    reviews, total = await services().reviews.listed(speaker.session.chat, page)
    return list_text(reviews, total, page)


async def _show(speaker: Speaking, argument: Argument) -> str:
    number = _number(argument)
    review = await services().reviews.find(speaker.session.chat, number) if number else None
    return _no_review(argument) if review is None else review_text(review)


async def _approve(event: MessageEvent, speaker: Speaking, argument: Argument) -> str:
    return await _decide(event, speaker, argument, Approved())


async def _edit(event: MessageEvent, speaker: Speaking, argument: Argument) -> str:
    word, text = split_word(argument)
    if not text:
        return "请写上编号和回答，例如：/review edit 12 七天内可以退。"
    return await _decide(event, speaker, word, Edited(clean(text)))


async def _reject(event: MessageEvent, speaker: Speaking, argument: Argument) -> str:
    word, reason = split_word(argument)
    return await _decide(event, speaker, word, Rejected(clean(reason)))


async def _assign(bot: Bot, speaker: Speaking, argument: Argument, message: ArgumentMessage) -> str:
    word, rest = split_word(argument)
    mentions = [str(segment.data.get("qq")) for segment in message if segment.type == "at"]
    person = (mentions or [rest])[0]
    number = _number(word)
    if not number or not person.isdecimal() or len(person) > 15:
        return "请写上编号和 @ 一个人，例如：/review assign 12 @小李"
    assignee = Session(speaker.session.group_id, int(person))
    if await services().access.role(assignee, member_lookup(bot)) < Role.ADMIN:
        return "只能交给这个群的管理员。"
    review = await services().reviews.assign(speaker.session.chat, number, assignee.user_id)
    return _no_review(word) if review is None else f"编号 {number} 交给 {person} 了。"


async def _decide(event: MessageEvent, speaker: Speaker, word: str, decision: Decision) -> str:
    number = _number(word)
    if not number:
        return _no_review(word)
    outcome = await services().reviews.decide(speaker.session.chat, number, decision, _reviewer(event))
    return outcome_text(outcome, number, decision)


def _number(text: str) -> int:
    """Return a positive number, or 0 for anything else."""
    return int(text) if text.isdecimal() and len(text) <= 6 else 0


def _no_review(word: str) -> str:
    return (
        f"没有编号 {word[:10]} 的审核，发 /review list 看有哪些。" if word else "请写上编号，发 /review list 看有哪些。"
    )


def _reviewer(event: MessageEvent) -> Reviewer:
    name = " ".join(clean(event.sender.card or event.sender.nickname or "").split())
    return Reviewer(event.user_id, name[:_NAME_CHARS])


async def _question_of(bot: Bot, event: MessageEvent, answer_id: int) -> int | None:
    """Return the question that a sent answer quotes, or None if the client does not know it any more."""
    if event.reply is not None:
        return replied_to(event.reply.message)
    try:
        found = await bot.get_msg(message_id=answer_id)
        return replied_to(type_validate_python(Message, found.get("message") or []))
    except (ActionFailed, NetworkError, ApiNotAvailable, ValueError) as error:
        logger.info(f"the question of answer {answer_id} is unknown: {error!r}")
        return None


# -- replies to notices, and corrections ------------------------------------------------------------------------------


async def _is_verdict(bot: Bot, event: MessageEvent, state: T_State, speaker: Speaking) -> bool:
    quoted = replied_to(event.original_message)
    if quoted is None or not is_open():
        return False
    group_id = event.group_id if isinstance(event, GroupMessageEvent) else None
    reviews = await services().reviews.told_by(bot.self_id, quoted, group_id, event.user_id)
    if not reviews:
        return False
    decided = read_verdict(event.get_plaintext(), {review.number for review in reviews})
    in_group = speaker.place is Place.GROUP
    is_admin = await (_manages(speaker) if in_group else _decides(bot, reviews[0], event.user_id))
    if not is_admin:
        # Members talk about notices, too. Without a number among several, 通过 is meant as a decision all the same.
        decided = decided or read_verdict(event.get_plaintext(), {reviews[0].number})
        if decided is None or isinstance(decided.decision, Edited):
            return False
    state.update(reviews=reviews, verdict=decided, is_admin=is_admin)
    return True


async def _is_correction(bot: Bot, event: GroupMessageEvent, state: T_State) -> bool:
    quoted = replied_to(event.original_message)
    found = _CORRECTION.fullmatch(event.get_plaintext())
    text = clean(found[1]).strip()[:_MOST_CHARS] if found else ""
    if quoted is None or not text or not is_open():
        return False
    state["text"] = text
    state["sent"] = await services().sent_answers.find(bot.self_id, Session(event.group_id, 0).chat, quoted)
    return state["sent"] is not None


async def _manages(speaker: Speaker) -> bool:
    return await speaker.role() >= Role.ADMIN


async def _decides(bot: Bot, review: Review, user_id: int) -> bool:
    session = Session(review.request.group_id, user_id)
    return await services().access.role(session, member_lookup(bot)) >= Role.ADMIN


async def _overhears(event: GroupMessageEvent) -> bool:
    quoted = replied_to(event.original_message)
    return quoted is not None and is_open() and services().suggestions.concerns(event.group_id, quoted)


verdict = on_message(rule=_is_verdict, priority=15, block=True)
correction = on_message(rule=_is_correction, priority=16, block=True)
thumb = on_notice(priority=80, block=False)
overhear = on_message(rule=_overhears, priority=2, block=False)


@verdict.handle()
async def _(event: MessageEvent, state: T_State, speaker: Speaking) -> None:
    reviews, decided = state["reviews"], state["verdict"]
    if not state["is_admin"]:
        await speaker.reply(refusal(Place.GROUP, Role.ADMIN))
    elif decided is None:
        await speaker.reply(_UNCLEAR)
    else:
        chat = reviews[0].request.chat
        decision = Edited(clean(decided.decision.text)) if isinstance(decided.decision, Edited) else decided.decision
        outcome = await services().reviews.decide(chat, decided.number, decision, _reviewer(event))
        await speaker.reply(outcome_text(outcome, decided.number, decision))


@correction.handle()
async def _(bot: Bot, event: GroupMessageEvent, state: T_State, speaker: Speaking) -> None:
    sent, text, self_id = state["sent"], state["text"], speaker.chat.self_id
    question_id = await _question_of(bot, event, sent.message_id)
    if await speaker.role() >= Role.ADMIN:
        await services().sent_reviews.correct(
            sent.turn_id,
            text,
            _reviewer(event),
            event.group_id,
            self_id=self_id,
            answer_id=sent.message_id,
            question_id=question_id,
        )
        return
    asked = await services().sent_reviews.ask(
        sent.turn_id,
        speaker.session,
        ReviewReason.CORRECTION,
        self_id=self_id,
        answer_id=sent.message_id,
        question_id=question_id,
        proposal=text,
    )
    told = _REFUSALS[asked] if isinstance(asked, Refusal) else f"收到，已请管理员看（编号 {asked.number}）。"
    await speaker.reply(told)


@thumb.handle()
async def _(bot: Bot, event: NoticeEvent) -> None:
    reaction = reaction_of(event)
    if reaction is None or reaction.verdict is None or not is_open():
        return
    if reaction.verdict:
        await services().suggestions.support(reaction.group_id, reaction.message_id, reaction.user_id)
    reviews = await services().reviews.told_by(bot.self_id, reaction.message_id, reaction.group_id, reaction.user_id)
    # A thumb cannot say which of several it means.
    if len(reviews) != 1 or not await _decides(bot, reviews[0], reaction.user_id):
        return
    decision = Approved() if reaction.verdict else Rejected()
    request, number = reviews[0].request, reviews[0].number
    outcome = await services().reviews.decide(request.chat, number, decision, Reviewer(reaction.user_id))
    if outcome.status is DecisionStatus.DECIDED:
        logger.info(f"review {number} of {request.chat} was decided by a reaction")


@overhear.handle()
async def _(event: GroupMessageEvent) -> None:
    quoted = replied_to(event.original_message)
    if quoted is not None:
        text = event.get_plaintext()
        await services().suggestions.hear(event.group_id, event.user_id, event.message_id, quoted, text)


# -- the connection ---------------------------------------------------------------------------------------------------

_tasks: set[asyncio.Task[None]] = set()


@get_driver().on_startup
async def _attach() -> None:
    services().reviews.attach(review_messenger)


@get_driver().on_bot_connect
async def _connected(bot: Bot) -> None:
    """Deliver what was decided while this account was away."""
    task = asyncio.create_task(services().reviews.resume(bot.self_id), name="resumed-reviews")
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


@get_driver().on_shutdown
async def _stop() -> None:
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)


register(
    Command(
        "review",
        ("审核",),
        "请管理员看回答",
        subcommands=(
            Command(
                "ask",
                ("请看",),
                "请管理员看一个回答，回复那条回答再发",
                _ask,
                arguments="[说明]",
                example="和文件里写的不一样",
                rights=Rights(private=None),
            ),
            Command("list", ("列表",), "要审核的回答", _list, arguments="[页]", example="2", rights=_ADMINS),
            Command("show", ("查看",), "一个审核的全文", _show, arguments="编号", example="12", rights=_ADMINS),
            Command("approve", ("通过",), "照草稿回", _approve, arguments="编号", example="12", rights=_ADMINS),
            Command(
                "edit", ("改",), "按你写的回", _edit, arguments="编号 正文", example="12 七天内可以退。", rights=_ADMINS
            ),
            Command(
                "reject", ("拒绝",), "不回草稿", _reject, arguments="编号 原因", example="12 没有依据", rights=_ADMINS
            ),
            Command(
                "assign",
                ("交给",),
                "交给另一个管理员",
                _assign,
                arguments="编号 @人",
                example="12 @小李",
                rights=_ADMINS,
            ),
        ),
    )
)
