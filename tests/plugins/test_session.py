"""Tests of /session: the state of a dialogue, its end, and preferences."""

from services.records.conversations import Preferences
from services.session import KnowledgeScope, SessionScope
from tests.plugins.conftest import Rescope
from tests.plugins.conversation import ADMIN, MEMBER, Conversation


async def _preferences(conversation: Conversation) -> Preferences:
    from qq.depends import services  # noqa: PLC0415 - importing it needs a driver

    return await services().conversations.preferences(f"group_{conversation.group_id}_{MEMBER}")


async def test_a_dialogue_is_shown_and_ended(conversation: Conversation) -> None:
    await conversation.say("/session", "还没有对话。")
    await conversation.say("/session end", "没有进行中的对话。")
    await conversation.say("宿舍几点熄灯", "这里还没有资料", to_me=True)
    await conversation.say("/feedback 4", "记下了：4 分")
    shown = await conversation.say("/会话 状态", "你的对话：进行中")
    assert "\n1 轮" in shown
    assert "评价：4.0 分，已解决" in shown
    assert shown.endswith("结束这段：/session end　忘掉内容：/memory clear")
    await conversation.say("/session 结束", "好，这段对话结束了。")
    await conversation.say("/session", "你的对话：已结束")
    await conversation.by(ADMIN).say("/session", "还没有对话。")


async def test_preferences_belong_to_the_session(conversation: Conversation) -> None:
    await conversation.say("/session prefs", "回答偏好：带代码，资料段数用默认")
    await conversation.say("/session prefs 代码 关", "好，回答偏好：不带代码")
    await conversation.say("/session prefs 条数 3", "不带代码，最多 3 段资料")
    assert await _preferences(conversation) == Preferences(include_code=False, max_results=3)
    await conversation.say("/session prefs results 默认", "资料段数用默认")
    for nonsense in ("条数 0", "条数 11", "条数 ³", "代码", "颜色 红"):
        await conversation.say(f"/session prefs {nonsense}", "没看懂")
    assert await _preferences(conversation) == Preferences(include_code=False)
    await conversation.by(ADMIN).say("/session prefs", "带代码，资料段数用默认")


async def test_a_shared_session_is_changed_by_admins(conversation: Conversation, rescope: Rescope) -> None:
    rescope(KnowledgeScope.GROUP, SessionScope.GROUP)
    await conversation.say("/session prefs 代码 关", "需要管理员")
    await conversation.say("/session end", "需要管理员")
    await conversation.say("/session prefs", "带代码")
    await conversation.by(ADMIN).say("/session prefs 代码 关", "不带代码")
    await conversation.say("/session prefs", "不带代码")
