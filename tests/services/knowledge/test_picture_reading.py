"""Tests of the pictures in files: where their text goes, what is read once, and what the receipt counts as unread."""

import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import docx
import pptx
import pytest
from docx.shared import Cm
from PIL import Image
from pptx.util import Inches
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from services.errors import DocumentRejected
from services.knowledge.builder import IndexBuilder
from services.knowledge.loaders.outline import PICTURED
from services.knowledge.models import Omissions, Passages
from services.knowledge.parsing import ParseLimits, parse_and_split
from services.knowledge.picture_reading import parse_with_pictures
from services.knowledge.picture_shelf import MOST_PICTURES, PictureShelf
from services.pictures.models import PictureText, Unread
from services.pictures.ocr import is_installed
from services.pictures.worker import PictureWorker
from services.records.tables import DocumentRecord, now
from tests.fakes.embeddings import bigram_model
from tests.fakes.index import MemoryIndex
from tests.samples import documents
from tests.services.pictures.drawings import drawn, encoded

LIMITS = ParseLimits()
LOGO, SCREENSHOT, PHOTO, BROKEN = 10, 20, 30, 40
TEXTS = {
    LOGO: PictureText("示例大学"),
    SCREENSHOT: PictureText("连接失败\nERR-4032"),
    PHOTO: PictureText(unread=Unread.NO_TEXT),
    BROKEN: PictureText(unread=Unread.UNREADABLE),
}


def picture(shade: int) -> bytes:
    """Return a picture that the fake recognises by its shade."""
    return encoded(Image.new("L", (80, 60), shade))


def said(shade: int) -> str:
    """Return the text of any other picture. Lines that differ only in a number would be taken for running heads."""
    return f"{chr(0x4E00 + shade)}先生的电话"


class ShadeOcr:
    """Reads the text of `TEXTS` or of `said`, and remembers how often it was asked."""

    def __init__(self) -> None:
        self.shades: list[int] = []

    async def read(self, image: bytes) -> PictureText:
        opened = Image.open(io.BytesIO(image)).convert("L")
        shade = opened.getpixel((1, 1))
        assert isinstance(shade, int)
        self.shades.append(shade)
        return TEXTS.get(shade, PictureText(said(shade)))


async def read(path: Path, ocr: ShadeOcr | PictureWorker | None = None) -> Passages:
    """Return the chunks of a file with its pictures, and check that no place is held while they are read."""
    held: list[str] = []

    @asynccontextmanager
    async def place() -> AsyncGenerator[None]:
        held.append("parse")
        try:
            yield
        finally:
            held.pop()

    class Watched:
        async def read(self, image: bytes) -> PictureText:
            assert not held
            return await (ocr or ShadeOcr()).read(image)

    return await parse_with_pictures(path, path.suffix[1:], LIMITS, 200, 0, path.name, Watched(), place)


def text(passages: Passages) -> str:
    return "\n".join(chunk.text for chunk in passages.chunks)


def _docx(path: Path) -> Path:
    document = docx.Document()
    document.add_picture(io.BytesIO(picture(LOGO)), width=Cm(4))
    document.add_heading("第一章 安装", 1)
    document.add_paragraph("按下图操作。")
    document.add_picture(io.BytesIO(picture(SCREENSHOT)), width=Cm(8))
    document.add_picture(io.BytesIO(picture(LOGO)), width=Cm(4))
    document.add_heading("第二章 排错", 1)
    cell = document.add_table(rows=1, cols=1).cell(0, 0)
    cell.text = "表里的字"
    cell.paragraphs[0].add_run().add_picture(io.BytesIO(picture(50)), width=Cm(5))
    document.add_picture(io.BytesIO(picture(PHOTO)), width=Cm(8))
    document.add_picture(io.BytesIO(picture(BROKEN)), width=Cm(8))
    document.save(str(path))
    return path


async def test_the_pictures_of_a_docx_are_read_under_their_headings(tmp_path: Path) -> None:
    ocr = ShadeOcr()
    found = await read(_docx(tmp_path / "a.docx"), ocr)
    chapters = {chunk.heading[-1] if chunk.heading else "": chunk.text for chunk in found.chunks}
    assert f"按下图操作。\n{PICTURED}连接失败\nERR-4032" in chapters["第一章 安装"]
    assert f"{PICTURED}{said(50)}" in text(found)
    assert said(50) not in chapters["第一章 安装"]
    # The logo is read once, and stands where it comes first.
    assert text(found).count("示例大学") == 1
    assert sorted(ocr.shades) == [LOGO, SCREENSHOT, PHOTO, BROKEN, 50]
    # Only what was not read is told; a photo has nothing to read.
    assert (found.pictures, found.recognised) == (1, True)


async def test_the_pictures_of_slides_are_read_on_their_pages(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    for shade in (SCREENSHOT, 60):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        assert slide.shapes.title is not None
        slide.shapes.title.text = f"流程 {shade}"
        slide.shapes.add_picture(io.BytesIO(picture(shade)), Inches(1), Inches(2), Inches(3))
    presentation.save(str(tmp_path / "a.pptx"))
    found = await read(tmp_path / "a.pptx")
    assert [(chunk.page, chunk.text) for chunk in found.chunks] == [
        (1, f"{PICTURED}连接失败\nERR-4032"),
        (2, f"{PICTURED}{said(60)}"),
    ]
    assert found.pictures == 0


def _scans(path: Path, *shades: int, rotation: int = 0) -> Path:
    canvas = Canvas(str(path))
    for shade in shades:
        canvas.setPageRotation(rotation)
        canvas.drawImage(ImageReader(io.BytesIO(picture(shade))), 0, 0, 500, 700)
        canvas.showPage()
    canvas.save()
    return path


async def test_scanned_pages_have_the_text_of_their_pictures(tmp_path: Path) -> None:
    found = await read(_scans(tmp_path / "a.pdf", SCREENSHOT, 70, BROKEN))
    assert [(chunk.page, chunk.text) for chunk in found.chunks] == [(1, "连接失败\nERR-4032"), (2, said(70))]
    assert found.pictures == 1
    partly = await read(documents.partly_scanned_pdf(tmp_path / "b.pdf"))
    assert partly.pictures == 0


async def test_a_scan_without_legible_text_is_rejected(tmp_path: Path) -> None:
    for shade in (PHOTO, BROKEN):
        with pytest.raises(DocumentRejected) as rejection:
            await read(_scans(tmp_path / "a.pdf", shade))
        assert "没能从图片里认出文字" in rejection.value.user_message


async def test_without_ocr_everything_is_as_before(tmp_path: Path) -> None:
    found = await parse_and_split(_docx(tmp_path / "a.docx"), "docx", LIMITS, 200, 0)
    assert (found.pictures, found.recognised) == (6, False)
    assert PICTURED not in text(found)
    with pytest.raises(DocumentRejected, match="先做文字识别（OCR）再发"):
        await parse_and_split(_scans(tmp_path / "a.pdf", SCREENSHOT), "pdf", LIMITS, 200, 0)
    (tmp_path / "a.png").write_bytes(picture(SCREENSHOT))
    with pytest.raises(DocumentRejected, match="make ocr"):
        await parse_and_split(tmp_path / "a.png", "png", LIMITS, 200, 0)


async def test_a_picture_file_is_its_text(tmp_path: Path) -> None:
    # Many programs give a picture the wrong extension.
    (tmp_path / "a.jpg").write_bytes(picture(SCREENSHOT))
    assert text(await read(tmp_path / "a.jpg")) == "连接失败\nERR-4032"
    (tmp_path / "b.png").write_bytes(picture(PHOTO))
    with pytest.raises(DocumentRejected, match="没有读到文字"):
        await read(tmp_path / "b.png")
    (tmp_path / "c.png").write_bytes(b"hello")
    with pytest.raises(DocumentRejected, match="文件内容不是 png 格式"):
        await read(tmp_path / "c.png")


async def test_only_so_many_pictures_of_a_file_are_read(tmp_path: Path) -> None:
    ocr = ShadeOcr()
    found = await read(_scans(tmp_path / "a.pdf", *range(100, 100 + MOST_PICTURES + 5)), ocr)
    assert len(ocr.shades) == MOST_PICTURES
    assert found.pictures == 5


def test_a_damaged_picture_costs_only_itself(tmp_path: Path) -> None:
    omissions = Omissions(shelf=PictureShelf(tmp_path))

    def damaged() -> bytes:
        raise KeyError("word/media/image1.png")

    assert omissions.text_of(damaged) == ""
    assert omissions.text_of(lambda: picture(LOGO)) == ""
    assert omissions.pictures == 2
    shelf = PictureShelf(tmp_path)
    (name,) = shelf.names()
    assert shelf.picture(name) == picture(LOGO)


@pytest.mark.skipif(not is_installed(), reason="rapidocr is optional: make ocr")
async def test_a_real_scan_is_read(tmp_path: Path) -> None:
    scan = drawn("差旅费报销办法", "住宿标准每晚不超过 350 元。", "Contact: finance@example.cn", width=1200)
    turned = io.BytesIO()
    Image.open(io.BytesIO(scan)).convert("L").rotate(90, expand=True).save(turned, "TIFF", compression=None)
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawImage(ImageReader(io.BytesIO(scan)), 0, 400, 500, 120)
    canvas.showPage()
    canvas.setPageRotation(90)
    canvas.drawImage(ImageReader(turned), 0, 0, 120, 500)
    canvas.save()
    worker = PictureWorker(idle_s=60)
    found = await read(tmp_path / "a.pdf", worker)
    await worker.aclose()
    assert text(found).replace(" ", "").count("住宿标准每晚不超过350元。") == 2
    assert {chunk.page for chunk in found.chunks} == {1, 2}
    assert text(found).count("finance@example.cn") == 2


async def test_a_build_that_begins_again_keeps_nothing_of_another_reading(tmp_path: Path) -> None:
    class Fading(ShadeOcr):
        async def read(self, image: bytes) -> PictureText:
            found = await super().read(image)
            later = {3: PictureText("一页"), 4: PictureText(unread=Unread.NO_TEXT)}
            return later.get(len(self.shades), found)

    async def admit(_count: int) -> None:
        pass

    path = _scans(tmp_path / "a.pdf", 70, 80)
    index = MemoryIndex()
    builder = IndexBuilder(index, bigram_model(), LIMITS, 100, 0, Fading())
    document = DocumentRecord(
        id=1, collection="group_1", number=1, name="a.pdf", version=1, content_hash="a", size=1, file_type="pdf"
    )
    document.stored_name, document.revision, document.group_id, document.uploader_id = "a", 0, 1, 10001
    document.uploaded_at = now()
    for expected in ([said(70), said(80)], ["一页"]):
        await builder.add_words(document, path, admit)
        stored = await index.chunks("group_1", builder.build_id(document))
        assert [chunk.text for chunk in stored] == expected
    assert builder.build_id(document) != IndexBuilder(index, bigram_model(), LIMITS, 100, 0).build_id(document)
