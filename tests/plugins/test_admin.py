"""Tests of /help and /bot."""

import base64
import io
import re
import zipfile
from typing import Any

from services.settings import Settings
from tests.plugins.conversation import ADMIN, SUPERUSER, Call, Conversation


class _Upload:
    """Compares equal to the parameters of an upload of an archive."""

    def __eq__(self, parameters: object) -> bool:
        if not isinstance(parameters, dict):
            return False
        content = base64.b64decode(str(parameters.get("file")).removeprefix("base64://"))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = ("sessions", "messages", "feedback", "reviews", "faq")
            return archive.namelist() == [f"{name}.jsonl" for name in names]

    def __hash__(self) -> int:
        return id(self)


def _lookup(conversation: Conversation, result: object) -> Call:
    parameters = {"group_id": conversation.group_id, "user_id": conversation.user_id, "no_cache": False}
    return Call("get_group_member_info", parameters, result)


async def test_help_begins_with_what_matters_most(conversation: Conversation) -> None:
    assert await conversation.say("/help", "") == "\n".join(
        (
            "把文件发出来就会入库，问我就从里面找答案。你能用的命令：",
            "/ask 问题 提问，也可以 @我、回复我",
            "/faq 群里确认过的问答：list、show、export",
            "/feedback 分数 [已解决、部分解决或没解决] [评论] 给回答打 1 到 5 分，回复那条回答发",
            "/help [命令] 看能用的命令和用法",
            "/kb 知识库：status、list、show、search、source",
            "/memory 对话记忆：status、show、compact、clear",
            "/review 请管理员看回答：ask",
            "/session 这段对话：status、end、prefs",
            "下一页：/help 2",
        )
    )


async def test_a_role_that_the_message_lacks_is_looked_up(conversation: Conversation) -> None:
    nobody = Conversation(conversation.app, conversation.group_id, ADMIN, claimed_role=None)
    known = {"user_id": ADMIN, "role": "admin"}
    # Once for the limit of commands and once for the right.
    switched_on = await nobody.say("/bot auto on", _lookup(nobody, known), _lookup(nobody, known), "主动回答已打开")
    assert "/bot quiet" in switched_on
    # A client that does not answer makes nobody an admin.
    for answer in (None, {}, {"user_id": 1, "role": "owner"}):
        await nobody.say("/bot auto off", _lookup(nobody, answer), _lookup(nobody, answer), "要由群管理员来做")


async def test_the_state_of_the_bot_fits_a_phone(conversation: Conversation, loaded: Settings) -> None:
    lines = (await conversation.by(SUPERUSER).say("/bot", "")).split("\n")
    assert [line.partition("：")[0] for line in lines[:9]] == [
        "运行",
        "在线账号",
        "排队",
        "模型",
        "今天",
        "向量",
        "重排",
        "磁盘",
        "版本",
    ]
    assert lines[3] == f"模型：{loaded.llm.model}"
    assert len(lines) <= 10
    assert re.fullmatch(r"版本：群知 \d+\.\d+\.\d+，Python 3\.\d+\.\d+", lines[8])


async def test_unasked_answers_are_switched(conversation: Conversation) -> None:
    admin = conversation.by(ADMIN)
    await conversation.say("/bot quiet", "这里没有打开主动回答")
    await admin.say("/bot auto off", "本来就关着")
    await admin.say("/bot auto 打开", "主动回答已打开")
    await admin.say("/机器人 主动 ON", "本来就开着")
    status = await admin.say("/bot auto", "主动回答：开")
    assert status == await admin.say("/bot auto 状态", "")
    await admin.say("/bot auto maybe", "没看懂，可以写 /bot auto on、off 或 status。")
    await admin.say("/bot auto off", "主动回答已关闭")


async def test_everybody_may_silence_the_bot(conversation: Conversation) -> None:
    await conversation.by(ADMIN).say("/bot auto on", "已打开")
    await conversation.say("/bot quiet", "好，安静到")
    await conversation.say("/bot 安静 2小时", "好，安静到")
    assert "安静到" in await conversation.by(ADMIN).say("/bot auto", "")
    await conversation.say("/bot quiet 一会儿", "没看懂时长")
    await conversation.say("/bot quiet 99天", "最多安静")
    await conversation.say("/bot quiet 0", "好，不用安静了")
    assert "安静到" not in await conversation.by(ADMIN).say("/bot auto", "")


async def test_an_export_goes_to_the_bot_admin_in_private(conversation: Conversation) -> None:
    await conversation.by(SUPERUSER).say("/bot export 全部", "这个命令只能在私聊里用。")
    admin = conversation.by(SUPERUSER).in_private()
    for nonsense in ("", "0", "10000", "x", "全部 1"):
        await admin.say(f"/bot export {nonsense}", "写 /bot export 30 导出最近 30 天")
    parameters: Any = _Upload()
    upload = Call("upload_private_file", parameters, {"file_id": "f"})
    assert re.fullmatch(
        r"导出在上面的文件里：对话 \d+ 条，消息 \d+ 条，评价 \d+ 条，审核 \d+ 条，问答 \d+ 条。",
        await admin.say("/bot export 全部", upload, "导出在"),
    )
