"""Tests of uploaded files that are refused before anything is fetched."""

from tests.plugins.conversation import Conversation


async def test_a_file_that_cannot_be_read_is_refused_without_a_download(conversation: Conversation) -> None:
    file = {"id": "/1", "name": "病毒.exe", "size": 2048, "busid": 102}
    told = await conversation.send(conversation.notice("group_upload", file=file), "「病毒.exe」没有入库：")
    assert "不支持 .exe 文件，可以发 pdf" in told
    file = {"id": "/2", "name": "大.pdf", "size": 1 << 40, "busid": 102}
    await conversation.send(conversation.notice("group_upload", file=file), "「大.pdf」没有入库：")


async def test_a_report_without_its_file(conversation: Conversation) -> None:
    await conversation.send(conversation.notice("group_upload", file=None), "QQ 客户端没有说清是哪个文件")
