"""The command /kb test, which explains one question or tries all questions of a CSV file."""

import asyncio
from functools import partial
from pathlib import PurePath

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, MessageEvent

from qq.depends import outbox, services
from qq.expected_files import WAIT_S, expected_files
from qq.messages import shortened
from qq.outbox.delivery import Delivery
from qq.outbox.replies import File
from qq.outbox.send_queue import Priority
from qq.reports.evaluation import result_csv, summary_text
from qq.reports.retrieval import file_name, retrieval_text
from qq.speaker import Speaker, asked_knowledge, member_lookup
from qq.table_files import read_fetched
from qq.uploaded_file import UploadedFile
from qq.working import working
from services.access import AskedKnowledge
from services.errors import DocumentRejected, DownloadFailed, ServiceError
from services.evaluation.models import Sample
from services.evaluation.samples import MAX_BYTES, check_offer, read_samples

_MAX_QUOTED_CHARS = 500
_BUSY = "这里正在测一个文件，测完再发 /kb test。"
_SEND_IT = (
    f"把要测的 CSV 发到这里，{WAIT_S // 60} 分钟内有效，不会入库。第一列写问题，一行一个；"
    "可以再加 expected（该不该答，是或否）和 document（该用哪个文件）两列。只测一个问题就发 /kb test 问题。"
)


async def try_knowledge(speaker: Speaker, event: MessageEvent, text: str) -> str:
    """Explain a written or quoted question, try the CSV file that the message replies to, or ask for one.

    Return the reply, or an empty string if everything was already said.
    """
    asked = await asked_knowledge(speaker)
    if refused := await _refusal(speaker, asked):
        return refused
    file = UploadedFile.in_message(event.reply.message) if event.reply else None
    quoted = event.reply.message.extract_plain_text().strip()[:_MAX_QUOTED_CHARS] if event.reply else ""
    if text or (quoted and file is None):
        evaluations, chat = services().evaluations, speaker.session.chat
        return retrieval_text(await evaluations.explain(chat, asked.collection.name, Sample(text), quoted), quoted)
    if services().evaluations.is_busy(speaker.session.chat):
        return _BUSY
    if file is None:
        expected_files.expect(speaker.session, ".csv", partial(_take, speaker))
        return _SEND_IT
    await _take(speaker, speaker.bot, file)
    return ""


async def _refusal(speaker: Speaker, asked: AskedKnowledge) -> str:
    """Return why this person may not inspect the knowledge base this openly, or an empty string if they may."""
    return await services().access.inspection_refusal(speaker.session, asked, member_lookup(speaker.bot))


async def _take(speaker: Speaker, bot: Bot, file: UploadedFile) -> None:
    """Try all questions of a file and report the results.

    This runs in the handler of the message, which is cancelled when the bot stops.
    """
    with services().evaluations.taken(speaker.session.chat) as is_taken:
        if not is_taken:
            await speaker.reply(_BUSY)
            return
        try:
            await _try_all(speaker, file, await _samples(speaker, bot, file))
        except (DocumentRejected, DownloadFailed) as error:
            logger.info(f"test set {file.name!r} refused: {error}")
            # When the file is sent again, it must not end up in the knowledge base.
            expected_files.expect(speaker.session, ".csv", partial(_take, speaker))
            again = f"改好后 {WAIT_S // 60} 分钟内再发到这里就行，不会入库。"
            await speaker.reply(f"「{shortened(file.name, 30)}」没有测：{error.told()}{again}")
        except ServiceError as error:
            logger.warning(f"test set {file.name!r} failed: {error}")
            await speaker.reply(f"「{shortened(file.name, 30)}」没有测完：{error.told()}")


async def _samples(speaker: Speaker, bot: Bot, file: UploadedFile) -> list[Sample]:
    check_offer(file.name, file.size)
    return await read_fetched(speaker, bot, file, MAX_BYTES, read_samples)


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

    async with working(show):
        evaluation = await services().evaluations.run(speaker.session.chat, asked.collection.name, samples, progress)
        table = await asyncio.to_thread(result_csv, evaluation)
    summary = summary_text(name, evaluation)
    if any(outcome.best is not None and file_name(outcome.best) == file.name for outcome in evaluation.outcomes):
        # A file that was sent before the command was ingested like any other.
        summary += f"\n\n「{name}」自己也在知识库里，结果偏好。用 /kb delete 删掉它，先发 /kb test 再发文件就不会入库。"
    result_name = f"{PurePath(file.name).stem[:40]}-结果.csv"
    delivery = await outbox.send(speaker.chat, File(result_name, table, summary), speaker.message_id)
    if delivery is Delivery.REFUSED:
        await speaker.reply(f"{summary}\n\n结果文件可能没有发出去，没看到就请检查机器人能不能上传文件。")
