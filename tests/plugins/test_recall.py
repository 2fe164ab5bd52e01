"""Tests of recalled messages."""

from tests.plugins.conversation import Conversation


async def test_a_recalled_question_is_not_answered(conversation: Conversation) -> None:
    question = conversation.message("/help")
    await conversation.send(conversation.notice("group_recall", message_id=question.message_id))
    await conversation.send(question)
    # The same words in another message are answered.
    await conversation.say("/help", "你能用的命令")


async def test_a_recall_in_another_group_changes_nothing(conversation: Conversation) -> None:
    question = conversation.message("/help")
    elsewhere = Conversation(conversation.app, 1)
    await elsewhere.send(elsewhere.notice("group_recall", message_id=question.message_id))
    await conversation.send(question, "你能用的命令")
