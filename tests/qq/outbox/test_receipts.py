"""Tests that files that arrive together get one receipt, and that a single file gets its own at once."""

import asyncio
from typing import Any

import pytest

from qq.chat import Chat
from qq.outbox.delivery import Delivery
from qq.outbox.outbox import Outbox
from qq.outbox.receipts import Receipts
from qq.recalls import Recalls
from qq.render.drawings import Drawing
from services.knowledge.models import IngestResult, IngestStatus
from services.settings import SendSettings

GROUP, OTHER = Chat("1", 777), Chat("1", 778)


class QQ:
    """A connected account that records what is said through it."""

    def __init__(self) -> None:
        self.connected = True
        self.said: list[str] = []
        self.seconds = 0.0

    async def call_api(self, api: str, **data: Any) -> Any:
        await asyncio.sleep(self.seconds)
        self.said.append(data["message"].extract_plain_text())
        return {"message_id": 1}


async def draw_nothing(_drawing: Drawing) -> bytes | None:
    return None


def _receipts(qq: QQ, *, show_after_s: float = 5, together_s: float = 30) -> Receipts:
    pace = SendSettings(group_interval_s=0, per_minute=0)
    outbox = Outbox(pace, Recalls(), draw_nothing, lambda _: qq if qq.connected else None, reconnect_s=0.1)
    return Receipts(outbox, show_after_s, together_s, together_s)


def _indexed(name: str) -> IngestResult:
    return IngestResult(IngestStatus.INDEXED, name, 1, 1, 1, 3, 1.0)


async def _file(receipts: Receipts, name: str, seconds: float, chat: Chat = GROUP) -> Delivery:
    with receipts.reading(chat, name):
        await asyncio.sleep(seconds)
    return await receipts.tell(chat, _indexed(name))


async def test_a_file_alone_is_told_at_once() -> None:
    qq = QQ()
    receipts = _receipts(qq)
    async with asyncio.timeout(1):
        assert await _file(receipts, "甲.md", 0) is Delivery.SENT
    assert qq.said == ["「甲.md」已入库，3 块，用时 1.0 秒。"]
    assert receipts.reading_count(GROUP) == 0


async def test_files_together_get_one_receipt() -> None:
    qq = QQ()
    receipts = _receipts(qq)
    files = [asyncio.create_task(_file(receipts, f"{number}.md", number * 0.01)) for number in range(39)]
    await asyncio.sleep(0)
    assert receipts.reading_count(GROUP) == 39
    # Another chat does not wait for them.
    await _file(receipts, "别群.md", 0, OTHER)
    assert qq.said == ["「别群.md」已入库，3 块，用时 1.0 秒。"]
    assert set(await asyncio.gather(*files)) == {Delivery.SENT}
    assert len(qq.said) == 2
    assert qq.said[1].startswith("已入库 39 个。\n已入库：「0.md」「1.md」")
    assert "「38.md」" in qq.said[1]


async def test_what_is_done_is_told_from_time_to_time() -> None:
    qq = QQ()
    receipts = _receipts(qq, together_s=0.1)
    slow = asyncio.create_task(_file(receipts, "慢.md", 0.5))
    await asyncio.gather(_file(receipts, "甲.md", 0), _file(receipts, "乙.md", 0.01))
    assert not slow.done()
    assert qq.said == ["已入库 2 个，还有 1 个正在读。\n已入库：「甲.md」「乙.md」"]
    await slow
    assert qq.said[1:] == ["「慢.md」已入库，3 块，用时 1.0 秒。"]


async def test_what_is_done_while_a_receipt_waits_goes_into_the_next() -> None:
    qq = QQ()
    receipts = _receipts(qq)
    qq.seconds = 0.1
    files = [asyncio.create_task(_file(receipts, "0.md", 0))]
    await asyncio.sleep(0.02)
    # The files follow one after the other, each alone. Without the wait, each would get its own message.
    for number in range(1, 6):
        await asyncio.sleep(0.005)
        files.append(asyncio.create_task(_file(receipts, f"{number}.md", 0)))
    await asyncio.gather(*files)
    assert len(qq.said) == 2
    assert qq.said[1].startswith("已入库 5 个。")


@pytest.mark.parametrize(
    ("names", "sign"), [("甲", "收到「甲.md」，正在入库…"), ("甲乙丙", "收到 3 个文件，正在入库…")]
)
async def test_one_sign_for_all_that_take_long(names: str, sign: str) -> None:
    qq = QQ()
    receipts = _receipts(qq, show_after_s=0.05)
    await asyncio.gather(*(_file(receipts, f"{name}.md", 0.2) for name in names))
    assert qq.said[0] == sign
    assert len(qq.said) == 2


async def test_quick_files_and_further_attempts_are_not_announced() -> None:
    qq = QQ()
    receipts = _receipts(qq, show_after_s=0.05)
    await _file(receipts, "快.md", 0.01)
    with receipts.reading(GROUP, "再试.md", is_announced=True):
        await asyncio.sleep(0.1)
    assert qq.said == ["「快.md」已入库，3 块，用时 1.0 秒。"]


async def test_a_receipt_that_was_not_sent_is_reported_so() -> None:
    qq = QQ()
    receipts = _receipts(qq)
    qq.connected = False
    assert await asyncio.gather(*(_file(receipts, name, 0.01) for name in "甲乙")) == [Delivery.AWAY] * 2


async def test_a_file_that_ends_without_an_outcome_holds_up_nobody() -> None:
    qq = QQ()
    receipts = _receipts(qq)
    hanging = asyncio.create_task(_file(receipts, "断.md", 60))
    await asyncio.sleep(0)
    told = asyncio.create_task(_file(receipts, "甲.md", 0))
    await asyncio.sleep(0.01)
    assert not told.done()
    hanging.cancel()
    async with asyncio.timeout(1):
        assert await told is Delivery.SENT


async def test_closing_leaves_nothing_waiting() -> None:
    qq = QQ()
    receipts = _receipts(qq)
    with receipts.reading(GROUP, "甲.md"):
        told = asyncio.create_task(receipts.tell(GROUP, _indexed("乙.md")))
        await asyncio.sleep(0)
        await receipts.close()
        await asyncio.wait({told})
    assert told.cancelled()
