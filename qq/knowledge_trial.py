"""The command /kb test, which explains one question or tries all questions of a CSV file."""

import asyncio
from functools import partial
from pathlib import PurePath

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, MessageEvent

from qq.depends import outbox, services, settings
from qq.expected_files import WAIT_S, expected_files
from qq.files import UploadedFile, fetch
from qq.messages import shortened
from qq.outbox.outbox import Delivery
from qq.outbox.send_queue import Priority
from qq.reports.evaluation import result_csv, summary_text
from qq.reports.retrieval import file_name, retrieval_text
from qq.speaker import AskedKnowledge, Speaker, asked_knowledge, member_role
from qq.working import working
from services.budgets.charge import Charge, charged
from services.errors import DocumentRejected, DownloadFailed, ServiceError
from services.evaluation.models import Sample
from services.evaluation.samples import MAX_BYTES, read_samples
from services.evaluation.service import evaluate, try_question
from services.knowledge.download import too_large
from services.knowledge.service import KnowledgeService
from services.roles import Place, Role, refusal
from services.session import Session

_MAX_QUOTED_CHARS = 500
_BUSY = "这里正在测一个文件，测完再发 /kb test。"
_SEND_IT = (
    f"把要测的 CSV 发到这里，{WAIT_S // 60} 分钟内有效，不会入库。第一列写问题，一行一个；"
    "可以再加 expected（该不该答，是或否）和 document（该用哪个文件）两列。只测一个问题就发 /kb test 问题。"
)
_running: set[Session] = set()
# One run uses half of the time that the machine has for searching. Several runs at once would leave none for the
# questions of people.
_turn = asyncio.Lock()


async def try_knowledge(speaker: Speaker, event: MessageEvent, knowledge: KnowledgeService, text: str) -> str:
    """Explain a written or quoted question, try the CSV file that the message replies to, or ask for one.

    Return the reply, or an empty string if everything was already said.
    """
    asked = await asked_knowledge(speaker)
    if refused := await _refusal(speaker, asked):
        return refused
    file = UploadedFile.in_message(event.reply.message) if event.reply else None
    quoted = event.reply.message.extract_plain_text().strip()[:_MAX_QUOTED_CHARS] if event.reply else ""
    if text or (quoted and file is None):
        with charged(Charge(speaker.session.chat)):
            outcome = await try_question(services().retriever, asked.collection.name, Sample(text), quoted)
        return retrieval_text(outcome, quoted)
    if _place(speaker) in _running:
        return _BUSY
    if file is None:
        expected_files.expect(speaker.session, ".csv", partial(_take, speaker, knowledge))
        return _SEND_IT
    await _take(speaker, knowledge, speaker.bot, file)
    return ""


async def _refusal(speaker: Speaker, asked: AskedKnowledge) -> str:
    """Return why this person may not inspect the knowledge base this openly, or an empty string if they may.

    In a private chat, the knowledge base of a group is only shown to admins of the group.
    """
    if asked.refusal or asked.group_id is None or await speaker.role() is Role.SUPERUSER:
        return asked.refusal
    role = await member_role(speaker.bot, asked.group_id, speaker.session.user_id)
    return "" if role is not None and role >= Role.ADMIN else refusal(Place.GROUP, Role.ADMIN)


def _place(speaker: Speaker) -> Session:
    """Return the key of the place: a group as a whole, or one private chat."""
    return speaker.session if speaker.place is Place.PRIVATE else Session(speaker.session.group_id, 0)


async def _take(speaker: Speaker, knowledge: KnowledgeService, bot: Bot, file: UploadedFile) -> None:
    """Try all questions of a file and report the results.

    This runs in the handler of the message, which is cancelled when the bot stops.
    """
    place = _place(speaker)
    if place in _running:
        await speaker.reply(_BUSY)
        return
    _running.add(place)
    try:
        await _try_all(speaker, file, await _samples(speaker, knowledge, bot, file))
    except (DocumentRejected, DownloadFailed) as error:
        logger.info(f"test set {file.name!r} refused: {error}")
        # When the file is sent again, it must not end up in the knowledge base.
        expected_files.expect(speaker.session, ".csv", partial(_take, speaker, knowledge))
        again = f"改好后 {WAIT_S // 60} 分钟内再发到这里就行，不会入库。"
        await speaker.reply(f"「{shortened(file.name, 30)}」没有测：{error.told()}{again}")
    except ServiceError as error:
        logger.warning(f"test set {file.name!r} failed: {error}")
        await speaker.reply(f"「{shortened(file.name, 30)}」没有测完：{error.told()}")
    finally:
        _running.discard(place)


async def _samples(speaker: Speaker, knowledge: KnowledgeService, bot: Bot, file: UploadedFile) -> list[Sample]:
    if not file.name.casefold().endswith(".csv"):
        raise DocumentRejected("只能测 CSV 文件，请用 Excel 或 WPS 另存为 CSV。")
    if file.size > MAX_BYTES:
        raise too_large(MAX_BYTES)
    path = knowledge.new_incoming()
    try:
        session = speaker.session
        await fetch(
            bot,
            file,
            session.group_id,
            session.user_id,
            path,
            MAX_BYTES,
            knowledge.min_bytes_per_s,
            settings().knowledge.client_file_dirs,
        )
        return await asyncio.to_thread(read_samples, path)
    finally:
        path.unlink(missing_ok=True)


async def _try_all(speaker: Speaker, file: UploadedFile, samples: list[Sample]) -> None:
    # Ten minutes may have passed since the command, so check again what this person may inspect.
    asked = await asked_knowledge(speaker)
    if refused := await _refusal(speaker, asked):
        await speaker.reply(refused)
        return
    name = shortened(file.name, 30)

    async def show() -> None:
        await speaker.reply(f"收到「{name}」，共 {len(samples)} 题，正在测，期间照常可以问。")

    async def progress(done: int) -> None:
        await outbox.send(speaker.chat, f"测了 {done}/{len(samples)}", priority=Priority.NOTICE)

    async with working(show), _turn:
        with charged(Charge(speaker.session.chat)):
            evaluation = await evaluate(services().retriever, asked.collection.name, samples, progress)
        table = await asyncio.to_thread(result_csv, evaluation)
    summary = summary_text(name, evaluation)
    if any(outcome.best is not None and file_name(outcome.best) == file.name for outcome in evaluation.outcomes):
        # A file that was sent before the command was ingested like any other.
        summary += f"\n\n「{name}」自己也在知识库里，结果偏好。用 /kb delete 删掉它，先发 /kb test 再发文件就不会入库。"
    result_name = f"{PurePath(file.name).stem[:40]}-结果.csv"
    delivery = await outbox.send_file(speaker.chat, result_name, table, summary, speaker.message_id)
    if delivery is Delivery.REFUSED:
        await speaker.reply(f"{summary}\n\n结果文件可能没有发出去，没看到就请检查机器人能不能上传文件。")
