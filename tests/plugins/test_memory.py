"""Tests of /memory."""

import pytest

from services.memory.service import MemoryService
from services.session import KnowledgeScope, SessionScope
from tests.e2e.model_server import ModelServer
from tests.plugins.conftest import Rescope
from tests.plugins.conversation import ADMIN, MEMBER, Conversation

OTHER = 10005


async def test_a_conversation_is_shown_and_forgotten(conversation: Conversation, model_server: ModelServer) -> None:
    await conversation.say("/memory", "你自己的对话：0 轮\n我现在记着 0 条消息")
    await conversation.say("/memory show", "还没有对话。")
    await conversation.say("/memory compact", "对话还很短，不用总结。")
    model_server.when("记一下我叫小王", "好的，小王。")
    await conversation.say("/ask 记一下我叫小王", "好的，小王。")
    shown = await conversation.say("/memory show", "你：记一下我叫小王")
    assert shown.endswith("我：好的，小王。")
    # Another member has a memory of their own.
    await conversation.by(OTHER).say("/memory show", "还没有对话。")
    await conversation.by(OTHER).say("/memory clear", "要忘掉这段对话，不能恢复。")
    await conversation.by(OTHER).say("确认", "好，忘掉了，共 0 条消息。")
    await conversation.say("/memory 清空", "要忘掉这段对话，不能恢复。")
    await conversation.say("确认", "好，忘掉了，共 2 条消息。")
    await conversation.say("/memory 状态", "你自己的对话：0 轮")


async def test_without_a_model_the_refusal_is_no_failure(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def compact(_service: MemoryService, _session_id: str) -> None:
        """Return what a bot without a model returns."""

    monkeypatch.setattr(MemoryService, "compact", compact)
    await conversation.say("/memory compact", "没有配置模型，不能总结记忆；可以用 /memory clear 清空。")


async def test_the_memory_of_a_group_belongs_to_its_admins(
    conversation: Conversation, rescope: Rescope, model_server: ModelServer
) -> None:
    rescope(KnowledgeScope.GROUP, SessionScope.GROUP)
    model_server.when("今天集合的口号", "记下了。")
    await conversation.say("/ask 今天集合的口号是加油", "记下了。")
    await conversation.by(OTHER).say("/memory", "全群共用对话：1 轮")
    assert f"{MEMBER}：今天集合的口号是加油" in await conversation.by(OTHER).say("/memory show", "")
    for text in ("/memory clear", "/memory compact"):
        await conversation.say(text, "需要管理员：这件事要由群管理员来做。")
    await conversation.by(ADMIN).say("/memory clear", "要忘掉这段对话")
    demoted = Conversation(conversation.app, conversation.group_id, ADMIN, claimed_role="member")
    await demoted.say("确认", "需要管理员")
    await conversation.by(ADMIN).say("/memory clear", "要忘掉这段对话")
    await conversation.by(ADMIN).say("确认", "好，忘掉了，共 2 条消息。")
