"""Documents of a knowledge base as /kb list, /kb show and /kb search show them."""

from collections.abc import Mapping, Sequence

from qq.messages import shortened, time_text
from services.knowledge.catalogue import DocumentView
from services.knowledge.models import DocumentEntry, DocumentProfile, DocumentType
from services.knowledge.outlines import Outline, Part, plain_line, shown_lines
from services.retrieval.models import Reference
from services.text.sizes import size_text

# The number of documents on a page of the list, which fits on one phone screen.
LIST_PAGE = 8
_PARTS = 12
_BEGINNING_LINES = 8
_BEGINNING_CHARS = 300
_MYRIAD = 10_000
_TAGS = 6
TYPE_NAMES: Mapping[DocumentType, str] = {
    DocumentType.TUTORIAL: "教程",
    DocumentType.API_DOC: "接口",
    DocumentType.FAQ: "常见问题",
    DocumentType.EXAMPLE: "示例",
    DocumentType.GUIDE: "指南",
}


def list_text(entries: Sequence[DocumentEntry], total: int, page: int) -> str:
    """Return page `page` of the list of `total` documents."""
    pages = -(-total // LIST_PAGE)
    if not entries:
        return f"只有 {pages} 页，发 /kb list {pages} 看最后一页。"
    lines = [f"{entry.number}. {_entry_line(entry)}" for entry in entries]
    following = f"下一页：/kb list {page + 1}" if page < pages else "看内容：/kb show 编号"
    return "\n".join([f"共 {total} 个文件，第 {page}/{pages} 页", *lines, following])


def document_text(view: DocumentView, uploader: str) -> str:
    """Return what a document is and about, who sent it, and its outline, or how it begins if it has no headings."""
    entry = view.entry
    lines = [
        f"{entry.number}. {entry.name} 第 {entry.version} 版",
        "，".join((size_text(entry.size), *(_extent(view.outline) if view.chunks else ()), _state(entry))),
        f"{uploader} 上传于 {time_text(entry.uploaded_at)}",
    ]
    if view.chunks:
        lines.append(profile_text(view.profile))
    if view.chunks and view.outline.characters < entry.size // 1000:
        lines.append("注意：读到的文字很少，可能大多是图片或扫描件。")
    parts = view.outline.parts
    if any(part.heading for part in parts):
        lines += ["目录：", *(_part_line(number, part) for number, part in enumerate(parts[:_PARTS], start=1))]
        if rest := len(parts) - _PARTS:
            lines += [f"还有 {rest} 部分"] if rest > 0 else []
    elif view.chunks:
        lines += ["开头：", *_beginning(view.chunks[0].text)]
    return "\n".join(lines)


def profile_text(profile: DocumentProfile) -> str:
    """Return what a document is and its first tags, on one line."""
    shown = "、".join(shortened(tag, 12) for tag in profile.tags[:_TAGS])
    more = f"等 {len(profile.tags)} 个" if len(profile.tags) > _TAGS else ""
    return f"类型：{TYPE_NAMES[profile.document_type]}，标签：{shown or '无'}{more}"


def search_text(words: str, found: Sequence[Reference]) -> str:
    """Return the passages of a search, each with its file and its page or section, and how to read on."""
    lines: list[str] = []
    for reference in found:
        section = f" · {plain_line(reference.heading)}" if reference.page and reference.heading else ""
        place = reference.place if section and section[3:] in reference.place else f"{reference.place}{section}"
        lines += [
            f"〔{reference.number}〕{shortened(place, 60)}（编号 {reference.document_number}）",
            _excerpt(" ".join(shown_lines(reference.text)), words),
        ]
    return "\n".join(lines)


def _entry_line(entry: DocumentEntry) -> str:
    version = f" v{entry.version}" if entry.version > 1 else ""
    return f"{shortened(entry.name, 24)}{version}（{_state(entry)}）"


def _state(entry: DocumentEntry) -> str:
    if not entry.ready:
        return "入库中"
    return f"{entry.chunks} 块" if entry.embedded else f"{entry.chunks} 块，现在按字词找"


def _extent(outline: Outline) -> list[str]:
    pages = [f"{outline.pages} 页"] if outline.pages else []
    characters = outline.characters
    return [*pages, f"{characters / _MYRIAD:.1f} 万字" if characters >= _MYRIAD else f"{characters} 字"]


def _part_line(number: int, part: Part) -> str:
    page = f"（第{part.page}页）" if part.page else ""
    return f"{number}. {shortened(part.heading or part.text, 30)}{page}"


def _beginning(text: str) -> list[str]:
    """Return the first lines of a text as they stand, without markup."""
    return shown_lines(text[:_BEGINNING_CHARS])[:_BEGINNING_LINES]


def _excerpt(text: str, words: str) -> str:
    """Return the part of a passage around the words that were searched."""
    place = text.lower().find(words.lower().strip())
    start = max(0, place - 30) if place > 60 else 0
    return ("…" if start else "") + shortened(text[start:], 90)
