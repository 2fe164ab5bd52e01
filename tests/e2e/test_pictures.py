"""Tests of answers with pictures, from the model's table to the image in QQ."""

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import ModelServer

GROUP, MEMBER = 777, 10002
RULES = "# 报销制度\n## 差旅\n出差住宿每晚 350 元，交通补贴每天 80 元。\n## 采购\n单笔超过 5000 元要系主任签字。\n"
TABLE = (
    "标准如下〔1〕：\n\n| 项目 | 标准 |\n|---|---|\n| 住宿 | 每晚 350 元〔1〕 |\n| 交通 | 每天 80 元〔1〕 |\n"
    "| 采购 | 5000 元以上签字〔1〕 |\n| 其他 | — |"
)
ROWS = "项目，标准\n住宿，每晚 350 元〔1〕\n交通，每天 80 元〔1〕"
QUESTION = "差旅住宿和交通的报销标准是多少"


async def test_a_table_is_sent_as_a_picture_and_remembered_as_text(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory()
    client = await client_factory(bot)
    await client.upload_group_file(GROUP, MEMBER, "报销.md", RULES.encode())
    await client.wait_sent("已入库", timeout=20)
    model_server.reply = TABLE
    asked = await client.group_message(GROUP, MEMBER, QUESTION, at_bot=True)
    answer = await client.wait_sent("标准如下", timeout=20)
    assert answer.text.startswith("标准如下〔1〕：\n\n（表格见下图）")
    assert "〔1〕报销.md" in answer.text
    assert "每晚" not in answer.text
    assert [segment["type"] for segment in answer.segments] == ["reply", "text", "image"]
    assert answer.reply_id == asked
    (image,) = answer.images
    assert image.content.startswith(b"\x89PNG")

    await client.group_message(GROUP, MEMBER, "谢谢，那交通呢", at_bot=True)
    await client.wait_sent("标准如下", timeout=20)
    remembered = [message["content"] for message in model_server.chats[-1].body["messages"]]
    assert any(ROWS.replace("〔1〕", "") in content for content in remembered)
    await client.quiet(0.5)
    assert not client.violations


async def test_without_pictures_the_rows_are_text(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory(RENDER__ENABLED="false")
    client = await client_factory(bot)
    await client.upload_group_file(GROUP, MEMBER, "报销.md", RULES.encode())
    await client.wait_sent("已入库", timeout=20)
    model_server.reply = TABLE
    await client.group_message(GROUP, MEMBER, QUESTION, at_bot=True)
    answer = await client.wait_sent("标准如下", timeout=20)
    assert ROWS in answer.text
    assert not answer.images
