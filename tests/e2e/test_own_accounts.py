"""Tests that the bot ignores its own accounts, because two of them would talk to each other endlessly."""

from typing import Any

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import ObservedClient

NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
GROUP, ASKER, FIRST, SECOND, THIRD = 777, 10002, 3889000001, 3889000002, 3889000003
PAGE_ACCOUNT = 900_000_000_000


async def _speak(client: ObservedClient, author: int) -> None:
    await client.private_message(author, "你是谁")
    await client.private_message(author, "/help")
    await client.group_message(GROUP, author, "/help", at_bot=True)
    await client.upload_group_file(GROUP, author, f"{author}.md", "代号蓝鲸。".encode())
    await client.upload_private_file(author, f"{author}私.md", "代号蓝鲸。".encode())


async def test_own_accounts_are_not_heard(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    first = await client_factory(bot, self_id=FIRST)
    second = await client_factory(bot, self_id=SECOND)
    third = await client_factory(bot, self_id=THIRD)
    await bot.wait_output(f"Bot {PAGE_ACCOUNT} connected")
    # One of the accounts is no longer connected.
    await third.close()
    await bot.wait_output(f"Bot {THIRD} closed by peer")
    for author in (FIRST, SECOND, THIRD, PAGE_ACCOUNT):
        await _speak(first, author)
    await first.quiet(3)
    assert second.sent == []

    # A message in a guild is not a private message either.
    message: dict[str, Any] = {
        "post_type": "message",
        "message_type": "guild",
        "sub_type": "channel",
        "guild_id": "1",
        "channel_id": "2",
        "user_id": ASKER,
        "message_id": 99,
        "message": [{"type": "text", "data": {"text": "/help"}}],
        "raw_message": "/help",
        "font": 0,
        "sender": {"user_id": ASKER, "nickname": "n"},
    }
    await first.send_event(message)
    await first.quiet(1)

    # Other people are still answered.
    await first.private_message(ASKER, "/help")
    assert "/ask" in (await first.wait_sent(lambda sent: sent.user_id == ASKER)).text
