"""Tests of human review in QQ: the notice, the ways to decide, and SIGKILL while the answer is on its way."""

import asyncio

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import ObservedClient, Sent

GROUP, ADMIN, MEMBER = 777, 10009, 10002
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
RULES = "/kb add 退款规定 门票七天内可以全额退款，凭订单号到服务台办理；七天以后不退。"
QUESTION = "门票几天内可以全额退款？"
THUMB_UP = "76"
# People need longer to reply to a message than the bot to note which one it was.
NOTED_S = 0.5


async def _reply(client: ObservedClient, message_id: int) -> Sent:
    return await client.wait_sent(lambda sent: sent.reply_id == message_id, timeout=20)


async def _open(client: ObservedClient) -> int:
    """Let a member ask, get an answer, and ask for a review of it. Return the question."""
    question = await client.group_message(GROUP, MEMBER, QUESTION, at_bot=True)
    answer = await _reply(client, question)
    await asyncio.sleep(NOTED_S)
    asked = await client.group_message(GROUP, MEMBER, "/review", reply_to=answer.message_id)
    assert "已请管理员看" in (await _reply(client, asked)).text
    return question


async def _noticed(client: ObservedClient) -> tuple[int, int]:
    """Return a question whose answer is to be reviewed, and the notice about it."""
    question = await _open(client)
    notice = await client.wait_sent("有一个回答要请管理员看", timeout=20)
    assert notice.group_id == GROUP
    assert "七天内" in notice.text
    await asyncio.sleep(NOTED_S)
    return question, notice.message_id


async def _approve(client: ObservedClient, number: int) -> None:
    """Let the admin approve, and return when the bot has handed the answer to the client."""
    await client.group_message(GROUP, ADMIN, f"/review approve {number}")
    await client.wait_call("send_msg", lambda params: f"审核，编号 {number}" in str(params))


def _answers(client: ObservedClient, question: int) -> list[str]:
    return [sent.text for sent in client.sent if sent.reply_id == question and "审核，编号" in sent.text]


async def test_reviews_in_a_group(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = bot_factory.create(**NO_MODEL)
    await bot.start()
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    try:
        await client.group_message(GROUP, ADMIN, RULES)
        await client.wait_sent("已入库", timeout=30)

        # By a reply: talk decides nothing, an answer does.
        question, notice = await _noticed(client)
        talk = await client.group_message(GROUP, ADMIN, "我看看", reply_to=notice)
        assert "没看懂" in (await _reply(client, talk)).text
        edited = await client.group_message(GROUP, ADMIN, "七天内全额退，带上订单号。", reply_to=notice)
        assert "按你写的回：「七天内全额退，带上订单号。」" in (await _reply(client, edited)).text
        assert len(told := _answers(client, question)) == 1
        assert told[0].startswith("七天内全额退，带上订单号。")
        late = await client.group_message(GROUP, ADMIN, "通过", reply_to=notice)
        assert "编号 1 已由" in (await _reply(client, late)).text

        # SIGKILL when QQ has the answer but has not confirmed it: it is found there and not sent again.
        question = await _open(client)
        client.faults.delay("send_msg", 1.5)
        await _approve(client, 2)
        await bot.kill()
        await client.wait_sent(lambda sent: sent.reply_id == question and "编号 2" in sent.text)
        client.faults.restore()
        await bot.start()
        await client.reconnect()
        await client.wait_call("get_group_msg_history")
        # Nothing more may come.
        await asyncio.sleep(1)
        assert len(_answers(client, question)) == 1

        # SIGKILL when QQ never got the answer: it is sent after the next start.
        question = await _open(client)
        client.faults.ignore("send_msg")
        await _approve(client, 3)
        await bot.kill()
        client.faults.restore()
        await bot.start()
        await client.reconnect()
        await client.wait_sent(lambda sent: sent.reply_id == question and "编号 3" in sent.text, timeout=20)

        # By a reaction, which members may leave too.
        question, notice = await _noticed(client)
        await client.react(MEMBER, notice, THUMB_UP)
        await client.react(ADMIN, notice, THUMB_UP)
        await client.wait_sent(lambda sent: sent.reply_id == question and "编号 4" in sent.text)
        assert len(_answers(client, question)) == 1
    finally:
        if bot.alive:
            await bot.kill()


async def test_an_uncertain_answer_waits_for_an_admin_over_a_kill(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = bot_factory.create(REVIEW__BELOW="0.999", **NO_MODEL)
    await bot.start()
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    try:
        await client.group_message(GROUP, ADMIN, RULES)
        await client.wait_sent("已入库", timeout=30)
        question = await client.group_message(GROUP, MEMBER, QUESTION, at_bot=True)
        assert (await _reply(client, question)).text == "这个我拿不准，已请管理员看，有结果会回你。"
        await client.wait_sent("有一个回答要请管理员看", timeout=20)
        await bot.kill()
        await bot.start()
        await client.reconnect()
        # The conversation goes on meanwhile.
        thanks = await client.group_message(GROUP, MEMBER, "谢谢", at_bot=True)
        assert (await _reply(client, thanks)).text == "不客气。"

        await client.group_message(GROUP, ADMIN, "/review approve 1")
        answer = await client.wait_sent(lambda sent: sent.reply_id == question and "编号 1" in sent.text, timeout=20)
        assert "七天内" in answer.text
        # It is the group's own answer from now on.
        again = await client.group_message(GROUP, MEMBER, QUESTION, at_bot=True)
        assert "群里确认过的回答" in (await _reply(client, again)).text
        assert len(_answers(client, question)) == 1
    finally:
        if bot.alive:
            await bot.kill()
