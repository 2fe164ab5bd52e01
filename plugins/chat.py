"""Questions: by @, reply to the bot, nickname, private message or /ask."""

from nonebot import on_message
from nonebot.adapters.onebot.v11 import Message, MessageEvent
from nonebot.plugin import PluginMetadata
from nonebot.rule import to_me

from qq.budget import Questions, within_command_budget
from qq.commands.matcher import ArgumentMessage, call_of, help_for, register
from qq.commands.models import Command
from qq.depends import Answering, recalls, settings
from qq.messages import answer_reply
from qq.speaker import Speaker, Speaking, asked_knowledge, reading_count, uploader_names
from qq.working import show_reaction, working
from services.grounding.models import Answer
from services.retrieval.models import Question
from services.roles import Role

__plugin_meta__ = PluginMetadata(
    "问答", "根据群文件回答问题", "@我、回复我、叫我的名字，或 /ask 问题", type="application"
)

_MAX_QUESTION_CHARS = 4000
_MAX_QUOTED_CHARS = 500

talk = on_message(rule=to_me(), priority=90, block=True)


async def _ask(
    event: MessageEvent, speaker: Speaking, answering: Answering, questions: Questions, message: ArgumentMessage
) -> None:
    await _answer(event, message, speaker, answering, questions)


@talk.handle()
async def _(event: MessageEvent, speaker: Speaking, answering: Answering, questions: Questions) -> None:
    call = call_of(event)
    if call is None or not call.is_like_a_command:
        await _answer(event, event.message, speaker, answering, questions)
    elif await within_command_budget(speaker):
        await speaker.reply((await help_for(speaker)).unknown_command(call.start + call.word))


async def _answer(
    event: MessageEvent, message: Message, speaker: Speaker, answering: Answering, questions: Questions
) -> None:
    question = _question(event, message)
    if unanswerable := _unanswerable(question, message):
        if await within_command_budget(speaker):
            await speaker.reply(unanswerable)
        return
    with questions.asking(speaker.session, question.shown) as admission:
        if admission.refusal is not None:
            if admission.sentence:
                await speaker.reply(admission.sentence)
            return
        asked = await asked_knowledge(speaker)
        if asked.refusal:
            await speaker.reply(asked.refusal)
            return

        async def show() -> None:
            session = speaker.session
            await show_reaction(speaker.bot, speaker.place, session.user_id, session.group_id, speaker.message_id)

        # Only tools depend on the role, and some clients must be asked for it.
        role = await speaker.role() if settings().agent.enabled else Role.MEMBER

        async def answered() -> Answer:
            async with questions.place(speaker.session):
                return await answering.ask(
                    speaker.session_id,
                    speaker.session.user_id,
                    asked.collection,
                    question,
                    uploader_names(speaker, asked),
                    role,
                )

        async with working(show):
            answer = await recalls.unless_recalled(speaker.chat, speaker.message_id, answered())
        if answer is None:
            await answering.withdraw(speaker.session_id, speaker.session.user_id, question)
            return
        await speaker.reply(answer_reply(answer, reading_count(speaker, asked.collection)))
    answering.schedule_summary(speaker.session_id)


def _unanswerable(question: Question, message: Message) -> str:
    """Return why this question cannot be answered, or an empty string if it can."""
    if not question.shown:
        has_picture = any(segment.type == "image" for segment in message)
        return "我还看不懂图片，请把问题打成文字发给我。" if has_picture else "想问什么？直接写上问题就行。"
    if len(question.shown) > _MAX_QUESTION_CHARS:
        return f"问题太长，超过 {_MAX_QUESTION_CHARS} 字了，请精简一下，或把长文字存成文件发给我。"
    return ""


def _question(event: MessageEvent, message: Message) -> Question:
    """Return what was asked, together with the message that it refers to."""
    quoted = _quoted(event.reply.message) if event.reply else ""
    return Question(message.extract_plain_text().strip(), quoted[:_MAX_QUOTED_CHARS])


def _quoted(message: Message) -> str:
    """Return the text of a quoted message, or the names of the files that it is."""
    names = [str(segment.data.get("name") or segment.data.get("file") or "") for segment in message["file"]]
    return message.extract_plain_text().strip() or "\n".join(filter(None, names))


register(
    Command(
        "ask",
        ("问",),
        "提问，也可以 @我、回复我",
        _ask,
        arguments="问题",
        example="宿舍几点熄灯",
        # Questions have limits of their own.
        counted=False,
    )
)
