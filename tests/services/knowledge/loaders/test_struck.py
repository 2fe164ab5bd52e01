"""What is struck through says so in every format that has such text."""

import doctest
from pathlib import Path

import docx
import openpyxl
import pytest
from openpyxl.styles import Font

from services.knowledge.loaders import LOADERS, struck
from services.knowledge.models import Omissions


def text_of(path: Path) -> str:
    sections = LOADERS[path.suffix[1:]].loader()(path, Omissions())
    return "\n".join(f"{section.header}\n{section.text}" for section in sections)


def test_the_examples() -> None:
    assert doctest.testmod(struck).failed == 0


def test_runs_of_a_word_document(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("每队限 ")
    for piece in ("3", "0"):
        paragraph.add_run(piece).font.strike = True
    paragraph.add_run(" 45 人")
    document.save(str(tmp_path / "a.docx"))
    assert "每队限 （已划去：30） 45 人" in text_of(tmp_path / "a.docx")


def test_cells_of_a_sheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["项目", "日期"], ["报名", "周三"], ["抽签", "周五"]):
        sheet.append(row)
    sheet["B2"].font = Font(strike=True)
    book.save(tmp_path / "a.xlsx")
    assert "报名 | （已划去：周三）\n抽签 | 周五" in text_of(tmp_path / "a.xlsx")


@pytest.mark.parametrize("tag", ["del", "s", "strike"])
def test_elements_of_a_page(tmp_path: Path, tag: str) -> None:
    page = tmp_path / "a.html"
    table = f"<table><tr><td>项目<td>价格<tr><td>帽子<td><{tag}>9</{tag}>7</table>"
    page.write_text(f"<p>限 <{tag}><b>3</b>0</{tag}> 45 人<{tag}> </{tag}></p>{table}", encoding="utf-8")
    assert "限 （已划去：30） 45 人\n" in text_of(page)
    assert "帽子 | （已划去：9）7" in text_of(page)


def test_deep_nesting_is_read(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>" + "<s>" * 3000 + "旧" + "</s>" * 3000 + "新</p>", encoding="utf-8")
    assert "新" in text_of(page)
