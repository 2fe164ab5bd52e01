"""Write sample documents: each function writes one file to the given path and returns that path.

Good documents are about the fictional 清河研究所, so that tests can ask for facts in them; bad ones are what strangers
send.
"""

import datetime as dt
import io
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import docx
import pptx
from docx.document import Document
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement, parse_xml
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from PIL import Image, ImageDraw
from pptx.presentation import Presentation
from pptx.shapes.autoshape import Shape
from pptx.slide import Slide
from pptx.util import Inches
from pypdf import PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

PDF_FONT = "STSong-Light"
LINE_CHARS = 30

# Each item is the title of a chapter and its paragraphs.
REGULATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "第一章 总则",
        (
            "清河研究所是从事水环境监测的科研机构，办公地点在清河市东湖路18号。",
            "本规章适用于全体在编人员、合同制人员以及进修人员，临时来访人员由接待部门负责管理。",
        ),
    ),
    (
        "第二章 经费管理",
        (
            "单笔支出在五千元以下的，由课题组长审批；五千元以上不满五万元的，由分管副所长审批；五万元以上的，提交所务会讨论决定。",
            "差旅费应当在返回后三十日内报销，逾期须书面说明原因。",
        ),
    ),
    (
        "第三章 仪器使用",
        (
            "大型仪器实行预约制，预约人应当提前两个工作日在系统中登记，使用后当天填写运行记录。",
            "气相色谱仪由王晓岚老师负责，联系电话为内线6023。",
        ),
    ),
)

BUDGET_ROWS: tuple[tuple[object, ...], ...] = (
    ("科目", "金额（元）", "占比", "截止日期"),
    ("设备费", 120000, 0.6, dt.datetime(2026, 6, 30)),  # noqa: DTZ001  # spreadsheets have no time zone
    ("差旅费", 30000.5, 0.15, dt.datetime(2026, 12, 31)),  # noqa: DTZ001
    ("劳务费", 50000, 0.25, dt.datetime(2026, 12, 31)),  # noqa: DTZ001
)

ROSTER_CSV = '姓名,部门,电话\n王晓岚,仪器室,6023\n"李强, 博士",监测一室,6101\n赵敏,"财务\n科",6002\n'

NOTICE = (
    "关于放假的通知\n\n五一期间研究所放假五天，从5月1日到5月5日。\n值班电话为0571-88886666，有急事请联系值班人员。\n"
)

MANUAL_MARKDOWN = """# 水质监测系统手册

系统由采样、分析和上报三部分组成。

## 安装

运行下面的命令：

```bash
# 这一行是注释，不是标题
pip install water-monitor
```

### 要求

需要 Python 3.11 以上版本。

## 参数

| 参数 | 默认值 | 说明 |
|---|:--:|---|
| interval | 60 | 采样间隔，单位为秒 |
| depth | 0.5 | 采样深度，单位为米 |

## 附录
"""

PAGE_HTML = """<!DOCTYPE html>
<html><head><meta charset="{charset}"><title>清河研究所招聘公告</title>
<style>p {{ color: red }}</style><script>var secret = "不该出现";</script></head>
<body><nav><a href="/">首页</a><a href="/news">新闻</a></nav>
<h1>招聘公告</h1>
<p>研究所现公开招聘<b>水质分析</b>岗位<br>两名。</p>
<h2>岗位要求</h2>
<ul><li>环境科学专业</li><li>硕士以上学历</li></ul>
<table><tr><th>岗位</th><th>人数</th></tr><tr><td>分析员</td><td>2</td></tr></table>
<div><div>报名截止到 3 月 15 日。</div></div>
</body></html>
"""


def text_file(path: Path, text: str = NOTICE, encoding: str = "utf-8", mark: bytes = b"") -> Path:
    """Write a text in an encoding; `mark` is the byte order mark, if any."""
    path.write_bytes(mark + text.encode(encoding))
    return path


def manual_markdown(path: Path) -> Path:
    """Write headings, fenced code with a comment, a table, and a heading without text."""
    return text_file(path, MANUAL_MARKDOWN)


def roster_csv(path: Path, encoding: str = "gb18030") -> Path:
    """Write a table with a comma and a line break inside quoted cells, in GBK like a file saved by Excel."""
    return text_file(path, ROSTER_CSV, encoding)


def page_html(path: Path, charset: str = "gbk") -> Path:
    """Write a page that declares its charset in a meta element."""
    return text_file(path, PAGE_HTML.format(charset=charset), charset)


def regulations_pdf(path: Path) -> Path:
    """Write one chapter per page with bookmark, running head and page number; lines break inside sentences."""
    canvas = _canvas(path)
    for number, (title, paragraphs) in enumerate(REGULATIONS, start=1):
        _pdf_line(canvas, 800, "清河研究所规章汇编")
        canvas.bookmarkPage(title)
        canvas.addOutlineEntry(title, title, level=0)
        _pdf_line(canvas, 760, title)
        height = 730
        for paragraph in paragraphs:
            for line in wrapped(paragraph):
                _pdf_line(canvas, height, line)
                height -= 20
        _pdf_line(canvas, 40, f"第 {number} 页 共 {len(REGULATIONS)} 页")
        canvas.showPage()
    canvas.save()
    return path


def lines_pdf(path: Path, pages: Sequence[Sequence[str]]) -> Path:
    """Write the given lines on each page, from top to bottom."""
    canvas = _canvas(path)
    for lines in pages:
        for index, line in enumerate(lines):
            _pdf_line(canvas, 800 - 20 * index, line)
        canvas.showPage()
    canvas.save()
    return path


def partly_scanned_pdf(path: Path) -> Path:
    """Write a page with text, then a page that is a picture."""
    canvas = _canvas(path)
    _pdf_line(canvas, 800, "第一页有文字，第二页是扫描的图片。")
    canvas.showPage()
    _draw_scan(canvas)
    canvas.save()
    return path


def scanned_pdf(path: Path, pages: int = 2) -> Path:
    """Write pictures of pages, without text."""
    canvas = _canvas(path)
    for _ in range(pages):
        _draw_scan(canvas)
    canvas.save()
    return path


def encrypted_pdf(path: Path, user_password: str = "secret") -> Path:  # noqa: S107  # a sample
    """Write a file that needs a password to open; with an empty one it is only protected against changes."""
    regulations_pdf(path)
    writer = PdfWriter(clone_from=path)
    writer.encrypt(user_password, owner_password="owner", algorithm="RC4-128")
    with path.open("wb") as file:
        writer.write(file)
    return path


def truncated_pdf(path: Path) -> Path:
    """Write the first third of a PDF, as after a broken download."""
    data = regulations_pdf(path).read_bytes()
    path.write_bytes(data[: len(data) // 3])
    return path


def flate_bomb_pdf(path: Path, megabytes: int = 100) -> Path:
    """Write a page whose content stream expands a thousandfold."""
    return _raw_pdf(path, _deflated(b" " * (1 << 20), megabytes))


def slow_pdf(path: Path, operators: int = 4_000_000) -> Path:
    """Write a small file within all limits of the PDF library that takes minutes to read."""
    return _raw_pdf(path, _deflated(b"(a) Tj\n" * 10_000, operators // 10_000))


def regulations_docx(path: Path) -> Path:
    """Write a title, headings, a table between paragraphs, a list and a text box."""
    document = docx.Document()
    document.add_paragraph("清河研究所规章汇编", style="Title")
    for title, paragraphs in REGULATIONS:
        document.add_heading(title, level=1)
        for paragraph in paragraphs:
            document.add_paragraph(paragraph)
    document.add_heading("经费标准", level=2)
    document.add_paragraph("住宿标准如下表：")
    table = document.add_table(rows=3, cols=3)
    for row, cells in zip(
        table.rows,
        (("地区", "标准（元/天）", "备注"), ("省会城市", "450", "含早餐"), ("其他", "300", "")),
        strict=True,
    ):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_paragraph("表后还有一句说明。")
    document.add_paragraph("携带身份证", style="List Bullet")
    document.add_paragraph("填写登记表", style="List Bullet")
    _add_text_box(document, "文本框里的提示：仪器室周三下午不开放。")
    document.save(str(path))
    return path


def chinese_styles_docx(path: Path) -> Path:
    """Write styles with numeric ids named 标题 1 and articles numbered 第一条 by a list, as Chinese Word and WPS do."""
    document = docx.Document()
    for level in (1, 2):
        style = document.styles.add_style(f"标题 {level}", 1)
        style.element.set(qn("w:styleId"), str(level))
    _add_article_list(document, "第%1条")
    for text in ("标题 1:管理办法", "第一项内容。", "第二项内容。", "标题 2:附则", "第三项内容。"):
        style, _, title = text.partition(":")
        paragraph = document.add_paragraph(title or text, style=style if title else None)
        if not title:
            properties = paragraph.paragraph_format.element.get_or_add_pPr()
            properties.append(parse_xml(f'<w:numPr {_W_NAMESPACE}><w:ilvl w:val="0"/><w:numId w:val="77"/></w:numPr>'))
    document.save(str(path))
    return path


def training_pptx(path: Path) -> Path:
    """Write three slides: title only, bullets with notes, and a table."""
    presentation = pptx.Presentation()
    _slide(presentation, 5, "新员工培训")
    slide = _slide(presentation, 1, "安全须知")
    body = slide.placeholders[1]
    assert isinstance(body, Shape)
    body.text_frame.text = "进入实验室必须穿实验服\n废液倒入专用桶"
    notes = slide.notes_slide.notes_text_frame
    assert notes is not None
    notes.text = "讲到废液时请展示照片。"
    slide = _slide(presentation, 5, "值班安排")
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(6), Inches(1)).table
    for row, cells in enumerate((("日期", "值班人"), ("周一", "李强"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    presentation.save(str(path))
    return path


def budget_xlsx(path: Path) -> Path:
    """Write a sheet with a title row above the header, dates and percentages; a second sheet; and a hidden one."""
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet.title = "预算"
    sheet.append(["2026年度经费预算"])
    for row in BUDGET_ROWS:
        sheet.append(list(row))
    for cells in sheet.iter_rows(min_row=3, min_col=3, max_col=3):
        cells[0].number_format = "0%"
    _sheet(workbook, "人员", (("姓名", "在岗"), ("王晓岚", True)))
    _sheet(workbook, "内部", (("密钥", "值"), ("token", "不该出现"))).sheet_state = "hidden"
    workbook.save(path)
    return path


def large_xlsx(path: Path, rows: int = 20_000) -> Path:
    """Write many rows, for measurements."""
    workbook = Workbook(write_only=True)
    sheet = workbook.create_sheet("数据")
    sheet.append(["编号", "采样点", "浊度", "备注"])
    for number in range(rows):
        sheet.append([number, f"采样点{number % 37}", number * 0.1, "正常"])
    workbook.save(path)
    return path


def empty_file(path: Path) -> Path:
    """Write no bytes."""
    path.write_bytes(b"")
    return path


def old_word_file(path: Path) -> Path:
    """Write a binary .doc, whatever the extension of the path."""
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + b"W\0o\0r\0d\0" + bytes(2048))
    return path


def encrypted_docx(path: Path) -> Path:
    """Write a document with a password: an OLE container with the stream EncryptedPackage."""
    old_word_file(path)
    path.write_bytes(path.read_bytes() + "EncryptedPackage".encode("utf-16-le") + bytes(1024))
    return path


def zip_bomb(path: Path, megabytes: int = 500, folder: str = "word") -> Path:
    """Write an archive of half a megabyte with one huge part."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open(f"{folder}/document.xml", "w", force_zip64=True) as part:
            for _ in range(megabytes):
                part.write(b" " * (1 << 20))
    return path


def many_parts_zip(path: Path, parts: int = 20_000) -> Path:
    """Write an archive with very many empty parts."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(parts):
            archive.writestr(f"word/{number}", b"")
    return path


def hungry_docx(path: Path, paragraphs: int = 4_000_000) -> Path:
    """Write a well-formed document of very many empty paragraphs, which need gigabytes as a tree."""
    body = b"<w:p/>" * 10_000

    def document_xml(original: bytes) -> bytes:
        start = original.index(b"<w:body>") + len(b"<w:body>")
        return original[:start] + body * (paragraphs // 10_000) + original[start:]

    return _rewritten(regulations_docx(path), "word/document.xml", document_xml)


def billion_laughs(path: Path, write: Callable[[Path], Path], part: str, encoding: str = "utf-8") -> Path:
    """Write a file with `write`, and make one XML part expand to 10^9 words; `encoding` may be utf-16."""

    def laughing(original: bytes) -> bytes:
        entities = "".join(f'<!ENTITY lol{i} "{f"&lol{i - 1};" * 10}">' for i in range(1, 10))
        body = original.decode("utf-8")
        body = body[body.index("?>") + 2 :] if body.startswith("<?xml") else body
        declaration = f'<?xml version="1.0" encoding="{encoding}"?>'
        return f'{declaration}<!DOCTYPE lolz [<!ENTITY lol0 "lol">{entities}]>{body}'.encode(encoding)

    return _rewritten(write(path), part, laughing)


def damaged_docx(path: Path) -> Path:
    """Write a valid archive whose main part is truncated."""
    return _rewritten(regulations_docx(path), "word/document.xml", lambda data: data[: len(data) // 2])


def truncated_docx(path: Path) -> Path:
    """Write the first half of a document, without the archive's directory."""
    data = regulations_docx(path).read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def wrapped(paragraph: str) -> list[str]:
    """Return a paragraph in lines of LINE_CHARS characters."""
    return [paragraph[start : start + LINE_CHARS] for start in range(0, len(paragraph), LINE_CHARS)]


_W_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _canvas(path: Path) -> Canvas:
    pdfmetrics.registerFont(UnicodeCIDFont(PDF_FONT))
    return Canvas(str(path), pagesize=A4)


def _pdf_line(canvas: Canvas, height: float, text: str) -> None:
    canvas.setFont(PDF_FONT, 14)
    canvas.drawString(60, height, text)


def _draw_scan(canvas: Canvas) -> None:
    image = Image.new("L", (300, 400), 255)
    ImageDraw.Draw(image).rectangle((40, 40, 260, 60), fill=0)
    data = io.BytesIO()
    image.save(data, "PNG")
    canvas.drawImage(ImageReader(data), 0, 0, 500, 700)
    canvas.showPage()


def _deflated(block: bytes, times: int) -> bytes:
    compressor = zlib.compressobj(9)
    return b"".join([*(compressor.compress(block) for _ in range(times)), compressor.flush()])


def _raw_pdf(path: Path, stream: bytes) -> Path:
    """Write one page with a compressed content stream between BT and ET."""
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    data, offsets = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(data)
    path.write_bytes(data + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer)
    return path


def _slide(presentation: Presentation, layout: int, title: str) -> Slide:
    slide = presentation.slides.add_slide(presentation.slide_layouts[layout])
    assert slide.shapes.title is not None
    slide.shapes.title.text_frame.text = title
    return slide


def _sheet(workbook: Workbook, name: str, rows: Sequence[Sequence[object]]) -> Worksheet:
    sheet: Worksheet = workbook.create_sheet(name)
    for row in rows:
        sheet.append(list(row))
    return sheet


def _add_text_box(document: Document, text: str) -> None:
    """Add a text box as Word writes it: a drawing for new programs, and the same again for old ones."""
    box = f"<w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent>"
    run = document.add_paragraph("文本框所在段落。").add_run()
    run.element.append(
        parse_xml(
            f'<mc:AlternateContent {_W_NAMESPACE} xmlns:v="urn:schemas-microsoft-com:vml" '
            'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
            'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">'
            f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>'
            f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>"
        )
    )


def _add_article_list(document: Document, pattern: str) -> None:
    numbering = document.part.numbering_part.element
    definition = parse_xml(
        f'<w:abstractNum {_W_NAMESPACE} w:abstractNumId="77"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
        f'<w:numFmt w:val="chineseCountingThousand"/><w:lvlText w:val="{pattern}"/></w:lvl></w:abstractNum>'
    )
    numbering.insert(0, definition)
    instance = OxmlElement("w:num")
    instance.set(qn("w:numId"), "77")
    target = OxmlElement("w:abstractNumId")
    target.set(qn("w:val"), "77")
    instance.append(target)
    numbering.append(instance)


def _rewritten(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    """Change one part of the archive at `path` and return the path."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def uncertain_table_pdf(path: Path) -> Path:
    """Write aligned columns of figures in which one value reaches over two columns."""
    pdfmetrics.registerFont(UnicodeCIDFont(PDF_FONT))
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setFont(PDF_FONT, 10)
    rows = (("采样点", "水温", "浊度", "结论"), ("东湖口", "12.5", "3.1", "合格"), ("西溪桥", "13.0", "8.4", "超标"))
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            canvas.drawString(60 + 100 * column, 700 - 16 * number, text)
    canvas.drawString(60, 700 - 16 * len(rows), "北渠")
    canvas.drawString(180, 700 - 16 * len(rows), "九点九或者九点八都算数")
    canvas.save()
    return path
