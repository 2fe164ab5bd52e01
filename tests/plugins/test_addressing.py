"""Tests of the repairs before a message is handled: who is meant, what may be stored, and whose message it is."""

import pytest

from tests.plugins.conversation import SELF_ID, Conversation

MENTION = {"type": "at", "data": {"qq": str(SELF_ID)}}
SOMEBODY = {"type": "at", "data": {"qq": "10005"}}


async def test_the_bots_own_messages_are_ignored(conversation: Conversation) -> None:
    itself = conversation.by(SELF_ID)
    await itself.say("/help")
    await itself.in_private().say("/help")


@pytest.mark.parametrize("segments", [(MENTION, " /help"), (SOMEBODY, MENTION, "/help"), ("/help", MENTION)])
async def test_an_at_anywhere_calls_the_bot(
    conversation: Conversation, segments: tuple[str | dict[str, dict[str, str]], ...]
) -> None:
    event = conversation.message(*segments)
    if segments[0] is SOMEBODY:
        # Words to somebody else are not a command, but the bot is asked.
        await conversation.send(event, "")
    else:
        await conversation.send(event, "你能用的命令")
    assert event.to_me


async def test_an_at_of_somebody_else_does_not(conversation: Conversation) -> None:
    event = conversation.message(SOMEBODY, "在吗")
    await conversation.send(event)
    assert not event.to_me


async def test_half_characters_are_taken_out(conversation: Conversation) -> None:
    await conversation.say("/kb search \ud83d报销\udc00", "没有找到和「报销」有关的资料。")


async def test_the_word_knowledge_is_no_call(conversation: Conversation) -> None:
    for text in ("群知识库在哪", "群知道吗"):
        event = conversation.message(text, to_me=True)
        await conversation.send(event)
        assert not event.to_me
