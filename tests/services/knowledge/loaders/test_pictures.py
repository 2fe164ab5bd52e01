"""Pictures are counted where they may contain text that is not read."""

import io
from pathlib import Path

import docx
import pptx
from docx.shared import Cm
from PIL import Image
from pptx.util import Inches

from services.knowledge.loaders import LOADERS
from services.knowledge.models import Omissions
from tests.samples import documents


def picture() -> io.BytesIO:
    data = io.BytesIO()
    Image.new("L", (80, 60), 200).save(data, "PNG")
    return data


def pictures(path: Path) -> int:
    omissions = Omissions()
    list(LOADERS[path.suffix[1:]].loader()(path, omissions))
    return omissions.pictures


def test_docx_counts_pictures_but_no_small_marks(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("安装步骤如下图。")
    document.add_picture(picture(), width=Cm(8))
    document.add_table(rows=1, cols=1).cell(0, 0).paragraphs[0].add_run().add_picture(picture(), width=Cm(5))
    document.add_picture(picture(), width=Cm(0.5))
    document.save(str(tmp_path / "a.docx"))
    assert pictures(tmp_path / "a.docx") == 2


def test_pptx_counts_the_pictures_of_its_slides(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    for _ in range(2):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.add_picture(picture(), Inches(1), Inches(2), Inches(3))
        assert slide.shapes.title is not None
        slide.shapes.title.text = "流程"
    presentation.save(str(tmp_path / "a.pptx"))
    assert pictures(tmp_path / "a.pptx") == 2


def test_pdf_counts_pages_that_are_only_a_picture(tmp_path: Path) -> None:
    assert pictures(documents.partly_scanned_pdf(tmp_path / "a.pdf")) == 1
    assert pictures(documents.regulations_pdf(tmp_path / "b.pdf")) == 0
