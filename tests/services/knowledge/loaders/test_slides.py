"""Slides are read as their audience reads them: without slide numbers, and with titles as headings of what follows."""

import doctest
import io
from collections.abc import Callable
from pathlib import Path

import pptx
import pytest
from PIL import Image
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls
from pptx.shapes.autoshape import Shape
from pptx.slide import Slide
from pptx.util import Inches

from services.knowledge.loaders import LOADERS, page_numbers
from services.knowledge.models import Omissions, Section

Draw = Callable[[Slide], None]


def load(path: Path, *slides: Draw) -> list[Section]:
    presentation = pptx.Presentation()
    for draw in slides:
        draw(presentation.slides.add_slide(presentation.slide_layouts[6]))
    presentation.save(str(path))
    return list(LOADERS["pptx"].loader()(path, Omissions()))


def box(slide: Slide, text: str, top: float = 3.0) -> Shape:
    shape = slide.shapes.add_textbox(Inches(1), Inches(top), Inches(6), Inches(0.4))
    shape.text_frame.text = text
    return shape


def placeholder(slide: Slide, kind: str, text: str, top: float = 1.0) -> None:
    """Make a text box a placeholder, with a number that differs from PowerPoint's own."""
    shape = box(slide, text, top)
    shape.element.nvSpPr.nvPr.append(parse_xml(f'<p:ph {nsdecls("p")} type="{kind}" idx="4294967295"/>'))


def slide(title: str = "", *texts: str, picture: bool = False) -> Draw:
    def draw(one: Slide) -> None:
        if title:
            placeholder(one, "title", title)
        for number, text in enumerate(texts):
            box(one, text, 2 + 0.5 * number)
        if picture:
            data = io.BytesIO()
            Image.new("RGB", (60, 60), 128).save(data, "PNG")
            one.shapes.add_picture(data, Inches(1), Inches(4))

    return draw


def test_slide_numbers_dates_and_footers_are_no_text(tmp_path: Path) -> None:
    def draw(one: Slide) -> None:
        placeholder(one, "sldNum", "20", 7)
        placeholder(one, "ftr", "安全处", 7)
        placeholder(one, "dt", "2026/3/1", 7)
        box(one, "废液倒入专用桶，每周五下午收一次。")
        number = box(one, "", 5)
        number.text_frame.paragraphs[0]._p.append(  # pyright: ignore[reportPrivateUsage]
            parse_xml(f'<a:fld {nsdecls("a")} id="{{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}}" type="slidenum">'
                      "<a:t>20</a:t></a:fld>")
        )  # fmt: skip

    assert load(tmp_path / "a.pptx", draw) == [Section("废液倒入专用桶，每周五下午收一次。", 1)]


def test_running_heads_in_text_boxes_are_no_text(tmp_path: Path) -> None:
    def with_head(number: int, text: str) -> Draw:
        def draw(one: Slide) -> None:
            box(one, "安全培训 第7讲", 0.2)
            box(one, f"第 {number} 页", 7)
            box(one, text)

        return draw

    texts = ["进门先登记，再领实验服。", "废液分类，倒入专用桶。", "离开前，关好通风橱。"]
    sections = load(tmp_path / "a.pptx", *(with_head(n, text) for n, text in enumerate(texts, start=1)))
    assert [section.text for section in sections] == texts


def test_a_number_on_a_single_slide_stays(tmp_path: Path) -> None:
    sections = load(tmp_path / "a.pptx", slide("今年的事故", "12"), slide("去年的事故", "15"))
    assert [section.text for section in sections] == ["12", "15"]


@pytest.mark.parametrize("in_box", [False, True])
def test_a_slide_with_only_a_title_is_the_heading_of_those_after_it(tmp_path: Path, *, in_box: bool) -> None:
    def title(text: str) -> Draw:
        return slide("", text) if in_box else slide(text)

    sections = load(
        tmp_path / "a.pptx",
        title("第3讲 实验室安全"),
        title("化学品"),
        slide("领用", "领用须登记。"),
        slide("", "用完须归还。"),
        title("用电"),
        slide("", "插座不得串联。"),
        slide("谢谢大家"),
    )
    assert [(section.page, section.heading, section.text) for section in sections] == [
        (3, ("第3讲 实验室安全", "化学品", "领用"), "领用须登记。"),
        (4, ("第3讲 实验室安全", "化学品"), "用完须归还。"),
        (6, ("第3讲 实验室安全", "用电"), "插座不得串联。"),
    ]


def test_numbered_titles_nest_and_a_title_that_is_only_repeated_says_nothing(tmp_path: Path) -> None:
    sections = load(
        tmp_path / "a.pptx",
        slide("2.1 通风"),
        slide("", "开机前检查滤网。", "2.1.1  开机"),
        slide("", "指示灯须为绿色。"),
        slide("2.1.2 关机步骤", "关机步骤", picture=True),
        slide("2.2 照明", "夜间留一盏灯。"),
    )
    assert [(section.page, section.heading) for section in sections] == [
        (2, ("2.1 通风", "2.1.1 开机")),
        (3, ("2.1 通风", "2.1.1 开机")),
        (5, ("2.2 照明",)),
    ]


def test_a_title_of_a_picture_is_neither_a_chunk_nor_a_heading_of_others(tmp_path: Path) -> None:
    sections = load(tmp_path / "a.pptx", slide("疏散路线图", picture=True), slide("集合", "到操场集合。"))
    assert [section.heading for section in sections] == [("集合",)]


def test_a_title_that_says_something_stays(tmp_path: Path) -> None:
    sections = load(tmp_path / "a.pptx", slide("培训", "请签到。"), slide("补考：6月3日上午"))
    assert [section.text for section in sections] == ["请签到。", "补考：6月3日上午"]


def test_a_text_box_of_its_own_is_not_lost(tmp_path: Path) -> None:
    sections = load(tmp_path / "a.pptx", slide("培训", "请签到。"), slide("", "食堂在图书馆东侧"))
    assert [section.text for section in sections] == ["请签到。", "食堂在图书馆东侧"]


def test_titles_stay_if_no_slide_has_more(tmp_path: Path) -> None:
    sections = load(tmp_path / "a.pptx", slide("疏散路线图", picture=True), slide("集合地点", picture=True))
    assert [section.text for section in sections] == ["疏散路线图", "集合地点"]


def test_the_examples_of_page_numbers() -> None:
    assert doctest.testmod(page_numbers).failed == 0
