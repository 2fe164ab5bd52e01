"""Tests of /kb."""

from pathlib import Path

import pytest

from services.session import KnowledgeScope, SessionScope
from services.settings import Settings
from tests.plugins.conftest import Rescope
from tests.plugins.conversation import ADMIN, MEMBER, SUPERUSER, Call, Conversation

NOTE = "/kb add 值班 周三下午值班的是李强。"


def _membership(conversation: Conversation, group_id: int, result: object) -> Call:
    parameters = {"group_id": group_id, "user_id": conversation.user_id, "no_cache": True}
    return Call("get_group_member_info", parameters, result)


@pytest.fixture
def private(conversation: Conversation) -> Conversation:
    """Return a private chat of a person of their own."""
    assert conversation.group_id is not None
    return Conversation(conversation.app, None, 10_000_000 + conversation.group_id)


async def test_an_empty_base_says_how_to_fill_it(conversation: Conversation) -> None:
    await conversation.say("/kb", "知识库：0 个文件，0 块")
    await conversation.say("/kb list", "知识库是空的，把文件发到群里就会入库。")
    await conversation.say("/kb show", "请写上编号，例如 /kb show 1。")
    await conversation.say("/kb show 1", "没有这个编号，发 /kb list 看编号。")
    await conversation.say("/kb search", "请写上要找的词")
    await conversation.say("/kb search 报销", "没有找到和「报销」有关的资料。")
    await conversation.say("/kb source", "请写上出处的编号，例如 /kb source 1。")
    await conversation.say("/kb source 1", "最近的回答里没有出处")
    admin = conversation.by(ADMIN)
    await admin.say("/kb reindex", "知识库是空的，没有要重建的。")
    await admin.say("/kb clear", "知识库是空的。")
    await admin.say("/kb delete 一", "请写上编号，例如 /kb delete 1。")
    await admin.say("/kb delete 7", "没有这个编号")


async def test_a_note_is_found_shown_and_deleted(conversation: Conversation) -> None:
    admin = conversation.by(ADMIN)
    await admin.say("/kb add 值班", "请写上标题和正文")
    await admin.say(NOTE, "「值班.txt」已入库")
    await admin.say(NOTE, "「值班.txt」已存在")
    await admin.say("/kb 添加 值班\n周三下午值班的是\n赵敏。", "「值班.txt」已更新为第 2 版")
    assert (await conversation.say("/kb list", "")).split("\n") == [
        "共 1 个文件，第 1/1 页",
        "1. 值班.txt v2（1 块）",
        "看内容：/kb show 编号",
    ]
    await conversation.say("/kb list 3", "只有 1 页")
    card = {"user_id": ADMIN, "card": "教务\n小李", "nickname": "lee"}
    asked = {"group_id": conversation.group_id, "user_id": ADMIN, "no_cache": False}
    shown = await conversation.say("/kb show 1", Call("get_group_member_info", asked, card), "1. 值班.txt 第 2 版")
    assert shown.split("\n")[1] == "34 字节，12 字，1 块"
    assert shown.split("\n")[2].startswith(f"教务 小李（{ADMIN}） 上传于 ")
    # The lines are those of the text.
    assert shown.endswith("\n开头：\n周三下午值班的是\n赵敏。")
    await admin.say("/kb show 1", "你 上传于 ")
    await conversation.say("/kb search 值班", "〔1〕值班.txt（编号 1）")
    await admin.say("/kb delete 1", "要删除「值班.txt」（1 块），不能恢复。")
    await admin.say("确认", "「值班.txt」已删除。")
    await conversation.say("/kb search 值班", "没有找到")


async def test_the_list_has_pages(conversation: Conversation) -> None:
    admin = conversation.by(ADMIN)
    for number in range(9):
        await admin.say(f"/kb add 第{number}条 内容是{number}。", "已入库")
    first = await conversation.say("/kb list", "共 9 个文件，第 1/2 页")
    assert first.endswith("下一页：/kb list 2")
    assert len(first.split("\n")) == 10
    assert await conversation.say("/kb list 2", "第 2/2 页") == await conversation.say("/资料 列表 2", "")
    await admin.say("/kb reindex", "开始用原文件重建 9 个文件的索引")


async def test_why_it_answers_and_a_source(conversation: Conversation) -> None:
    admin = conversation.by(ADMIN)
    await admin.say("/kb add 报销 差旅费要在出差结束后三十天内到财务处报销。", "已入库")
    await admin.say("/kb test 差旅费多少天内报销", "报销.txt")
    await admin.say("/kb test", "把要测的 CSV 发到这里")
    await conversation.say("/ask 差旅费要在多少天内报销？", "三十天")
    await conversation.say("/kb source 〔1〕", "〔1〕报销.txt")
    await conversation.say("/kb source 7", "上一个有出处的回答里没有〔7〕")


async def test_a_private_chat_asks_the_files_of_a_group(conversation: Conversation, private: Conversation) -> None:
    group_id = conversation.group_id
    assert group_id is not None
    await conversation.by(ADMIN).say(NOTE, "已入库")
    mine = {"user_id": private.user_id, "role": "member"}
    await private.say("/kb use", "请写上群号，例如 /kb use 123456")
    await private.say(f"/kb use {group_id}", _membership(private, group_id, None), f"无法确认你在群 {group_id} 里")
    await private.say("/kb list", "知识库是空的")
    await private.say(f"/kb use {group_id}", _membership(private, group_id, mine), f"现在私聊里查群 {group_id} 的资料")
    await private.say("/kb list", _membership(private, group_id, mine), "共 1 个文件")
    # Membership is asked for every time, and nothing is shown without it.
    for command in (
        "/kb",
        "/kb list",
        "/kb show 1",
        "/kb search 值班",
        "/kb source 1",
        "/kb test 值班",
        "/memory show",
    ):
        await private.say(command, _membership(private, group_id, None), f"现在无法确认你在群 {group_id} 里")
    # The numbers are those of the group, so nothing of one's own is changed by them.
    for command in ("/kb add 一 二", "/kb delete 1", "/kb clear", "/kb reindex"):
        await private.say(command, f"现在查的是群 {group_id} 的资料，要改请到群里去")
    await private.say("/kb use 0", "好，现在查你自己的资料")
    await private.say("/kb add 一 二", "「一.txt」已入库")
    await private.say("/kb list", "1. 一.txt")


async def test_one_base_for_all_is_not_chosen(private: Conversation, rescope: Rescope) -> None:
    rescope(KnowledgeScope.GLOBAL, SessionScope.MEMBER)
    await private.say("/kb use 123456", "现在所有群共用一个知识库，不用选群。")


async def test_loading_reads_only_the_folder_of_this_group(conversation: Conversation, loaded: Settings) -> None:
    operator = conversation.by(SUPERUSER)
    name = f"import/group_{conversation.group_id}"
    await operator.say("/kb load", f"请先在服务器的数据目录里建 {name}")
    folder = Path(loaded.data_dir) / name
    folder.mkdir(parents=True)
    (folder / "一.md").write_text("第一条规定。", "utf-8")
    (folder / "二.exe").write_bytes(b"MZ")
    told = await operator.say("/kb load ../group_1", "载入完成：已入库 1 个，已存在 0 个，没有入库 1 个")
    assert "「二.exe」" in told
    await Conversation(conversation.app, conversation.group_id, MEMBER).say("/kb load", "要由机器人管理员来做")


async def test_an_admin_corrects_type_and_tags(conversation: Conversation) -> None:
    admin = conversation.by(ADMIN)
    await admin.say(NOTE, "已入库")
    await admin.say("/kb tag", "请写上编号和标签，例如 /kb tag 1 报销 差旅")
    await admin.say("/kb tag 1", "请写上编号和标签")
    await admin.say("/kb tag 7 值班", "没有这个编号，发 /kb list 看编号。")
    await admin.say("/kb tag 1 值班，李强 #周三", "「值班.txt」已改好。类型：指南，标签：值班、李强、周三")
    await admin.say(f"/kb tag 1 {'长' * 101}", "太长，最多 100 个字。")
    await admin.say(f"/kb tag 1 {' '.join(map(str, range(21)))}", "一个文件最多 20 个标签，现在有 21 个")
    await admin.say("/kb type", "请写上编号和类型（教程、接口、常见问题、示例、指南），例如 /kb type 1 教程")
    await admin.say("/kb type 1 论文", "请写上编号和类型")
    await admin.say("/kb type 7 教程", "没有这个编号")
    await admin.say("/kb 类型 1 常见问题", "「值班.txt」已改好。类型：常见问题，标签：值班、李强、周三")
    assert "\n类型：常见问题，标签：值班、李强、周三\n" in await admin.say("/kb show 1", "")
    await admin.say("/kb tag 1 无", "类型：常见问题，标签：无")
    await admin.say("/kb type 1 自动", "类型：指南，标签：无")
    await admin.say("/kb tag 1 自动", "已改好。")
