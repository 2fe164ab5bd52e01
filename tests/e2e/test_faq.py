"""Tests of /faq in QQ: a table comes in as the next file, is refused as a whole, and goes out again."""

from tests.e2e.conftest import BotFactory, ClientFactory

GROUP, OTHER_GROUP, ADMIN, MEMBER = 777, 778, 10009, 10002
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}


async def test_a_table_comes_in_and_goes_out(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    for group in (GROUP, OTHER_GROUP):
        client.world.add_member(group, ADMIN, role="admin")
        client.world.add_member(group, MEMBER)

    async def say(user: int, text: str, group: int = GROUP) -> str:
        asked = await client.group_message(group, user, text)
        return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text

    assert "10 分钟内有效" in await say(ADMIN, "/faq import")
    await client.upload_group_file(GROUP, ADMIN, "问答.csv", "问题,回答\n几点熄灯,十点\n,六点\n".encode("gbk"))
    refused = await client.wait_sent("一条也没有导入", timeout=30)
    assert "第 3 行没有问题。" in refused.text
    await client.upload_group_file(GROUP, ADMIN, "问答.csv", "问题,回答\n几点熄灯,十点\n=1+1,=2\n".encode("gbk"))
    await client.wait_sent("「问答.csv」导入完成：新增 2 条", timeout=30)
    assert "\n2. =1+1\n" in await say(MEMBER, "/faq list")
    # Nothing of this is a document, and nothing of it is in another group.
    assert "知识库是空的" in await say(MEMBER, "/kb list")
    assert "还没有问答" in await say(MEMBER, "/faq list", OTHER_GROUP)

    await client.group_message(GROUP, MEMBER, "/faq export")
    exported = await client.wait_sent(lambda sent: sent.kind == "file", timeout=30)
    assert (exported.text, exported.group_id) == ("问答.csv", GROUP)
    assert exported.content is not None
    rows = exported.content.decode("utf-8-sig").split("\r\n")
    assert rows[0].startswith("问题,回答,编号,版本,状态")
    assert rows[2].startswith("'=1+1,'=2,2,1,有效")
    # The other group takes the same file in.
    await say(ADMIN, "/faq import", OTHER_GROUP)
    await client.upload_group_file(OTHER_GROUP, ADMIN, "问答.csv", exported.content)
    await client.wait_sent(lambda sent: sent.group_id == OTHER_GROUP and "导入完成：新增 2 条" in sent.text, timeout=30)
    assert "1. 几点熄灯" in await say(MEMBER, "/faq list", OTHER_GROUP)
