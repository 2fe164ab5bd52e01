"""A PDF's Chinese text has spaces only where the page has gaps."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, NameObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from services.knowledge.loaders import LOADERS
from services.knowledge.models import Omissions
from tests.samples.documents import PDF_FONT

_SIZE = 16.0


def printed(path: Path, lines: Sequence[Sequence[str | float]]) -> Path:
    """Write a page as browsers print it: each run is a text object with its own origin; numbers are gaps in points."""
    pdfmetrics.registerFont(UnicodeCIDFont(PDF_FONT))
    canvas = Canvas(str(path), pagesize=A4)
    for number, line in enumerate(lines):
        across = 0.0
        for run in line:
            if isinstance(run, str):
                text = canvas.beginText()
                text.setFont(PDF_FONT, _SIZE)
                text.setTextTransform(1, 0, 0, 1, 60, 700 - 30 * number)
                text.moveCursor(across, 0)
                text.textOut(run)
                canvas.drawText(text)
                across += pdfmetrics.stringWidth(run, PDF_FONT, _SIZE)
            else:
                across += run
    canvas.save()
    writer = PdfWriter(PdfReader(path))
    contents = writer.pages[0].get_contents()
    assert contents is not None
    stream = DecodedStreamObject()
    # The canvas puts every text object at the origin first, which pypdf takes for a new line.
    stream.set_data(contents.get_data().replace(b"BT 1 0 0 1 0 0 Tm", b"BT"))
    writer.pages[0][NameObject("/Contents")] = stream
    writer.write(path)
    return path


def read(path: Path) -> str:
    return "\n".join(section.text for section in LOADERS["pdf"].loader()(path, Omissions()))


def test_runs_that_touch_are_one_word(tmp_path: Path) -> None:
    line = ("请按", "顺", "序被", "检", "索的志愿逐个", "递", "交，第", "2", "次除外。")
    assert PdfReader(printed(tmp_path / "a.pdf", [line])).pages[0].extract_text() == " ".join(line)
    assert read(tmp_path / "a.pdf") == "".join(line)


@pytest.mark.parametrize("gap", [4.0, _SIZE])
def test_names_and_columns_stay_apart(tmp_path: Path, gap: float) -> None:
    path = printed(tmp_path / "a.pdf", [("值日：张三", gap, "李四", gap, "王五", "六")])
    assert read(path) == "值日：张三 李四 王五六"


def test_a_heading_that_is_written_wide_stays_as_it_is(tmp_path: Path) -> None:
    assert read(printed(tmp_path / "a.pdf", [("前", 2 * _SIZE, "言")])) == "前 言"


def test_a_justified_line_is_measured_by_its_own_gaps(tmp_path: Path) -> None:
    stretched = [part for character in "各位同学请按时到场" for part in (character, 0.2 * _SIZE)]
    path = printed(tmp_path / "a.pdf", [["今天", *stretched, _SIZE, "此致"]])
    assert read(path) == "今天各位同学请按时到场 此致"


def test_words_of_other_scripts_keep_their_spaces(tmp_path: Path) -> None:
    assert read(printed(tmp_path / "a.pdf", [("run", 4.0, "the", 4.0, "script", 4.0, "两遍")])) == "run the script 两遍"


@pytest.mark.parametrize(
    ("runs", "shown"),
    [
        (["报名截止", "9月20日", "，逾期不候"], "报名截止9月20日，逾期不候"),
        (["Deadline", 24.0, "2024-09-20"], "Deadline 2024-09-20"),
        (["姓名：", 120.0, "张三"], "姓名： 张三"),
        (["左栏", 120.0, "右栏"], "左栏\n右栏"),
    ],
)
def test_text_objects_on_one_line_are_one_line(tmp_path: Path, runs: list[str | float], shown: str) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont(PDF_FONT))
    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    across = 60.0
    for run in runs:
        if isinstance(run, str):
            canvas.setFont(PDF_FONT, _SIZE)
            canvas.drawString(across, 700, run)
            across += canvas.stringWidth(run, PDF_FONT, _SIZE)
        else:
            across += run
    canvas.save()
    (section,) = LOADERS["pdf"].loader()(tmp_path / "a.pdf", Omissions())
    assert section.text == shown
