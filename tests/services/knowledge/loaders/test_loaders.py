"""Load the samples of each format in this process."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.errors import DocumentRejected
from services.knowledge.loaders import LOADERS
from services.knowledge.loaders.csv import delimiter_of
from services.knowledge.loaders.decoding import decode
from services.knowledge.loaders.docx_numbering import written
from services.knowledge.loaders.pdf_lines import full_width, joined
from services.knowledge.loaders.xlsx import shown
from services.knowledge.models import Omissions, Section
from tests.samples import documents
from tests.samples.documents import REGULATIONS


def load(path: Path) -> list[Section]:
    return list(LOADERS[path.suffix[1:]].loader()(path, Omissions()))


def test_pdf_has_pages_headings_and_whole_sentences(tmp_path: Path) -> None:
    sections = load(documents.regulations_pdf(tmp_path / "a.pdf"))
    assert sections == [
        Section("\n".join(paragraphs), page, (title,)) for page, (title, paragraphs) in enumerate(REGULATIONS, start=1)
    ]


def test_pdf_sentence_over_a_page_end_belongs_to_where_it_begins(tmp_path: Path) -> None:
    pages = [
        ["水环境监测是一项长期的基础性工作", "各个部门都应当积极配合并且按时"],
        ["提交数据。第二页的内容从这里开始写"],
    ]
    sections = load(documents.lines_pdf(tmp_path / "a.pdf", pages))
    assert [(section.page, section.text) for section in sections] == [
        (1, "水环境监测是一项长期的基础性工作各个部门都应当积极配合并且按时提交数据。"),
        (2, "第二页的内容从这里开始写"),
    ]


def test_pdf_keeps_numbers_that_are_not_page_numbers(tmp_path: Path) -> None:
    pages = [["总数", "12", "甲"], ["总计", "99", "乙"], ["合计", "7", "丙"]]
    sections = load(documents.lines_pdf(tmp_path / "a.pdf", pages))
    assert [section.text.split("\n")[1] for section in sections] == ["12", "99", "7"]


def test_pdf_without_password_opens_and_with_one_is_refused(tmp_path: Path) -> None:
    assert len(load(documents.encrypted_pdf(tmp_path / "a.pdf", user_password=""))) == len(REGULATIONS)
    with pytest.raises(DocumentRejected, match="加了密"):
        load(documents.encrypted_pdf(tmp_path / "b.pdf"))


def test_scanned_pdf_is_refused_and_partly_scanned_is_read(tmp_path: Path) -> None:
    with pytest.raises(DocumentRejected, match="扫描件"):
        load(documents.scanned_pdf(tmp_path / "a.pdf"))
    sections = load(documents.partly_scanned_pdf(tmp_path / "b.pdf"))
    assert sections == [Section("第一页有文字，第二页是扫描的图片。", 1)]


@pytest.mark.parametrize(
    ("lines", "paragraphs"),
    [
        (["研究所的经费由所务会", "讨论决定。", "另起一段"], ["研究所的经费由所务会讨论决定。", "另起一段"]),
        (["River measure-", "ment of the water is", "important"], ["River measurement of the water is important"]),
        (["第一章 总则", "研究所的经费由所务会讨论", "决定"], ["第一章 总则", "研究所的经费由所务会讨论决定"]),
        (["请准备以下几项各类材料", "（一）证件", "2. 表格"], ["请准备以下几项各类材料", "（一）证件", "2. 表格"]),
        (["使用的语言版本是最新的", "Python 三点十一"], ["使用的语言版本是最新的Python 三点十一"]),
        (["总则 ........ 1", "经费 ........ 2"], ["总则 ........ 1", "经费 ........ 2"]),
    ],
)  # fmt: skip
def test_broken_lines_become_paragraphs(lines: list[str], paragraphs: list[str]) -> None:
    assert joined(lines, full_width(lines)) == paragraphs


def test_docx_keeps_the_order_of_paragraphs_tables_and_text_boxes(tmp_path: Path) -> None:
    sections = load(documents.regulations_docx(tmp_path / "a.docx"))
    assert [section.text for section in sections[1:4]] == ["\n".join(paragraphs) for _, paragraphs in REGULATIONS]
    below = (REGULATIONS[2][0], "经费标准")
    assert sections[4:] == [
        Section("住宿标准如下表：", None, below),
        Section("省会城市 | 450 | 含早餐\n其他 | 300", None, below, table=True, header="地区 | 标准（元/天） | 备注"),
        Section(
            "表后还有一句说明。\n- 携带身份证\n- 填写登记表\n文本框所在段落。\n文本框里的提示：仪器室周三下午不开放。",
            None,
            below,
        ),
    ]


def test_docx_of_a_chinese_word_has_its_headings_and_article_numbers(tmp_path: Path) -> None:
    assert load(documents.chinese_styles_docx(tmp_path / "a.docx")) == [
        Section("第一条 第一项内容。", None, ("管理办法", "第一条")),
        Section("第二条 第二项内容。", None, ("管理办法", "第二条")),
        Section("第三条 第三项内容。", None, ("管理办法", "附则", "第三条")),
    ]


@pytest.mark.parametrize(
    ("number", "number_format", "text"),
    [
        (10, "chineseCountingThousand", "十"),
        (21, "chineseCounting", "二十一"),
        (105, "chineseCountingThousand", "一百零五"),
        (1010, "chineseCountingThousand", "一千零一十"),
        (3, "decimalEnclosedCircleChinese", "③"),
        (28, "lowerLetter", "bb"),
        (49, "upperRoman", "XLIX"),
        (7, "decimalZero", "07"),
        (3, "ideographTraditional", "丙"),
    ],
)
def test_numbers_as_word_writes_them(number: int, number_format: str, text: str) -> None:
    assert written(number, number_format) == text


def test_pptx_has_a_page_for_each_slide(tmp_path: Path) -> None:
    assert load(documents.training_pptx(tmp_path / "a.pptx")) == [
        Section("进入实验室必须穿实验服\n废液倒入专用桶\n备注：讲到废液时请展示照片。", 2, ("新员工培训", "安全须知")),
        Section("周一 | 李强", 3, ("新员工培训", "值班安排"), table=True, header="日期 | 值班人"),
    ]


def test_xlsx_shows_values_and_skips_hidden_sheets(tmp_path: Path) -> None:
    assert load(documents.budget_xlsx(tmp_path / "a.xlsx")) == [
        Section(
            "设备费 | 120000 | 60% | 2026-06-30\n差旅费 | 30000.5 | 15% | 2026-12-31\n"
            "劳务费 | 50000 | 25% | 2026-12-31",
            1,
            ("预算",),
            table=True,
            header="2026年度经费预算\n科目 | 金额（元） | 占比 | 截止日期",
        ),
        Section("王晓岚 | 是", 2, ("人员",), table=True, header="姓名 | 在岗"),
    ]


@pytest.mark.parametrize(("value", "text"), [(0.1 + 0.2, "0.3"), (3.0, "3"), (12345678901, "12345678901"), (None, "")])
def test_cells_without_float_noise(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8", "utf-8-sig", "utf-16"])
def test_csv_of_any_encoding(tmp_path: Path, encoding: str) -> None:
    assert load(documents.roster_csv(tmp_path / "a.csv", encoding)) == [
        Section(
            "王晓岚 | 仪器室 | 6023\n李强, 博士 | 监测一室 | 6101\n赵敏 | 财务 科 | 6002",
            table=True,
            header="姓名 | 部门 | 电话",
        )
    ]


@pytest.mark.parametrize("delimiter", list(",;\t|"))
def test_csv_delimiter_is_found(delimiter: str) -> None:
    assert delimiter_of("\n".join(delimiter.join(row) for row in ("abc", "1,2;3", "x|y"[0::2] + "z"))) == delimiter


@pytest.mark.parametrize("charset", ["gbk", "utf-8", "gb2312", "big5"])
def test_html_in_the_charset_it_declares(tmp_path: Path, charset: str) -> None:
    template = "<meta charset={charset}><h1>標題</h1>" if charset == "big5" else documents.PAGE_HTML
    path = documents.text_file(tmp_path / "a.html", template.format(charset=charset), charset)
    if charset == "big5":
        assert load(path) == [Section("標題", None, ("標題",))]
        return
    top = "招聘公告"
    assert load(path) == [
        Section("研究所现公开招聘水质分析岗位\n两名。", None, (top,)),
        Section("- 环境科学专业\n- 硕士以上学历", None, (top, "岗位要求")),
        Section("分析员 | 2", None, (top, "岗位要求"), table=True, header="岗位 | 人数"),
        Section("报名截止到 3 月 15 日。", None, (top, "岗位要求")),
    ]


def test_html_that_declares_a_wrong_charset_is_still_read(tmp_path: Path) -> None:
    path = documents.text_file(tmp_path / "a.html", documents.PAGE_HTML.format(charset="utf-8"), "gb18030")
    assert load(path)[0].heading == ("招聘公告",)


@pytest.mark.parametrize("charset", ["utf-16", "UTF-16LE", "utf-32", "utf-7", "unicode_escape", "idna", "base64"])
def test_html_that_declares_what_its_declaration_cannot_be_in(tmp_path: Path, charset: str) -> None:
    page = f"<meta charset={charset}><p>Office hours: Monday + Tuesday \\u0041, room 6023."
    path = documents.text_file(tmp_path / "a.html", page + " " * (len(page) % 4))
    assert load(path) == [Section("Office hours: Monday + Tuesday \\u0041, room 6023.")]


def test_deeply_nested_html_is_read(tmp_path: Path) -> None:
    path = documents.text_file(tmp_path / "a.html", "<div>" * 20_000 + "最里面")
    assert load(path) == [Section("最里面")]


def test_markdown_has_headings_code_and_tables(tmp_path: Path) -> None:
    top = "水质监测系统手册"
    assert load(documents.manual_markdown(tmp_path / "a.md")) == [
        Section("系统由采样、分析和上报三部分组成。", None, (top,)),
        Section(
            "运行下面的命令：\n\n```bash\n# 这一行是注释，不是标题\npip install water-monitor\n```", None, (top, "安装")
        ),
        Section("需要 Python 3.11 以上版本。", None, (top, "安装", "要求")),
        Section(
            "interval | 60 | 采样间隔，单位为秒\ndepth | 0.5 | 采样深度，单位为米",
            None,
            (top, "参数"),
            table=True,
            header="参数 | 默认值 | 说明",
        ),
        Section("附录", None, (top, "附录")),
    ]


@pytest.mark.parametrize(
    ("text", "heading", "body"),
    [
        ("标题\n====\n正文", ("标题",), "正文"),
        ("标题\n---\n正文", ("标题",), "正文"),
        ("# C# ##\n正文", ("C#",), "正文"),
        ("#标签\n正文", (), "#标签\n正文"),
        ("---\ntitle: 手册\n---\n# 甲\n正文", ("甲",), "正文"),
        ("- 甲\n---\n正文", (), "- 甲\n正文"),
        ("~~~\n# 不是\n```\n~~~\n正文", (), "~~~\n# 不是\n```\n~~~\n正文"),
    ],
)
def test_markdown_headings(tmp_path: Path, text: str, heading: tuple[str, ...], body: str) -> None:
    last = load(documents.text_file(tmp_path / "a.md", text))[-1]
    assert (last.heading, last.text) == (heading, body)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("正文<!-- 口令是 1234 -->继续", "正文继续"),
        ("<!-- 口令\n\n# 是 1234\n-->\n正文", "正文"),
        ("正文\n\n  <!-- 口令是 1234", "正文"),
        ("甲 <!-- 一 --> 乙 <!-- 二 --> 丙", "甲  乙  丙"),
        ("正文 <!-- 没有关\n\n第二段 -->", "正文 <!-- 没有关\n\n第二段 -->"),
        ("箭头 <!-- 也没有关", "箭头 <!-- 也没有关"),
        ("<!-->正文", "正文"),
        ("写 `<!-- more -->` 分页", "写 <!-- more --> 分页"),
        ("``` <!-- 不是代码 --> ` 正文", "```  ` 正文"),
        ("```html\n<!-- 代码 -->\n```", "```html\n<!-- 代码 -->\n```"),
        ("~~~\n<!-- 代码\n```\n~~~\n正文", "~~~\n<!-- 代码\n```\n~~~\n正文"),
        ("正文\n<!--\n```\n-->\n第二行", "正文\n\n第二行"),
    ],
)
def test_comments_of_markdown_are_left_out(tmp_path: Path, text: str, shown: str) -> None:
    assert load(documents.text_file(tmp_path / "a.md", text)) == [Section(shown)]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("gb18030", b""),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ],
)
def test_text_of_any_encoding(tmp_path: Path, encoding: str, mark: bytes) -> None:
    path = documents.text_file(tmp_path / "a.txt", documents.NOTICE, encoding, mark)
    title, _, body = documents.NOTICE.strip().partition("\n\n")
    assert load(path) == [Section(body, None, (title,))]


def test_text_is_cut_by_the_headings_that_it_writes_out(tmp_path: Path) -> None:
    text = (
        "宿舍须知\n\n一、作息\n每晚十一点熄灯。\n\n二、用电：单间不得超过 800 瓦。\n三、其他\n"
        "问：门禁卡丢了怎么办？\n答：到一号楼补办。\n\nQ2: 能养猫吗\nA: 不能。"
    )
    path = documents.text_file(tmp_path / "a.txt", text, "utf-8")
    assert load(path) == [
        Section("每晚十一点熄灯。", None, ("宿舍须知", "一、作息")),
        Section("二、用电：单间不得超过 800 瓦。", None, ("宿舍须知", "二、用电")),
        Section(
            "问：门禁卡丢了怎么办？\n答：到一号楼补办。",
            None,
            ("宿舍须知", "三、其他", "门禁卡丢了怎么办？"),
            complete=True,
        ),
        Section("Q2: 能养猫吗\nA: 不能。", None, ("宿舍须知", "三、其他", "能养猫吗"), complete=True),
    ]


def test_a_first_line_without_an_empty_one_below_is_no_title(tmp_path: Path) -> None:
    path = documents.text_file(tmp_path / "a.txt", "张三 13800001111\n李四 13900002222", "utf-8")
    assert load(path) == [Section("张三 13800001111\n李四 13900002222")]


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_text_cut_inside_a_character_keeps_its_encoding(encoding: str) -> None:
    data = documents.NOTICE.rstrip("\n。").encode(encoding)
    assert decode(data[:-1]).startswith("关于放假的通知")


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"\x1b[0m\x01\x02\x03" * 30,
        b"abc\0",
        b"abc\0def\0ghi\0",
        b"abc\0" + b"hello world, this is text. " * 10,
        documents.NOTICE.encode() + bytes(40),
        random.Random(1).randbytes(5000),
        bytes(random.Random(2).choices(range(1, 256), k=5000)),
    ],
)
def test_binary_data_is_not_text(data: bytes) -> None:
    with pytest.raises(DocumentRejected, match="不是文本"):
        decode(data)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["hello world\n", "hello 世界 " * 9, "一、甲\n一、乙\n", "一一一\n"])
def test_unmarked_utf16_is_recognised(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_big5_is_recognised() -> None:
    text = "關於放假的通知，研究所放假五天，值班電話請見公告。"
    assert decode(text.encode("big5")) == text


@given(st.text(alphabet="研究所的一是在不了。，、\n abcXYZ019", min_size=1))
def test_utf8_and_marked_utf16_are_always_right(text: str) -> None:
    assert decode(text.encode()) == text
    assert decode(text.encode("utf-16")) == text


_SAMPLES: dict[str, Callable[[Path], Path]] = {
    "pdf": documents.regulations_pdf,
    "docx": documents.regulations_docx,
    "pptx": documents.training_pptx,
    "xlsx": documents.budget_xlsx,
    "csv": documents.roster_csv,
    "html": documents.page_html,
    "htm": documents.page_html,
    "md": documents.manual_markdown,
    "markdown": documents.manual_markdown,
    "txt": documents.text_file,
}


# Pictures have tests of their own: nothing is read of them here.
@pytest.mark.parametrize("extension", [name for name, known in LOADERS.items() if known.module != "picture"])
def test_every_format_has_a_sample(tmp_path: Path, extension: str) -> None:
    assert load(_SAMPLES[extension](tmp_path / f"a.{extension}"))
