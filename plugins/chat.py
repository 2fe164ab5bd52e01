"""Questions: by @, reply to the bot, nickname, private message or /ask."""

from dataclasses import replace
from typing import Any

from nonebot import on_message
from nonebot.adapters.onebot.v11 import Message, MessageEvent
from nonebot.plugin import PluginMetadata
from nonebot.rule import to_me

from qq.budget import Questions, within_command_budget
from qq.commands.matcher import ArgumentMessage, call_of, help_for, register
from qq.commands.models import Command
from qq.depends import Answering, SentMessages, is_open, recalls, services, settings
from qq.messages import answer_reply
from qq.pictures import fetch_picture, pictures_in
from qq.speaker import Speaker, Speaking, asked_knowledge, reading_count, uploader_names
from qq.working import show_reaction, working
from services.budgets.charge import Charge, charged
from services.grounding.models import Answer, AnswerKind
from services.pictures.models import Unread, notice_of, sentence_of
from services.pictures.service import MOST_PICTURES, PicturesText
from services.retrieval.models import Question
from services.roles import Role
from services.session import KnowledgeCollection
from services.workflows.qa.models import MAX_QUESTION_CHARS
from services.workflows.qa.service import QuestionPlace

__plugin_meta__ = PluginMetadata(
    "问答", "根据群文件回答问题", "@我、回复我、叫我的名字，或 /ask 问题", type="application"
)

_MAX_QUOTED_CHARS = 500


async def _chooses(event: MessageEvent, speaker: Speaking) -> bool:
    return is_open() and services().answering.awaits_choice(speaker.session_id, event.get_plaintext().strip())


choice = on_message(rule=_chooses, priority=89, block=True)
talk = on_message(rule=to_me(), priority=90, block=True)


async def _ask(
    event: MessageEvent,
    speaker: Speaking,
    answering: Answering,
    questions: Questions,
    sent_answers: SentMessages,
    message: ArgumentMessage,
) -> None:
    await _answer(event, message, speaker, answering, questions, sent_answers)


@choice.handle()
async def _(
    event: MessageEvent, speaker: Speaking, answering: Answering, questions: Questions, sent_answers: SentMessages
) -> None:
    await _answer(event, event.message, speaker, answering, questions, sent_answers)


@talk.handle()
async def _(
    event: MessageEvent, speaker: Speaking, answering: Answering, questions: Questions, sent_answers: SentMessages
) -> None:
    call = call_of(event)
    if call is None or not call.is_like_a_command:
        await _answer(event, event.message, speaker, answering, questions, sent_answers)
    elif await within_command_budget(speaker):
        await speaker.reply((await help_for(speaker)).unknown_command(call.start + call.word))


async def _answer(
    event: MessageEvent,
    message: Message,
    speaker: Speaker,
    answering: Answering,
    questions: Questions,
    sent_answers: SentMessages,
) -> None:
    question = _question(event, message)
    pictures = pictures_in(message, *((event.reply.message,) if event.reply else ()))
    if unanswerable := _unanswerable(question, has_pictures=bool(pictures)):
        if await within_command_budget(speaker):
            await speaker.reply(unanswerable)
        return
    # The same picture has the same name.
    with questions.asking(speaker.session, question.shown or str(pictures[0].get("file"))) as admission:
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

        async def answered() -> Answer | Unread:
            nonlocal question
            async with questions.place(speaker.session):
                read = await _read(pictures, speaker, asked.collection)
                question = replace(question, pictured=read.text)
                if not question.shown and read.unread:
                    return read.unread
                answer = await answering.ask(
                    speaker.session_id,
                    speaker.session.user_id,
                    asked.collection,
                    question,
                    uploader_names(speaker, asked),
                    role,
                    place=_place(speaker),
                )
            return replace(answer, notice=answer.notice + _picture_notice(len(pictures), read))

        async with working(show):
            answer = await recalls.unless_recalled(speaker.chat, speaker.message_id, answered())
        if answer is None:
            await answering.withdraw(speaker.session_id, speaker.session.user_id, question)
            return
        if isinstance(answer, Unread):
            await speaker.reply(sentence_of(answer))
            return
        posted = await speaker.reply(answer_reply(answer, reading_count(speaker, asked.collection)))
    # The member may already ask the next question.
    await sent_answers.note(speaker.chat.self_id, speaker.session.chat, posted.message_ids, answer.turn_id)
    if answer.kind is AnswerKind.NOTHING_FOUND:
        services().suggestions.note_question(speaker.session, speaker.chat.self_id, speaker.message_id, answer.turn_id)
    answering.schedule_summary(speaker.session_id)


def _place(speaker: Speaker) -> QuestionPlace | None:
    """Return where an answer goes that comes later; there are admins to wait for in a group only."""
    session = speaker.session
    if session.group_id is None:
        return None
    return QuestionPlace(speaker.chat.self_id, session.group_id, session.user_id, speaker.message_id)


async def _read(pictures: list[dict[str, Any]], speaker: Speaker, collection: KnowledgeCollection) -> PicturesText:
    """Return the text of the first pictures, or why one has none. The chat pays for a model that reads them."""
    opened = services().pictures
    if not pictures or not opened.can_read:
        return PicturesText(unread=Unread.NO_READER if pictures else None)
    dirs = settings().knowledge.client_file_dirs
    fetched = [await fetch_picture(speaker.bot, picture, dirs) for picture in pictures[:MOST_PICTURES]]
    with charged(Charge(speaker.session.chat)):
        read = await opened.read(collection.name, [each for each in fetched if isinstance(each, bytes)])
    lost = next((each for each in fetched if isinstance(each, Unread)), None)
    return replace(read, unread=lost or read.unread)


def _picture_notice(count: int, read: PicturesText) -> str:
    if read.unread:
        return notice_of(read.unread)
    return f"（只看了前 {MOST_PICTURES} 张图片。）" if count > MOST_PICTURES else ""


def _unanswerable(question: Question, *, has_pictures: bool) -> str:
    """Return why this question cannot be answered, or an empty string if it can."""
    if not question.shown:
        if not has_pictures:
            return "想问什么？直接写上问题就行。"
        return "" if services().pictures.can_read else sentence_of(Unread.NO_READER)
    if len(question.shown) > MAX_QUESTION_CHARS:
        return f"问题太长，超过 {MAX_QUESTION_CHARS} 字了，请精简一下，或把长文字存成文件发给我。"
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
