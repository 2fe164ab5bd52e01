"""Unasked answers in groups that want them, which stop as soon as somebody objects."""

from nonebot import get_bots, logger, on_message, on_notice
from nonebot.adapters.onebot.v11 import Bot, Event, GroupMessageEvent, GroupRecallNoticeEvent, Message, NoticeEvent
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.compat import type_validate_python
from nonebot.plugin import PluginMetadata

from qq.chat import Chat
from qq.depends import Answering, Proactive, is_open, outbox, services, settings
from qq.messages import answer_reply
from qq.outbox.delivery import Delivery
from qq.outbox.send_queue import Priority
from qq.reactions import reaction_of
from qq.unasked import MARK, group_message, is_unasked, replied_to
from services.budgets.charge import Charge, charged
from services.grounding.models import AnswerKind
from services.proactive.models import GroupMessage, OpinionSource, UnaskedOutcome
from services.proactive.rules import asks_for_quiet
from services.proactive.service import OBJECTION_QUIET, ProactiveService
from services.records.tables import ModelFeature, now
from services.session import Session
from services.workflows.qa.service import QuestionAnswering

__plugin_meta__ = PluginMetadata(
    "主动回答",
    "没叫我时，也回答资料里有把握的问题",
    "/bot auto on 打开，/bot quiet 先安静一会儿",
    type="application",
)

_HUSHED = "好，一小时内不主动回答了，恢复发 /bot quiet 0。"
_SENT_KINDS = frozenset({AnswerKind.WRITTEN, AnswerKind.EXCERPT})


async def _listening(event: Event) -> bool:
    return isinstance(event, GroupMessageEvent) and is_open() and services().proactive.is_on(event.group_id)


async def _told_to_be_quiet(event: Event) -> bool:
    return await _listening(event) and event.is_tome() and asks_for_quiet(event.get_plaintext())


async def _is_opinion(event: NoticeEvent) -> bool:
    reaction = reaction_of(event)
    return (
        reaction is not None
        and (reaction.is_unwelcome or reaction.is_welcome)
        and is_open()
        and services().proactive.is_on(reaction.group_id)
    )


# `listen` comes first, so that messages to the bot are also noted. `speak_up` comes last, so that nobody waits for it.
listen = on_message(rule=_listening, priority=1, block=False)
hush = on_message(rule=_told_to_be_quiet, priority=80, block=True)
speak_up = on_message(rule=_listening, priority=99, block=False)
opinion = on_notice(rule=_is_opinion, priority=90, block=False)
recall = on_notice(priority=90, block=False)


@listen.handle()
async def _(event: GroupMessageEvent, proactive: Proactive) -> None:
    proactive.hear(_message(event))


@recall.handle()
async def _(event: GroupRecallNoticeEvent, proactive: Proactive) -> None:
    proactive.recall(event.group_id, event.message_id)


@speak_up.handle()
async def _(bot: Bot, event: GroupMessageEvent, proactive: Proactive, answering: Answering) -> None:
    try:
        await _consider(bot, _message(event), proactive, answering)
    except Exception:  # noqa: BLE001 - nobody asked, so nobody is told about a failure
        logger.opt(exception=True).error(f"could not answer message {event.message_id} unasked")


async def _consider(bot: Bot, message: GroupMessage, proactive: ProactiveService, answering: QuestionAnswering) -> None:
    questions = services().questions
    if not questions.has_room_for_unasked(message.group_id):
        return
    approval = await proactive.consider(message)
    if approval is None:
        return
    # Other messages may have used up the limit of the day while this one waited.
    if not questions.count_unasked(message.group_id):
        await proactive.settle(approval, UnaskedOutcome.FAILED)
        return
    try:
        chat = Session(message.group_id, message.user_id).chat
        with charged(Charge(chat, feature=ModelFeature.UNASKED)):
            answer = await answering.answer_unasked(approval.collection, approval.question, approval.retrieval)
    except Exception:
        await proactive.settle(approval, UnaskedOutcome.FAILED)
        raise
    if answer is None or answer.kind not in _SENT_KINDS:
        await proactive.settle(approval, UnaskedOutcome.NOTHING_TO_SAY)
        return
    if await proactive.still_wanted(approval):
        reply = answer_reply(answer, ending=MARK)
        delivery = await outbox.send(_chat(bot, message.group_id), reply, message.message_id, Priority.NOTICE)
        await proactive.settle(approval, UnaskedOutcome.SENT if delivery is Delivery.SENT else UnaskedOutcome.FAILED)


# -- objections -------------------------------------------------------------------------------------------------------


@hush.handle()
async def _(bot: Bot, event: GroupMessageEvent, proactive: Proactive) -> None:
    became_quiet: bool | None = None
    if event.reply is not None and str(event.reply.sender.user_id) == bot.self_id:
        became_quiet = await _object(proactive, event.group_id, event.reply.message, OpinionSource.REPLY)
    if became_quiet is None and proactive.status(event.group_id).quiet_until is None:
        await proactive.quiet(event.group_id, OBJECTION_QUIET)
        became_quiet = True
    if became_quiet:
        await outbox.send(_chat(bot, event.group_id), _HUSHED, event.message_id)


@opinion.handle()
async def _(bot: Bot, event: NoticeEvent, proactive: Proactive) -> None:
    reaction = reaction_of(event)
    if reaction is None:
        return
    try:
        found = await bot.get_msg(message_id=reaction.message_id)
    except (ActionFailed, ApiNotAvailable, NetworkError) as error:
        logger.warning(f"cannot look up message {reaction.message_id}, to which somebody reacted: {error!r}")
        return
    if str((found.get("sender") or {}).get("user_id")) != bot.self_id:
        return
    message = type_validate_python(Message, found.get("message") or [])
    if reaction.is_welcome:
        if replied_to(message) is not None or is_unasked(message):
            await proactive.welcome(reaction.group_id, replied_to(message))
    elif await _object(proactive, reaction.group_id, message, OpinionSource.REACTION):
        await outbox.send(_chat(bot, reaction.group_id), _HUSHED, priority=Priority.NOTICE)


async def _object(proactive: ProactiveService, group_id: int, message: Message, source: OpinionSource) -> bool | None:
    """Count an objection to `message` of the bot if nobody asked for it.

    Return whether the group became quiet because of it, or None if somebody asked for `message`.
    """
    question_id = replied_to(message)
    if question_id is None and not is_unasked(message):
        return None
    return await proactive.object(group_id, question_id, source)


def _message(event: GroupMessageEvent) -> GroupMessage:
    return group_message(event, get_bots().keys(), settings().command_start, now())


def _chat(bot: Bot, group_id: int) -> Chat:
    return Chat(bot.self_id, group_id)
