"""Questions about the files of a group, asked of the real bot without a model."""

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import ObservedClient

GROUP, OTHER, OWNER, MEMBER = 701, 702, 10001, 10002
HANDBOOK = "# 考勤\n九点上班。迟到三次扣一天工资。\n\n# 报销\n发票每周三交到财务。\n\n# 福利\n生日有半天假。\n"


async def _asked(client: ObservedClient, text: str, group: int = GROUP, **quoted: int) -> str:
    asked = await client.group_message(group, MEMBER, text, at_bot=True, **quoted)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=20)).text


async def test_members_ask_which_files_there_are(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(LLM__BASE_URL=None, LLM__API_KEY=None, LLM__MODEL=None)
    client = await client_factory(bot)
    for group in (GROUP, OTHER):
        client.world.add_member(group, OWNER, card="人事小李", role="owner")
        client.world.add_member(group, MEMBER)
    await client.upload_group_file(OTHER, OWNER, "机密方案.md", "总部的方案。".encode())
    await client.wait_sent("「机密方案.md」已入库", timeout=20)
    await client.upload_group_file(GROUP, OWNER, "员工手册.md", HANDBOOK.encode())
    received = await client.wait_sent("「员工手册.md」已入库", timeout=20)

    listed = await _asked(client, "群里都有啥文件呀")
    assert listed.startswith("现在有 1 个文件：\n1. 员工手册.md（")
    outline = await _asked(client, "员工手册讲了什么")
    assert outline.split("\n")[:4] == [
        "「员工手册.md」大致内容〔1〕：",
        "1. 考勤：九点上班。迟到三次扣一天工资。",
        "2. 报销：发票每周三交到财务。",
        "3. 福利：生日有半天假。",
    ]
    assert outline.endswith("〔1〕员工手册.md")
    assert (await _asked(client, "它是谁传的")).startswith(f"「员工手册.md」是人事小李（{OWNER}）在 ")
    assert (await _asked(client, "这个文件主要讲了什么", reply_to=received.message_id)).startswith("「员工手册.md」")
    assert "员工手册.md〔1〕" in await _asked(client, "有没有讲报销的文件")
    assert "没有找到名字像「机密方案」的文件" in await _asked(client, "机密方案.md讲了什么")
    assert (await _asked(client, "机密方案.md讲了什么", OTHER)).startswith("「机密方案.md」")
    # What the files say is still a question like any other.
    assert "原文摘录" in await _asked(client, "报销的发票要交到哪")
    assert await _asked(client, "终于交上发票啦！！") == "有问题随时问我。"
    shown = await _asked(client, "/kb show 1")
    assert f"人事小李（{OWNER}） 上传于" in shown
    assert shown.endswith("目录：\n1. 考勤\n2. 报销\n3. 福利")
    assert "〔1〕员工手册.md · 报销（编号 1）" in await _asked(client, "/kb search 发票")
