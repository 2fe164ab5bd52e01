"""Ratings of answers: the command /feedback, and 👍 or 👎 under an answer."""

from nonebot import logger, on_notice
from nonebot.adapters.onebot.v11 import Bot, MessageEvent, NoticeEvent
from nonebot.plugin import PluginMetadata

from qq.commands.matcher import Argument, register
from qq.commands.models import Command
from qq.depends import Feedback, SentMessages, is_open
from qq.reactions import Reaction, reaction_of, removed_reaction_of
from qq.speaker import Speaker, Speaking
from qq.unasked import replied_to
from services.errors import RecordsError
from services.feedback.words import read_rating
from services.memory.dialogues import SentAnswers
from services.records.feedback import Rating
from services.records.tables import FeedbackSource, Resolution
from services.session import Session

__plugin_meta__ = PluginMetadata(
    "评价", "给回答打分，管理员看得到", "回复我的回答发 /feedback 5 已解决，或在回答下点 👍、👎", type="application"
)

_USAGE = "没看懂，可以写 /feedback 5 已解决，或 /feedback 2 没解决 缺了步骤；收回写 /feedback 撤回。"
_NOT_AN_ANSWER = "这条不是我给出的回答，回复我的回答再发一次。"
_NO_ANSWER = "还没有可以评价的回答。先问我一个问题，或回复我的回答再发。"
_WITHDRAWALS = frozenset({"撤回", "收回", "withdraw", "cancel"})
_WORDS = {
    Resolution.RESOLVED: "已解决",
    Resolution.PARTIALLY_RESOLVED: "部分解决",
    Resolution.UNRESOLVED: "没解决",
}
_GOOD = Rating(5, Resolution.RESOLVED, source=FeedbackSource.REACTION)
_BAD = Rating(1, Resolution.UNRESOLVED, source=FeedbackSource.REACTION)


async def _feedback(
    event: MessageEvent, speaker: Speaking, feedback: Feedback, sent_answers: SentMessages, argument: Argument
) -> str:
    withdraws = argument.strip().lower() in _WITHDRAWALS
    rating = None if withdraws else read_rating(argument)
    if not withdraws and rating is None:
        return _USAGE
    turn_id, refusal = await _rated_turn(event, speaker, sent_answers)
    if turn_id is None:
        return refusal
    if rating is None:
        return "好，评价收回了。" if await feedback.withdraw(turn_id, speaker.session.user_id) else "你没有评价过它。"
    previous = await feedback.rate(turn_id, speaker.session.user_id, rating)
    return f"{'评价改成' if previous else '记下了'}：{rating.score} 分，{_WORDS[rating.resolution]}。谢谢！"


async def _rated_turn(event: MessageEvent, speaker: Speaker, sent_answers: SentAnswers) -> tuple[int | None, str]:
    """Return the turn of the answer that is quoted, or of the person's own last answer, or else why there is none."""
    quoted = replied_to(event.original_message)
    if quoted is not None:
        answer = await sent_answers.find(speaker.chat.self_id, speaker.session.chat, quoted)
        return (answer.turn_id, "") if answer else (None, _NOT_AN_ANSWER)
    answer = await sent_answers.last_to(speaker.session_id, speaker.session.user_id)
    return (answer.turn_id, "") if answer else (None, _NO_ANSWER)


async def _is_verdict(event: NoticeEvent) -> bool:
    reaction = reaction_of(event) or removed_reaction_of(event)
    return reaction is not None and reaction.verdict is not None and reaction.user_id > 0 and is_open()


verdict = on_notice(rule=_is_verdict, priority=90, block=False)


@verdict.handle()
async def _(bot: Bot, event: NoticeEvent, feedback: Feedback, sent_answers: SentMessages) -> None:
    try:
        if reaction := reaction_of(event):
            turn_id = await _turn_of(bot, reaction, sent_answers)
            if turn_id is not None:
                await feedback.rate(turn_id, reaction.user_id, _GOOD if reaction.verdict else _BAD)
        elif reaction := removed_reaction_of(event):
            turn_id = await _turn_of(bot, reaction, sent_answers)
            if turn_id is not None:
                await feedback.withdraw(turn_id, reaction.user_id, FeedbackSource.REACTION)
    except RecordsError as error:
        # An emoji is no question: nobody waits for an answer to it.
        logger.warning(f"a reaction could not be kept: {error}")


async def _turn_of(bot: Bot, reaction: Reaction, sent_answers: SentAnswers) -> int | None:
    chat = Session(reaction.group_id, reaction.user_id).chat
    answer = await sent_answers.find(bot.self_id, chat, reaction.message_id)
    return answer.turn_id if answer else None


register(
    Command(
        "feedback",
        ("评价", "打分"),
        "给回答打 1 到 5 分，回复那条回答发",
        _feedback,
        arguments="分数 [已解决、部分解决或没解决] [评论]",
        example="5 已解决",
    )
)
