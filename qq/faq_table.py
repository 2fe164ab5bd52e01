"""The commands /faq import and /faq export: approved answers as a CSV file that is sent to or from the chat."""

import asyncio
from functools import partial

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, MessageEvent

from qq.depends import outbox, services
from qq.expected_files import WAIT_S, expected_files
from qq.messages import shortened
from qq.outbox.delivery import Delivery
from qq.outbox.replies import File
from qq.speaker import Speaker, member_card
from qq.table_files import read_fetched
from qq.uploaded_file import UploadedFile
from services.errors import DocumentRejected, DownloadFailed
from services.faq.models import Approver, Change, Pair, Refused
from services.faq.table_file import MAX_BYTES, check_offer, read_table, table_file
from services.roles import Rights
from services.session import KnowledgeCollection

_SEND_IT = (
    f"把 CSV 发到这里，{WAIT_S // 60} 分钟内有效，不会进知识库。第一列写问题，第二列写回答，一行一条；"
    "已有的问题会换成新回答。"
)
_SHOWN = 5


async def import_table(speaker: Speaker, event: MessageEvent, collection: KnowledgeCollection, rights: Rights) -> str:
    """Take in the CSV file that the message replies to, or ask for one.

    `rights` are needed again when the file arrives. Return the reply.
    """
    file = UploadedFile.in_message(event.reply.message) if event.reply else None
    if file is None:
        expected_files.expect(speaker.session, ".csv", partial(_take, speaker, collection, rights))
        return _SEND_IT
    await _take(speaker, collection, rights, speaker.bot, file)
    return ""


async def _take(
    speaker: Speaker, collection: KnowledgeCollection, rights: Rights, bot: Bot, file: UploadedFile
) -> None:
    # Ten minutes may have passed since the command.
    if refused := await speaker.refusal(rights):
        await speaker.reply(refused)
        return
    name = shortened(file.name, 30)
    try:
        pairs = await _pairs(speaker, bot, file)
    except (DocumentRejected, DownloadFailed) as error:
        logger.info(f"table of answers {file.name!r} refused: {error}")
        # When the file is sent again, it must not end up in the knowledge base.
        expected_files.expect(speaker.session, ".csv", partial(_take, speaker, collection, rights))
        again = f"改好后 {WAIT_S // 60} 分钟内再发到这里就行。"
        await speaker.reply(f"「{name}」一条也没有导入：{error.told()}{again}")
        return
    written = await services().faq.add_all(collection.name, pairs, await approver_of(speaker))
    if isinstance(written, Refused):
        await speaker.reply(f"「{name}」一条也没有导入：{written.reason}")
        return
    replaced = [each for each in written if each.change is Change.REPLACED]
    counts = {change: sum(each.change is change for each in written) for change in Change}
    lines = [
        f"「{name}」导入完成：新增 {counts[Change.ADDED]} 条，换成新回答 {len(replaced)} 条，"
        f"已存在 {counts[Change.SAME]} 条。"
    ]
    if replaced:
        more = f"等 {len(replaced)} 条" if len(replaced) > _SHOWN else ""
        numbers = "、".join(str(each.entry.number) for each in replaced[:_SHOWN])
        lines.append(f"换掉旧回答的是编号 {numbers}{more}。")
    await speaker.reply("\n".join([*lines, "看一下：/faq list"]))


async def _pairs(speaker: Speaker, bot: Bot, file: UploadedFile) -> list[Pair]:
    check_offer(file.name, file.size)
    return await read_fetched(speaker, bot, file, MAX_BYTES, read_table)


async def export_table(speaker: Speaker, collection: KnowledgeCollection) -> str | None:
    """Send all entries as a CSV file, and return what is left to say."""
    entries = await services().faq.entries(collection.name)
    if not entries:
        return "还没有问答，没有可以导出的。"
    content = await asyncio.to_thread(table_file, entries)
    file = File("问答.csv", content, f"共 {len(entries)} 条问答，改好后可以用 /faq import 导回来。")
    delivery = await outbox.send(speaker.chat, file, speaker.message_id)
    return "QQ 没有接收这个文件，请稍后再试。" if delivery is Delivery.REFUSED else None


async def approver_of(speaker: Speaker) -> Approver:
    """Return the person as the readers of an answer see them.

    Where all groups share the answers, other groups must not learn a person's name in this one.
    """
    session = speaker.session
    if session.group_id is None or speaker.venue.shares_knowledge:
        return Approver(session.user_id)
    return Approver(session.user_id, await member_card(speaker.bot, session.group_id, session.user_id))
