"""Write files with a text that a person who opens them sees or does not see; each writer tests one way of hiding.

Each writer takes a path and the text, and also writes the line ORDINARY, which is always visible.
"""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import docx
import pptx
from docx.oxml.parser import parse_xml
from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.worksheet import Worksheet
from PIL import Image
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.shapes import MSO_SHAPE
from pptx.oxml.ns import qn
from pptx.shapes.autoshape import Shape
from pptx.slide import Slide
from pptx.util import Emu, Inches, Pt
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

ORDINARY = "ordinary line that everybody reads"
Writer = Callable[[Path, str], Path]
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_W14 = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'


def tagged(text: str) -> str:
    """Return ASCII text in Unicode tags, which no font draws."""
    return "".join(chr(0xE0000 + ord(letter)) for letter in text)


def in_tags(path: Path, text: str) -> Path:
    """Write a text file with tags after its line."""
    path.write_text(f"{ORDINARY}{tagged(text)}", encoding="utf-8")
    return path


# -- Word -------------------------------------------------------------------------------------------------------------


def docx_run(properties: str) -> Writer:
    """Return a writer of a paragraph with one run that has the given run properties."""
    return docx_body(f"<w:p {_W} {_W14}><w:r><w:rPr>{properties}</w:rPr><w:t>%s</w:t></w:r></w:p>")


def docx_body(block: str, styles: str = "") -> Writer:
    """Return a writer of a block in the body, with %s for the text, and of additional styles."""

    def write(path: Path, text: str) -> Path:
        document = docx.Document()
        document.add_paragraph(ORDINARY)
        body = document.element.body
        body.insert(len(body) - 1, parse_xml(block % text))
        if styles:
            for style in parse_xml(f"<w:styles {_W}>{styles}</w:styles>"):
                document.styles.element.append(style)
        document.save(str(path))
        return path

    return write


def _styled(reference: str, styles: str) -> Writer:
    return docx_body(f"<w:p {_W}>{reference}<w:r><w:t>%s</w:t></w:r></w:p>", styles)


def _style(kind: str, name: str, inside: str, base: str = "") -> str:
    based = f'<w:basedOn w:val="{base}"/>' if base else ""
    return f'<w:style w:type="{kind}" w:styleId="{name}"><w:name w:val="{name}"/>{based}{inside}</w:style>'


_VANISHING = "<w:rPr><w:vanish/></w:rPr>"
_CELL = '<w:tc><w:tcPr>{}<w:tcW w:w="2000" w:type="dxa"/></w:tcPr><w:p>{}<w:r>{}<w:t>{}</w:t></w:r></w:p></w:tc>'
_DARK_CELL = '<w:shd w:val="clear" w:fill="333333"/>'
_MERGE_START = '<w:vMerge w:val="restart"/>'
_WHITE_TEXT = '<w:rPr><w:color w:val="FFFFFF"/></w:rPr>'


def _table(rows: str) -> Writer:
    return docx_body(f"<w:tbl {_W}><w:tblPr/><w:tblGrid/>{rows}</w:tbl>")


DOCX_HIDDEN: Mapping[str, Writer] = {
    "vanish": docx_run("<w:vanish/>"),
    "vanish on": docx_run('<w:vanish w:val="true"/>'),
    "specVanish": docx_run("<w:specVanish/>"),
    "webHidden": docx_run("<w:webHidden/>"),
    "white": docx_run('<w:color w:val="FFFFFF"/>'),
    "nearly white": docx_run('<w:color w:val="FDFDFD"/>'),
    "white of the theme": docx_run('<w:color w:val="000000" w:themeColor="background1"/>'),
    "colour of its shading": docx_run('<w:color w:val="1F3864"/><w:shd w:val="clear" w:fill="1F3864"/>'),
    "one point": docx_run('<w:sz w:val="2"/>'),
    "one percent wide": docx_run('<w:w w:val="1"/>'),
    "no fill": docx_run("<w14:textFill><w14:noFill/></w14:textFill>"),
    "character style": docx_body(
        f'<w:p {_W}><w:r><w:rPr><w:rStyle w:val="Ghost"/></w:rPr><w:t>%s</w:t></w:r></w:p>',
        _style("character", "Ghost", _VANISHING),
    ),
    "paragraph style": _styled('<w:pPr><w:pStyle w:val="Ghost"/></w:pPr>', _style("paragraph", "Ghost", _VANISHING)),
    "inherited style": _styled(
        '<w:pPr><w:pStyle w:val="Child"/></w:pPr>',
        _style("paragraph", "Ghost", _VANISHING) + _style("paragraph", "Child", "", "Ghost"),
    ),
    "white on white cell": _table(
        f"<w:tr>{_CELL.format('', '', _WHITE_TEXT, '%s')}{_CELL.format('', '', '', 'b')}</w:tr>"
    ),
    "hidden row": _table(
        f"<w:tr>{_CELL.format('', '', '', 'a')}</w:tr>"
        f"<w:tr><w:trPr><w:hidden/></w:trPr>{_CELL.format('', '', '', '%s')}</w:tr>"
    ),
    "covered cell": _table(
        f"<w:tr>{_CELL.format(_MERGE_START, '', '', 'a')}</w:tr>"
        f"<w:tr>{_CELL.format('<w:vMerge/>', '', '', '%s')}</w:tr>"
    ),
    "deleted": docx_body(
        f'<w:p {_W}><w:del w:id="1" w:author="a"><w:r><w:delText>%s</w:delText></w:r></w:del></w:p>'
    ),
    "moved away": docx_body(f'<w:p {_W}><w:moveFrom w:id="1" w:author="a"><w:r><w:t>%s</w:t></w:r></w:moveFrom></w:p>'),
    "exact line of one twip": _styled('<w:pPr><w:spacing w:line="1" w:lineRule="exact"/></w:pPr>', ""),
}  # fmt: skip

DOCX_SEEN: Mapping[str, Writer] = {
    "vanish off": docx_run('<w:vanish w:val="0"/>'),
    "toggled twice": docx_body(
        f'<w:p {_W}><w:pPr><w:pStyle w:val="Ghost"/></w:pPr><w:r><w:rPr><w:rStyle w:val="Twice"/></w:rPr>'
        "<w:t>%s</w:t></w:r></w:p>",
        _style("paragraph", "Ghost", _VANISHING) + _style("character", "Twice", _VANISHING),
    ),
    "off over style": docx_body(
        f'<w:p {_W}><w:pPr><w:pStyle w:val="Ghost"/></w:pPr><w:r><w:rPr><w:vanish w:val="0"/></w:rPr>'
        "<w:t>%s</w:t></w:r></w:p>",
        _style("paragraph", "Ghost", _VANISHING),
    ),
    "white on dark": docx_run('<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="1F3864"/>'),
    "white on highlight": docx_run('<w:color w:val="FFFFFF"/><w:highlight w:val="darkBlue"/>'),
    "white on dark paragraph": docx_body(
        f'<w:p {_W}><w:pPr><w:shd w:val="clear" w:fill="333333"/></w:pPr><w:r>{_WHITE_TEXT}<w:t>%s</w:t></w:r></w:p>'
    ),
    "white on dark cell": _table(
        f"<w:tr>{_CELL.format(_DARK_CELL, '', _WHITE_TEXT, '%s')}"
        f"{_CELL.format('', '', '', 'b')}</w:tr>"
    ),
    "automatic": docx_run('<w:color w:val="auto"/>'),
    "yellow": docx_run('<w:color w:val="FFFF00"/>'),
    "inserted": docx_body(f'<w:p {_W}><w:ins w:id="1" w:author="a"><w:r><w:t>%s</w:t></w:r></w:ins></w:p>'),
}  # fmt: skip


# -- web pages --------------------------------------------------------------------------------------------------------


def html_body(body: str) -> Writer:
    """Return a writer of a page with %s for the text."""

    def write(path: Path, text: str) -> Path:
        page = f"<!DOCTYPE html><meta charset=utf-8><p>{ORDINARY}</p>{body.replace('%s', text)}<p>the end</p>"
        path.write_text(page, encoding="utf-8")
        return path

    return write


_HTML_HIDDEN = {
    "display": "<p style='display:none'>%s</p>",
    "display important": "<style>.x{display:none!important}</style><p class=x style='display:block'>%s</p>",
    "value that no browser knows": "<p style='display:none;display:bogus'>%s</p>",
    "visibility": "<p style='VISIBILITY : Hidden'>%s</p>",
    "opacity": "<p style='opacity:0%'>%s</p>",
    "font size": "<p style='font-size:0'>%s</p>",
    "font shorthand": "<p style='font:0/0 serif'>%s</p>",
    "white": "<p style='color:#fff'>%s</p>",
    "white font element": "<font color=white>%s</font>",
    "nearly white": "<p style='color:rgb(253,254,255)'>%s</p>",
    "transparent": "<p style='color:transparent'>%s</p>",
    "black on black": "<div style='background:#000'><p style='color:#010101'>%s</p></div>",
    "aria-hidden": "<p aria-hidden=true>%s</p>",
    "hidden": "<p hidden>%s</p>",
    "dialog": "<dialog>%s</dialog>",
    "off the page": "<div style='position:absolute;left:-9999px'>%s</div>",
    "off the page, calculated": "<div style='position:fixed;top:calc(0px - 9999px)'>%s</div>",
    "indented": "<div style='text-indent:-9999px'>%s</div>",
    "clip": "<div style='position:absolute;clip:rect(0,0,0,0)'>%s</div>",
    "clip-path": "<div style='clip-path:inset(100%)'>%s</div>",
    "no height": "<div style='height:0;overflow:hidden'>%s</div>",
    "scaled": "<div style='transform:scale(0)'>%s</div>",
    "class": "<style>.x{display:none}</style><p class=x>%s</p>",
    "id": "<style>#q , .y{ visibility : hidden }</style><p id=q>%s</p>",
    "element": "<style>section{display:none}</style><section><p>%s</p></section>",
    "nested rule": "<style>.a{color:red; .b{display:none}}</style><div class=a>a<p class=b>%s</p></div>",
    "rule for screens": "<style>@media screen{.q{display:none}}</style><p class=q>%s</p>",
    "rule for desktops": "<style>@media(min-width:10px){.q{display:none}}</style><p class=q>%s</p>",
    "variable": "<style>:root{--x:none}.q{display:var(--x)}</style><p class=q>%s</p>",
    "comment inside": "<p style='display:/* */none'>%s</p>",
    "brace in a string": "<style>.q::before{content:'}'}.q{display:none}</style><p class=q>%s</p>",
    "unclosed rule": "<style>.q{display:none</style><p class=q>%s</p>",
    "cell": "<table><tr><td>a<td style='display:none'>%s<tr><td>b<td>c</table>",
    "in a heading": "<h2>Title<span style='display:none'>%s</span></h2>",
    "in code": "<pre>code<span hidden>%s</span></pre>",
    "dot": "<img width=1 height=1 alt='%s'>",
}

_HTML_SEEN = {
    "details": "<details><summary>more</summary>%s</details>",
    "class without a rule": "<p class=sr-only>%s</p>",
    "shown again": "<style>.x{display:none}.x.open{display:block}</style><p class='x open'>%s</p>",
    "hidden on telephones": "<style>@media (max-width:600px){.x{display:none}}</style><p class=x>%s</p>",
    "hidden on paper": "<style>@media print{.x{display:none}}</style><p class=x>%s</p>",
    "white on dark": "<div style='background:#333'><p style='color:#fff'>%s</p></div>",
    "white on a dark table": "<table bgcolor='#000080'><tr><td><font color=white>%s</font><td>b</table>",
    "white on a picture": "<div style='background:url(a.png)'><span style='color:#fff'>%s</span></div>",
    "visible inside": "<div style='visibility:hidden'><p style='visibility:visible'>%s</p></div>",
    "sized inside": "<div style='font-size:0'><p style='font-size:14px'>%s</p></div>",
    "half opaque": "<p style='opacity:.5'>%s</p>",
    "rule for hovering": "<style>a:hover{display:none}</style><a>%s</a>",
    "cut to a height": "<div style='overflow:hidden;height:300px'>%s</div>",
    "gradient letters": "<b style='background:linear-gradient(red,blue);background-clip:text;color:transparent'>%s</b>",
    "rule for something drawn": "<style>.x::before{display:none}</style><p class=x>%s</p>",
    "header of a table": "<style>th{background:#333;color:#fff}</style><table><tr><th>%s<th>b<tr><td>c<td>d</table>",
}

HTML_HIDDEN: Mapping[str, Writer] = {name: html_body(body) for name, body in _HTML_HIDDEN.items()}
HTML_SEEN: Mapping[str, Writer] = {name: html_body(body) for name, body in _HTML_SEEN.items()}


# -- PDF --------------------------------------------------------------------------------------------------------------

_FONT = "/F1 12 Tf "


def pdf_operators(operators: str, *, ordinary: bool = True) -> Writer:
    """Return a writer of a page of 400 by 400 points whose content has %s for the text."""

    def draw(canvas: Canvas, text: str) -> None:
        _write_operators(canvas, operators.replace("%s", text))

    return pdf_page(draw, ordinary=ordinary)


def _write_operators(canvas: Canvas, operators: str) -> None:
    # reportlab has no public way to write raw operators.
    canvas._code.append(operators)  # type: ignore[attr-defined]  # pyright: ignore


def pdf_page(draw: Callable[[Canvas, str], None], *, ordinary: bool = True) -> Writer:
    """Return a writer of a page that a function draws on."""

    def write(path: Path, text: str) -> Path:
        canvas = Canvas(str(path), pagesize=(400, 400))
        canvas.setFont("Helvetica", 12)
        if ordinary:
            canvas.drawString(50, 350, ORDINARY)
        draw(canvas, text)
        canvas.save()
        return path

    return write


def _image(colour: tuple[int, int, int]) -> ImageReader:
    data = io.BytesIO()
    Image.new("RGB", (10, 10), colour).save(data, "PNG")
    data.seek(0)
    return ImageReader(data)


def _in_white(canvas: Canvas, text: str) -> None:
    canvas.setFillGray(1)
    canvas.setFont("Helvetica", 12)
    canvas.drawString(50, 300, text)


def _transparent(canvas: Canvas, text: str) -> None:
    canvas.setFillAlpha(0)
    canvas.drawString(50, 300, text)


def _white_in_a_form(canvas: Canvas, text: str) -> None:
    canvas.beginForm("form")
    _in_white(canvas, text)
    canvas.endForm()
    canvas.doForm("form")


def _on_a_picture(colour: tuple[int, int, int]) -> Callable[[Canvas, str], None]:
    def draw(canvas: Canvas, text: str) -> None:
        canvas.drawImage(_image(colour), 40, 290, 200, 40)
        _in_white(canvas, text)

    return draw


def _on_a_round_box(canvas: Canvas, text: str) -> None:
    canvas.setFillGray(0.2)
    canvas.roundRect(40, 290, 200, 40, 8, stroke=0, fill=1)
    _in_white(canvas, text)


def _recognised(canvas: Canvas, text: str) -> None:
    canvas.drawImage(_image((200, 200, 200)), 0, 0, 400, 400)
    _write_operators(canvas, f"BT {_FONT} 3 Tr 50 200 Td ({text}) Tj ET")


def _over_a_picture(canvas: Canvas, text: str) -> None:
    canvas.drawImage(_image((9, 9, 9)), 0, 0, 400, 300)
    _write_operators(canvas, f"BT {_FONT} 3 Tr 50 200 Td ({text}) Tj ET")


def _switched_off(path: Path, text: str) -> Path:
    """Write a layer that is off when the file is opened."""
    pdf_operators(f"/OC /L BDC BT {_FONT} 50 300 Td (%s) Tj ET EMC")(path, text)
    writer = PdfWriter(clone_from=path)
    layer = writer._add_object(DictionaryObject({NameObject("/Type"): NameObject("/OCG")}))  # pyright: ignore
    resources = writer.pages[0]["/Resources"].get_object()
    assert isinstance(resources, DictionaryObject)
    resources[NameObject("/Properties")] = DictionaryObject({NameObject("/L"): layer})
    default = DictionaryObject({NameObject("/OFF"): ArrayObject([layer])})
    writer.root_object[NameObject("/OCProperties")] = DictionaryObject(
        {NameObject("/OCGs"): ArrayObject([layer]), NameObject("/D"): default}
    )
    writer.write(path)
    return path


def _pdf_kinds(operators: Mapping[str, str]) -> dict[str, Writer]:
    return {name: pdf_operators(code.replace("F ", _FONT, 1)) for name, code in operators.items()}


PDF_HIDDEN: Mapping[str, Writer] = {
    **_pdf_kinds(
        {
            "mode 3": "BT F 3 Tr 50 300 Td (%s) Tj ET",
            "mode 7": "q BT F 7 Tr 50 300 Td (%s) Tj ET Q",
            "mode 7 painted white": "q BT F 7 Tr 50 300 Td (%s) Tj ET 1 g 0 0 400 330 re f Q",
            "white": "BT F 1 g 50 300 Td (%s) Tj ET",
            "white RGB": "BT F 1 1 .99 rg 50 300 Td [(%s)] TJ ET",
            "white CMYK": "BT F 0 0 0 0 k 50 300 Td (%s) Tj ET",
            "white of a space": "/DeviceRGB cs 1 1 1 sc BT F 50 300 Td (%s) Tj ET",
            "white outline": "BT F 1 Tr 1 G 50 300 Td (%s) Tj ET",
            "white on the next line": "BT F 1 g 50 300 Td (%s) ' ET",
            "mode 3, spaced": 'BT F 3 Tr 50 300 Td 0 0 (%s) " ET',
            "below the page": "BT F 50 -300 Td (%s) Tj ET",
            "right of the page": "BT F 1 0 0 1 900 100 Tm (%s) Tj ET",
            "left of the page": "BT F 1 0 0 1 -900 100 Tm (%s) Tj ET",
            "moved off the page": "q 1 0 0 1 5000 0 cm BT F 50 300 Td (%s) Tj ET Q",
            "far along its array": "BT F 50 300 Td [(seen) -90000 (%s)] TJ ET",
            "raised": "BT F 5000 Ts 50 300 Td (%s) Tj ET",
            "half a point": "BT F /F1 0.5 Tf 50 300 Td (%s) Tj ET",
            "small matrix": "BT F .05 0 0 .05 50 300 Tm (%s) Tj ET",
            "squeezed": "BT F 1 Tz 50 300 Td (%s) Tj ET",
            "clip without area": "q 0 0 0 0 re W n BT F 50 300 Td (%s) Tj ET Q",
            "clipped": "q 0 0 20 20 re W n BT F 50 300 Td (%s) Tj ET Q",
            "covered": "BT F 50 300 Td (%s) Tj ET 1 g 40 290 300 40 re f 0 g",
            "black on black": "0 g 40 290 300 40 re f BT F 0.02 g 50 300 Td (%s) Tj ET",
            "white on a white polygon": "1 g 40 290 m 340 290 l 340 330 l 40 330 l h f BT F 50 300 Td (%s) Tj ET",
        }
    ),
    "transparent": pdf_page(_transparent),
    "white in a form": pdf_page(_white_in_a_form),
    "white on a white picture": pdf_page(_on_a_picture((255, 255, 255))),
    "mode 3 over a picture beside text": pdf_page(_over_a_picture),
    "layer that is off": _switched_off,
}

PDF_SEEN: Mapping[str, Writer] = {
    **_pdf_kinds(
        {
            "white on black": "0 g 40 290 300 40 re f BT F 1 g 50 300 Td (%s) Tj ET",
            "grey": "BT F .8 g 50 300 Td (%s) Tj ET",
            "yellow": "BT F 1 1 0 rg 50 300 Td (%s) Tj ET",
            "white with an outline": "BT F 2 Tr 1 g 0 G 50 300 Td (%s) Tj ET",
            "mode 7 painted red": "q BT F 7 Tr 50 300 Td (%s) Tj ET 1 0 0 rg 0 0 400 330 re f Q",
            "in a black frame": "0 g 40 290 300 40 re 42 292 296 36 re f* BT F 50 300 Td (%s) Tj ET",
            "after white": "q 1 g 3 Tr Q BT F 50 300 Td (%s) Tj ET",
            "scaled": "q 100 0 0 100 0 0 cm BT F /F1 .12 Tf .5 3 Td (%s) Tj ET Q",
            "turned over": "q 1 0 0 -1 0 400 cm BT F 1 0 0 -1 50 100 Tm (%s) Tj ET Q",
            "upright": "BT F 0 1 -1 0 50 100 Tm (%s) Tj ET",
            "wrong operands": "/x Tr (a) g BT F 50 300 Td (%s) Tj ET",
            "on grey": ".9 g 40 290 300 40 re f 0 g BT F 50 300 Td (%s) Tj ET",
        }
    ),
    "white on a picture": pdf_page(_on_a_picture((9, 9, 90))),
    "white on a round box": pdf_page(_on_a_round_box),
}

RECOGNISED: Writer = pdf_page(_recognised, ordinary=False)
"""A scanned page with the text that a program has recognised laid over it, without ink."""


# -- PowerPoint -------------------------------------------------------------------------------------------------------


def pptx_slide(draw: Callable[[Slide, str], None]) -> Writer:
    """Return a writer of a slide with an ordinary text box, on which a function draws."""

    def write(path: Path, text: str) -> Path:
        presentation = pptx.Presentation()
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        text_box(slide, ORDINARY)
        draw(slide, text)
        presentation.save(str(path))
        return path

    return write


def text_box(slide: Slide, text: str, left: int = 914400, top: int = 914400) -> Shape:
    """Add a text box of 4 by 1 inches and return it."""
    box = slide.shapes.add_textbox(Emu(left), Emu(top), Inches(4), Inches(1))
    box.text_frame.text = text
    return box


def _box_below(slide: Slide, text: str) -> Shape:
    return text_box(slide, text, top=4_000_000)


def _coloured(colour: RGBColor | MSO_THEME_COLOR, fill: RGBColor | None = None) -> Callable[[Slide, str], None]:
    def draw(slide: Slide, text: str) -> None:
        box = _box_below(slide, text)
        if fill is not None:
            box.fill.solid()
            box.fill.fore_color.rgb = fill
        font = box.text_frame.paragraphs[0].runs[0].font
        if isinstance(colour, RGBColor):
            font.color.rgb = colour
        else:
            font.color.theme_color = colour

    return draw


def _tiny(slide: Slide, text: str) -> None:
    _box_below(slide, text).text_frame.paragraphs[0].runs[0].font.size = Pt(1)


def _hidden_shape(slide: Slide, text: str) -> None:
    next(_box_below(slide, text).element.iter(qn("p:cNvPr"))).set("hidden", "1")


def _without_fill(slide: Slide, text: str) -> None:
    _box_below(slide, text).text_frame.paragraphs[0].runs[0].font.fill.background()


def _covered_cell(slide: Slide, text: str) -> None:
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    table.cell(0, 0).text = "a"
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(0, 1).text_frame.text = text


def _group_beside_the_slide(slide: Slide, text: str) -> None:
    group = slide.shapes.add_group_shape()
    box = group.shapes.add_textbox(Emu(0), Emu(0), Inches(1), Inches(1))
    box.text_frame.text = text
    group.left = Inches(30)


def _hidden_slide(path: Path, text: str) -> Path:
    presentation = pptx.Presentation()
    layout = presentation.slide_layouts[6]
    text_box(presentation.slides.add_slide(layout), ORDINARY)
    slide = presentation.slides.add_slide(layout)
    text_box(slide, text)
    slide.element.set("show", "0")
    presentation.save(str(path))
    return path


def _over_a_dark_shape(slide: Slide, text: str) -> None:
    shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(0), Emu(3_900_000), Inches(9), Inches(2))
    shape.fill.solid()
    shape.fill.fore_color.rgb = RGBColor(0, 0, 0)
    _coloured(RGBColor(255, 255, 255))(slide, text)


PPTX_HIDDEN: Mapping[str, Writer] = {
    "hidden slide": _hidden_slide,
    "left of the slide": pptx_slide(lambda slide, text: text_box(slide, text, left=-9_000_000) and None),
    "below the slide": pptx_slide(lambda slide, text: text_box(slide, text, top=99_000_000) and None),
    "group beside the slide": pptx_slide(_group_beside_the_slide),
    "hidden shape": pptx_slide(_hidden_shape),
    "white": pptx_slide(_coloured(RGBColor(255, 255, 255))),
    "white of the theme": pptx_slide(_coloured(MSO_THEME_COLOR.BACKGROUND_1)),
    "colour of its shape": pptx_slide(_coloured(RGBColor(0, 0, 128), RGBColor(0, 0, 128))),
    "one point": pptx_slide(_tiny),
    "without fill": pptx_slide(_without_fill),
    "covered cell": pptx_slide(_covered_cell),
}

PPTX_SEEN: Mapping[str, Writer] = {
    "white on blue": pptx_slide(_coloured(RGBColor(255, 255, 255), RGBColor(0, 0, 128))),
    "white over a dark shape": pptx_slide(_over_a_dark_shape),
    "blue": pptx_slide(_coloured(RGBColor(0, 0, 200))),
    "partly beside the slide": pptx_slide(lambda slide, text: text_box(slide, text, left=-900_000) and None),
}


# -- Excel ------------------------------------------------------------------------------------------------------------


def xlsx_sheet(change: Callable[[Worksheet, Cell], None], row: int = 3, column: int = 2) -> Writer:
    """Return a writer of a sheet of three rows and columns with the text in one cell, which a function changes."""

    def write(path: Path, text: str) -> Path:
        workbook = Workbook()
        sheet = workbook.worksheets[0]
        for cells in ((ORDINARY, "b", "c"), ("d", "e", "f"), ("g", "h", "i")):
            sheet.append(cells)
        cell = sheet.cell(row, column, text)
        assert isinstance(cell, Cell)
        change(sheet, cell)
        workbook.save(path)
        return path

    return write


def _hidden_sheet(path: Path, text: str, state: Literal["hidden", "veryHidden"]) -> Path:
    workbook = Workbook()
    workbook.worksheets[0].append([ORDINARY])
    sheet: Worksheet = workbook.create_sheet("other")
    sheet.append([text])
    sheet.sheet_state = state
    workbook.save(path)
    return path


def _hide_row(sheet: Worksheet, cell: Cell) -> None:
    sheet.row_dimensions[cell.row].hidden = True


def _hide_column(sheet: Worksheet, cell: Cell) -> None:
    sheet.column_dimensions[cell.column_letter].hidden = True


def _flatten_row(sheet: Worksheet, cell: Cell) -> None:
    sheet.row_dimensions[cell.row].height = 0.1


def _format(number_format: str) -> Callable[[Worksheet, Cell], None]:
    def change(_sheet: Worksheet, cell: Cell) -> None:
        cell.number_format = number_format

    return change


def _font(font: Font, fill: str = "") -> Callable[[Worksheet, Cell], None]:
    def change(_sheet: Worksheet, cell: Cell) -> None:
        cell.font = font
        if fill:
            cell.fill = PatternFill("solid", fgColor=fill)

    return change


XLSX_HIDDEN: Mapping[str, Writer] = {
    "hidden sheet": lambda path, text: _hidden_sheet(path, text, "hidden"),
    "very hidden sheet": lambda path, text: _hidden_sheet(path, text, "veryHidden"),
    "hidden row": xlsx_sheet(_hide_row),
    "hidden column": xlsx_sheet(_hide_column),
    "flat row": xlsx_sheet(_flatten_row),
    "number format": xlsx_sheet(_format(";;;")),
    "white": xlsx_sheet(_font(Font(color="FFFFFFFF"))),
    "colour of its cell": xlsx_sheet(_font(Font(color="FF204060"), "FF204060")),
    "one point": xlsx_sheet(_font(Font(sz=1))),
}

XLSX_SEEN: Mapping[str, Writer] = {
    "number format": xlsx_sheet(_format('#,##0;[Red]-#,##0;"-";@')),
    "white on blue": xlsx_sheet(_font(Font(color="FFFFFFFF"), "FF204060")),
    "red": xlsx_sheet(_font(Font(color="FFFF0000"))),
}

HIDDEN: Mapping[str, Mapping[str, Writer]] = {
    "docx": DOCX_HIDDEN, "html": HTML_HIDDEN, "pdf": PDF_HIDDEN, "pptx": PPTX_HIDDEN, "xlsx": XLSX_HIDDEN,
}  # fmt: skip
SEEN: Mapping[str, Mapping[str, Writer]] = {
    "docx": DOCX_SEEN, "html": HTML_SEEN, "pdf": PDF_SEEN, "pptx": PPTX_SEEN, "xlsx": XLSX_SEEN,
}  # fmt: skip
