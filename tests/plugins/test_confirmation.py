"""Tests of 确认 and 取消: the same person, the same chat, and the rights of that moment."""

from tests.plugins.conversation import ADMIN, MEMBER, OWNER, Conversation


async def _with_a_note(conversation: Conversation) -> Conversation:
    """Return the admin of a group that knows one note, who was asked whether to delete everything."""
    admin = conversation.by(ADMIN)
    await admin.say("/kb add 值班 周三下午值班的是李强。", "「值班.txt」已入库")
    await admin.say("/kb clear", "要清空知识库，删除全部 1 个文件，不能恢复。60 秒内回复「确认」就执行")
    return admin


async def test_it_is_done_once(conversation: Conversation) -> None:
    admin = await _with_a_note(conversation)
    await admin.say("确认！", "已删除全部 1 个文件。")
    await admin.say("确认")
    await admin.say("取消", "刚才已经确认过了，来不及取消。")
    await admin.say("/kb list", "知识库是空的")


async def test_it_is_cancelled(conversation: Conversation) -> None:
    admin = await _with_a_note(conversation)
    await admin.say("算了", "已取消。")
    await admin.say("确认", "刚才已经取消了，要做就把命令再发一次。")
    await admin.say("/kb list", "共 1 个文件")


async def test_the_word_of_another_person_or_chat_counts_for_nothing(conversation: Conversation) -> None:
    admin = await _with_a_note(conversation)
    await admin.by(OWNER).say("确认")
    await admin.by(MEMBER).say("确认")
    elsewhere = Conversation(conversation.app, 1, ADMIN, "admin")
    await elsewhere.say("确认")
    await admin.say("/kb list", "共 1 个文件")


async def test_an_admin_who_was_demoted_meanwhile_confirms_nothing(conversation: Conversation) -> None:
    await _with_a_note(conversation)
    demoted = Conversation(conversation.app, conversation.group_id, ADMIN, claimed_role="member")
    await demoted.say("确认", "需要管理员：这件事要由群管理员来做。")
    await demoted.say("/kb list", "共 1 个文件")


async def test_what_came_after_the_question_is_asked_about_again(conversation: Conversation) -> None:
    admin = await _with_a_note(conversation)
    await admin.by(OWNER).say("/kb add 食堂 食堂晚上八点关门。", "已入库")
    await admin.say("确认", "又来了 1 个文件，还没有删除。要清空知识库，删除全部 2 个文件，不能恢复。")
    demoted = Conversation(conversation.app, conversation.group_id, ADMIN, claimed_role="member")
    await demoted.say("确认", "需要管理员")
    await admin.say("/kb clear", "删除全部 2 个文件")
    await admin.say("确认", "已删除全部 2 个文件。")
