"""Tests of the real recognition, in its process: what it reads, what it refuses, and that it fetches nothing."""

import zlib
from collections.abc import AsyncIterator
from io import BytesIO

import pytest
from PIL import Image, ImageDraw

from services.pictures.models import PictureText, Unread
from services.pictures.ocr import is_installed
from services.pictures.worker import PictureWorker
from tests.services.pictures.drawings import drawn, encoded
from tests.services.pictures.recognitions import open_offline

pytestmark = pytest.mark.skipif(not is_installed(), reason="rapidocr is optional: make ocr")


@pytest.fixture(scope="module")
async def worker() -> AsyncIterator[PictureWorker]:
    opened = PictureWorker(open_offline)
    yield opened
    await opened.aclose()


async def test_an_error_message_keeps_its_lines(worker: PictureWorker) -> None:
    lines = ["$ python train.py", "ModuleNotFoundError: No module named 'mmcv'", "请先安装依赖再运行"]
    for dark in (False, True):
        assert (await worker.read(drawn(*lines, dark=dark))).text.split("\n") == lines


async def test_a_transparent_picture_is_read(worker: PictureWorker) -> None:
    opaque = Image.open(BytesIO(drawn("ERR-4032 打印机缺墨"))).convert("L")
    # White letters on nothing, as stickers and icons have them.
    letters = Image.new("RGBA", opaque.size, "white")
    letters.putalpha(opaque.point(lambda value: 255 - value))
    assert "ERR-4032" in (await worker.read(encoded(letters))).text


async def test_every_line_of_a_long_picture_is_read_once(worker: PictureWorker) -> None:
    lines = [f"line {number} of the log" for number in range(1, 61)]
    found = await worker.read(drawn(*lines, width=420))
    assert found.text.split("\n") == lines


async def test_small_letters_of_a_whole_desktop_are_found(worker: PictureWorker) -> None:
    many = [f"[{number}] error: undefined reference to symbol_{number} in core_{number}.o" for number in range(10, 30)]
    few = ["$ ./simulate --steps 5000", "Segmentation fault (core dumped)", "$ dmesg | tail"]
    for lines in (many, few):
        desktop = Image.new("RGB", (2560, 1440), "white")
        desktop.paste(Image.open(BytesIO(drawn(*lines, size=13))).convert("RGB"), (100, 200))
        found = (await worker.read(encoded(desktop))).text.split("\n")
        assert len(found) == len(lines)


async def test_a_picture_without_text_has_none(worker: PictureWorker) -> None:
    photo = Image.new("RGB", (300, 300), "green")
    ImageDraw.Draw(photo).ellipse((50, 50, 250, 250), "red")
    assert await worker.read(encoded(photo)) == PictureText(unread=Unread.NO_TEXT)
    assert await worker.read(encoded(Image.new("1", (2, 2)))) == PictureText(unread=Unread.NO_TEXT)


async def test_a_bomb_is_refused_by_its_header(worker: PictureWorker) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = (60_000).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1 << 20)))
    assert await worker.read(bomb) == PictureText(unread=Unread.TOO_LARGE)


async def test_a_damaged_picture_is_unreadable(worker: PictureWorker) -> None:
    whole = drawn("ERR-4032")
    assert (await worker.read(whole[: len(whole) // 2])).unread is Unread.UNREADABLE
    assert (await worker.read(b"\xff\xd8\xff" + bytes(500))).unread in (Unread.UNREADABLE, Unread.NOT_A_PICTURE)
