"""Documents as /kb shows them."""

from datetime import UTC, datetime

from qq.reports.documents import document_text, list_text, search_text
from services.index.models import IndexedChunk
from services.knowledge.catalogue import DocumentView
from services.knowledge.models import DocumentEntry, DocumentProfile, DocumentType
from services.knowledge.outlines import outline_of
from services.retrieval.models import Reference

PROFILE = DocumentProfile(DocumentType.API_DOC, tags=("报销", "差旅", "住宿", "补助", "交通", "发票", "借款", "预算"))


def _entry(number: int = 3, name: str = "手册.pdf", size: int = 2 << 20) -> DocumentEntry:
    moment = datetime(2026, 11, 21, 1, 30, tzinfo=UTC)
    return DocumentEntry(number, name, 2, 40, size, 1, 10002, moment, ready=True, embedded=True)


def _view(entry: DocumentEntry, *parts: tuple[str, int, str]) -> DocumentView:
    chunks = [
        IndexedChunk(f"b-{ordinal}", "b", ordinal, text, "", {"heading": heading, "page": page})
        for ordinal, (heading, page, text) in enumerate(parts)
    ]
    return DocumentView(entry, "b", chunks, outline_of(chunks), PROFILE)


def test_a_document_shows_its_size_uploader_and_outline() -> None:
    view = _view(_entry(), *((f"第{number}章", number, "字" * 1000) for number in range(1, 15)))
    assert document_text(view, "小李（10002）").split("\n")[:6] == [
        "3. 手册.pdf 第 2 版",
        "2.0 MB，14 页，1.4 万字，40 块",
        "小李（10002） 上传于 11-21 09:30",
        "类型：接口，标签：报销、差旅、住宿、补助、交通、发票等 8 个",
        "目录：",
        "1. 第1章（第1页）",
    ]
    assert document_text(view, "小李").endswith("12. 第12章（第12页）\n还有 2 部分")


def test_a_scan_is_told_and_plain_text_keeps_its_lines() -> None:
    text = document_text(_view(_entry(), ("", 1, "第一行\n\n第二行")), "10002")
    assert "注意：读到的文字很少，可能大多是图片或扫描件。" in text
    assert text.endswith("开头：\n第一行\n第二行")
    assert "注意" not in document_text(_view(_entry(size=20), ("", 1, "第一行")), "10002")


def test_a_document_that_is_not_read_yet() -> None:
    entry = DocumentEntry(1, "新.md", 1, 0, 20, 1, 2, datetime(2026, 1, 1, tzinfo=UTC), ready=False, embedded=False)
    shown = document_text(_view(entry), "2")
    assert shown.split("\n")[1] == "20 字节，入库中"
    # What it is about is not known before it is read.
    assert "类型" not in shown
    assert list_text([entry], 1, 1) == "共 1 个文件，第 1/1 页\n1. 新.md（入库中）\n看内容：/kb show 编号"


def test_a_hit_has_its_file_and_its_page_and_section() -> None:
    found = [
        Reference(1, 7, "手册.pdf", 1, 3, "报销", "前文。" * 40 + "住宿**标准**是三百五十元", 0.9),
        Reference(2, 8, "说明.md", 1, None, "安装 › 准备", "先下载。", 0.5),
    ]
    lines = search_text("住宿", found).split("\n")
    assert lines[0] == "〔1〕手册.pdf 第3页 · 报销（编号 7）"
    assert "住宿标准是三百五十元" in lines[1]
    assert lines[2:] == ["〔2〕说明.md · 安装 › 准备（编号 8）", "先下载。"]
