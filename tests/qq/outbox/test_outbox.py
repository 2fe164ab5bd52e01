"""Tests of what is sent, in which order and format, and of what happens if QQ or the account does not accept it."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nonebot.adapters.onebot.v11 import Message
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from qq.chat import Chat
from qq.outbox.delivery import Delivery, Posted
from qq.outbox.formats import split_text
from qq.outbox.outbox import Outbox
from qq.outbox.replies import File, Forward, Picture
from qq.outbox.send_queue import Priority
from qq.recalls import Recalls
from qq.render.drawings import Code, Drawing, Table
from services.settings import SendSettings

TEXTS = st.text(alphabet=st.sampled_from("一二三四五。！？\n ab；"), max_size=400)
GROUP, OTHER = Chat("1", 777), Chat("1", 778)


class QQ:
    """A connected account that records what it is sent. `answer` returns the result of a call, or raises.

    `accepts` decides about the content of a message.
    """

    def __init__(self) -> None:
        self.connected = True
        self.calls: list[tuple[str, str]] = []
        self.answer: Callable[[str], Any] = lambda _: {"message_id": 1, "file_id": "f"}
        self.accepts: Callable[[Message], bool] = lambda _: True
        self.messages: list[Message] = []

    async def call_api(self, api: str, **data: Any) -> Any:
        await asyncio.sleep(0)
        result = self.answer(api)
        message = data.get("message", Message())
        if not self.accepts(message):
            raise ActionFailed(retcode=1200, message="rich media transfer failed")
        self.messages.append(message)
        text = message.extract_plain_text()
        self.calls.append((api, text))
        return result


async def _draw(drawing: Drawing) -> bytes | None:
    """Draw anything but code."""
    return f"PNG of {drawing.template}".encode() if isinstance(drawing, Table) else None


def _outbox(qq: QQ, recalls: Recalls | None = None, **options: float) -> Outbox:
    pace = SendSettings(group_interval_s=0.02, per_minute=0)
    return Outbox(pace, recalls or Recalls(), _draw, lambda _: qq if qq.connected else None, **options)


def _refuses(*actions: str) -> Callable[[str], Any]:
    def answer(api: str) -> Any:
        if api in actions:
            raise ActionFailed(retcode=1200, message="风控")
        return {"message_id": 1, "file_id": "f"}

    return answer


@given(TEXTS, st.integers(min_value=4, max_value=60))
def test_pieces_are_the_text(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)


def test_paragraphs_before_lines_before_sentences() -> None:
    assert split_text("甲甲甲甲\n\n乙乙。乙", 8) == ["甲甲甲甲\n\n", "乙乙。乙"]
    assert split_text("甲甲。甲甲\n乙乙乙", 7) == ["甲甲。甲甲\n", "乙乙乙"]
    assert split_text("一二三。四五六。", 5) == ["一二三。", "四五六。"]
    assert split_text("甲甲甲。乙乙乙乙", 7) == ["甲甲甲。", "乙乙乙乙"]


async def test_answers_overtake_notices_that_wait() -> None:
    qq = QQ()
    outbox = _outbox(qq)
    notices = [asyncio.create_task(outbox.send(GROUP, f"通知{n}", priority=Priority.NOTICE)) for n in range(5)]
    await asyncio.sleep(0)
    await outbox.send(GROUP, "回答", 5)
    await asyncio.gather(*notices)
    assert [text for _, text in qq.calls] == ["通知0", "回答", "通知1", "通知2", "通知3", "通知4"]
    assert outbox.waiting == 0


async def test_an_account_that_is_away_is_waited_for_once_and_refuses_nothing() -> None:
    qq = QQ()
    outbox = _outbox(qq, reconnect_s=0.2)
    qq.connected = False
    began = asyncio.get_running_loop().time()
    results = await asyncio.gather(
        *(outbox.send(GROUP, f"短{n}") for n in range(3)), outbox.send(GROUP, File("a", b"", ""))
    )
    assert results == [Delivery.AWAY] * 4
    assert asyncio.get_running_loop().time() - began < 0.5, "one wait for all of them, in one format"
    assert qq.calls == []

    late = asyncio.create_task(outbox.send(GROUP, "回来再说"))
    await asyncio.sleep(0.05)
    qq.connected = True
    outbox.account_connected("1")
    assert await late is Delivery.SENT
    assert qq.calls == [("send_msg", "回来再说")]


@pytest.mark.parametrize("gone", [ApiNotAvailable()])
async def test_a_socket_that_ends_before_the_call_costs_nothing(gone: Exception) -> None:
    qq = QQ()
    failures = [gone, gone]

    def answer(_api: str) -> Any:
        if failures:
            raise failures.pop()
        return {"message_id": 1}

    qq.answer = answer
    assert await _outbox(qq).send(GROUP, "一次") is Delivery.SENT
    assert qq.calls == [("send_msg", "一次")]


async def test_a_send_without_an_answer_is_not_repeated() -> None:
    qq = QQ()
    asked: list[str] = []

    def answer(api: str) -> Any:
        asked.append(api)
        raise NetworkError("timeout")

    qq.answer = answer
    assert await _outbox(qq).send(GROUP, "也许到了") is Delivery.SENT
    assert asked == ["send_msg"]


async def test_a_forward_is_announced_after_qq_took_it() -> None:
    qq = QQ()
    outbox = _outbox(qq)
    await outbox.send(GROUP, "长。" * 1000, 5)
    assert [api for api, _ in qq.calls] == ["send_group_forward_msg", "send_msg"]
    assert "约 2000 字" in qq.calls[1][1]
    qq.calls.clear()
    qq.answer = _refuses("send_group_forward_msg", "upload_group_file")
    await outbox.send(GROUP, "长。" * 1000, 5)
    assert not [text for _, text in qq.calls if "合并转发" in text], "what was refused is not announced"


async def test_a_delivery_whose_note_is_refused_is_not_repeated_in_another_form() -> None:
    qq = QQ()
    qq.answer = _refuses("send_msg")
    assert await _outbox(qq).send(GROUP, "长。" * 1000, 5) is Delivery.SENT
    assert [api for api, _ in qq.calls] == ["send_group_forward_msg"]


async def test_what_qq_takes_in_no_form_is_refused() -> None:
    qq = QQ()
    qq.answer = _refuses("send_msg", "send_group_forward_msg", "upload_group_file")
    assert await _outbox(qq).send(GROUP, "短") is Delivery.REFUSED


TABLE = Table(("甲", "乙"), (("1", "2"),))
PICTURE = Picture((TABLE, TABLE), "（表格见下图）", "甲，乙\n1，2")


async def test_a_picture_is_one_message_with_its_caption() -> None:
    qq = QQ()
    assert await _outbox(qq).send(GROUP, PICTURE, 5) is Delivery.SENT
    (message,) = qq.messages
    assert [segment.type for segment in message] == ["reply", "text", "image", "image"]
    assert message.extract_plain_text() == "（表格见下图）"
    encoded = message[2].data["file"].removeprefix("base64://")
    assert base64.b64decode(encoded) == b"PNG of table.html"
    assert message[2].data["summary"] == "[表格]"


async def test_a_picture_that_cannot_be_drawn_or_is_refused_is_sent_as_text() -> None:
    qq = QQ()
    await _outbox(qq).send(GROUP, Picture((TABLE, Code("x")), "（表格见下图）", "全文"), 5)
    assert qq.calls == [("send_msg", "全文")], "one part cannot be drawn"

    qq = QQ()
    qq.accepts = lambda message: all(segment.type != "image" for segment in message)
    assert await _outbox(qq).send(GROUP, PICTURE, 5) is Delivery.SENT
    assert qq.calls == [("send_msg", "甲，乙\n1，2")]

    qq = QQ()
    await _outbox(qq).send(GROUP, Picture((TABLE,), "长" * 2000, "长" * 2100), 5)
    assert [api for api, _ in qq.calls] == ["send_group_forward_msg", "send_msg"], "too long for one message"


async def test_a_picture_without_an_answer_is_not_repeated_as_text() -> None:
    for failure in (NetworkError("timeout"), ActionFailed(retcode=1200, message="Timeout: NTEvent")):
        qq = QQ()
        asked: list[str] = []

        def answer(api: str, failure: Exception = failure, asked: list[str] = asked) -> Any:
            asked.append(api)
            raise failure

        qq.answer = answer
        assert await _outbox(qq).send(GROUP, PICTURE, 5) is Delivery.SENT
        assert asked == ["send_msg"]


async def test_a_forward_that_is_refused_is_sent_as_text() -> None:
    qq = QQ()
    outbox = _outbox(qq)
    await outbox.send(GROUP, Forward(("一", "二"), "看上面"), 5)
    assert [api for api, _ in qq.calls] == ["send_group_forward_msg", "send_msg"]
    qq.calls.clear()
    qq.answer = _refuses("send_group_forward_msg")
    await outbox.send(GROUP, Forward(("一", "二"), "看上面"), 5)
    assert qq.calls == [("send_msg", "一\n\n二")]


async def test_a_file_that_is_refused_is_not_announced() -> None:
    qq = QQ()
    qq.answer = lambda _: {}
    assert await _outbox(qq).send(GROUP, File("a.csv", b"x", "结果在文件里")) is Delivery.REFUSED
    assert [text for _, text in qq.calls] == [""], "an empty success is none"


async def test_answers_to_a_recalled_message_are_not_sent() -> None:
    qq, recalls = QQ(), Recalls()
    outbox = _outbox(qq, recalls)
    first = asyncio.create_task(outbox.send(GROUP, "前一个", 4))
    second = asyncio.create_task(outbox.send(GROUP, "被撤回的", 5))
    elsewhere = asyncio.create_task(outbox.send(OTHER, "别的群", 5))
    await asyncio.sleep(0)
    recalls.add(GROUP, 5)
    assert await asyncio.gather(first, second, elsewhere) == [Delivery.SENT, Delivery.RECALLED, Delivery.SENT]
    assert await outbox.send(GROUP, "晚到的回答", 5) is Delivery.RECALLED
    assert {text for _, text in qq.calls} == {"前一个", "别的群"}


async def test_a_cancelled_sender_holds_up_nobody() -> None:
    qq = QQ()
    outbox = _outbox(qq)
    waiting = [asyncio.create_task(outbox.send(GROUP, f"{n}")) for n in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[2].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await outbox.send(GROUP, "后来") is Delivery.SENT
    assert [text for _, text in qq.calls if text not in "02"] == ["1", "3", "后来"]
    assert outbox.waiting == 0


async def test_a_closed_outbox_lets_everybody_go() -> None:
    qq = QQ()
    qq.connected = False
    outbox = _outbox(qq)
    waiting = asyncio.create_task(outbox.send(GROUP, "等"))
    await asyncio.sleep(0)
    outbox.close()
    assert await waiting is Delivery.AWAY
    assert await outbox.send(GROUP, "再等") is Delivery.AWAY


async def test_the_ids_of_all_messages_of_a_reply_are_returned() -> None:
    qq = QQ()
    ids = iter(range(11, 99))
    qq.answer = lambda _: {"message_id": next(ids), "file_id": "f"}
    outbox = _outbox(qq)
    assert await outbox.post(GROUP, "短") == Posted(Delivery.SENT, (11,))
    # The forward, and the line that follows it.
    assert await outbox.post(GROUP, Forward(("一", "二"), "注")) == Posted(Delivery.SENT, (12, 13))
    qq.answer = lambda _: {"message_id": 0}
    assert await outbox.post(GROUP, "没有编号") == Posted(Delivery.SENT)
    qq.answer = _refuses("send_msg", "send_group_forward_msg", "upload_group_file")
    assert await outbox.post(GROUP, "发不出") == Posted(Delivery.REFUSED)
