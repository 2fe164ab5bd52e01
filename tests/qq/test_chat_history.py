"""How the answer to a review is looked for among the last messages of a group."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nonebot.adapters.onebot.v11.exception import ActionFailed

from qq.chat_history import find_answer
from services.records.reviews import Decided, Review, ReviewReason, ReviewRequest
from services.records.tables import ReviewState
from services.reviews.models import Missing

SELF_ID, GROUP, QUESTION_ID = 3889000001, 777, 5
SENT_AT = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
SIGNATURE = "（由 小李 审核，编号 12）"


def review() -> Review:
    request = ReviewRequest(
        chat=f"group_{GROUP}",
        collection=f"group_{GROUP}",
        self_id=str(SELF_ID),
        group_id=GROUP,
        session_id=f"group_{GROUP}_1",
        asker_id=1,
        question="能退款吗",
        draft="七天内可以退。",
        reason=ReviewReason.REQUESTED,
        question_id=QUESTION_ID,
    )
    return Review(
        id=1,
        number=12,
        request=request,
        state=ReviewState.SENDING,
        opened_at=SENT_AT - timedelta(days=3),
        decision=Decided.APPROVED,
        answer="七天内可以退。",
        decided_by=10003,
        decided_by_name="小李",
        sent_at=SENT_AT,
    )


def message(text: str, seconds: int, *, message_id: int = 9, author: int = SELF_ID, quoted: int | None = None) -> Any:
    reply = [] if quoted is None else [{"type": "reply", "data": {"id": str(quoted)}}]
    return {
        "message_id": message_id,
        "time": int(SENT_AT.timestamp()) + seconds,
        "sender": {"user_id": author},
        "message": [*reply, {"type": "text", "data": {"text": text}}],
    }


OLDER = message("早上好", -60, message_id=8, author=1)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        # By its signature, or by the line behind a merged forward.
        ({"messages": [OLDER, message(f"七天内可以退。\n\n{SIGNATURE}", 1)]}, 9),
        ({"messages": [OLDER, message("内容较长，请看上面的合并转发。", 1, quoted=QUESTION_ID)]}, 9),
        ({"messages": [OLDER, message("内容较长，请看上面的合并转发。", -300, quoted=QUESTION_ID)]}, Missing.ABSENT),
        # What the asker was told at first.
        ({"messages": [OLDER, message("这个我拿不准，已请管理员看。", 0, quoted=QUESTION_ID)]}, Missing.ABSENT),
        # Other people repeat it, and other questions are answered.
        ({"messages": [OLDER, message(f"七天内可以退。\n\n{SIGNATURE}", 1, author=10002)]}, Missing.ABSENT),
        ({"messages": [OLDER, message("别的回答", 1, quoted=6)]}, Missing.ABSENT),
        # The list does not go back to the moment when it was sent.
        ({"messages": [message("新消息", 60)]}, Missing.UNKNOWN),
        ({"messages": []}, Missing.UNKNOWN),
        (None, Missing.UNKNOWN),
        ({"messages": "none"}, Missing.UNKNOWN),
        ({"messages": [None, {"message": 3, "sender": 4, "time": "x"}]}, Missing.UNKNOWN),
        (ActionFailed(retcode=1404), Missing.UNKNOWN),
    ],
)
async def test_the_answer_is_looked_for(listed: Any, expected: int | Missing) -> None:
    async def call_api(action: str, **parameters: Any) -> Any:
        assert (action, parameters["group_id"]) == ("get_group_msg_history", GROUP)
        if isinstance(listed, Exception):
            raise listed
        return listed

    assert await find_answer(call_api, review()) == expected
