"""Word documents: paragraphs, lists and tables in order, headings from styles, text boxes and notes."""

import re
from collections.abc import Iterator
from pathlib import Path

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from docx.oxml.xmlchemy import BaseOxmlElement

from services.knowledge.loaders.docx_numbering import Numbering, numbering_of, paragraph_level
from services.knowledge.loaders.outline import Outline
from services.knowledge.models import Section

_W_P, _W_TBL, _W_TR, _W_TC = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
# Elements that only wrap others: content controls, tracked insertions, custom XML, hyperlinks.
_WRAPPERS = {qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:moveTo"), qn("w:customXml"), qn("w:smartTag")}
_TEXT = {qn("w:t"), qn("m:t")}
_CHARACTERS = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}
_TEXT_BOX = qn("w:txbxContent")
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
# Formatting, deleted text, the pinyin over a word, and the second rendering of a drawing for old programs.
_SKIPPED = {qn("w:pPr"), qn("w:rPr"), qn("w:del"), qn("w:moveFrom"), qn("w:rt"), f"{_MC}Fallback"}
_HEADING_STYLE = re.compile(r"(?:heading|标题)\s*([1-9])\b", re.IGNORECASE)
_CONTENTS_STYLE = re.compile(r"(?:toc|目录)\s*(?:heading|标题|[1-9])\b", re.IGNORECASE)
_CONTENTS = 0
_TITLE_STYLES = {"title", "标题"}
_NOTE_PARTS = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)


def load(path: Path) -> Iterator[Section]:
    """Sections by heading styles (Heading 1, 标题 1) or outline levels; the generated table of contents is left out."""
    document = docx.Document(str(path))
    reader = _Reader(_style_levels(document.styles.element), numbering_of(document))
    outline = reader.outline
    yield from reader.blocks(document.element.body)
    for relationship in document.part.rels.values():
        if relationship.reltype in _NOTE_PARTS and not relationship.is_external:
            notes = parse_xml(relationship.target_part.blob)
            # The first two notes are the separator lines, which have a type.
            for note in notes:
                if note.get(qn("w:type")) is None and (text := _text_of(note)):
                    outline.line(f"注：{text}")
    yield from outline.close()


class _Reader:
    """Walks the body; holds the outline, the style table and the list counters."""

    def __init__(self, levels: dict[str, int], numbering: Numbering) -> None:
        self.outline = Outline()
        self._levels = levels
        self._numbering = numbering

    def blocks(self, parent: BaseOxmlElement) -> Iterator[Section]:
        """The sections of the paragraphs and tables under an element, in order."""
        for child in parent:
            if child.tag == _W_P:
                yield from self._paragraph(child)
            elif child.tag == _W_TBL:
                yield from self.outline.table(self._rows(child))
            elif child.tag in _WRAPPERS:
                yield from self.blocks(child)

    def _paragraph(self, paragraph: BaseOxmlElement) -> Iterator[Section]:
        style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        style_id = "" if style is None else style.get(qn("w:val"), "")
        level = paragraph_level(paragraph) or self._levels.get(style_id)
        if level == _CONTENTS:
            return
        text = _text_of(paragraph)
        if text:
            text = self._numbering.label(paragraph, style_id) + text
        if level is not None and text:
            yield from self.outline.heading(level, text)
        elif text:
            yield from self.outline.prose(text)
        for box in paragraph.iter(_TEXT_BOX):
            if not any(ancestor.tag in _SKIPPED for ancestor in box.iterancestors()):
                yield from self.blocks(box)

    def _rows(self, table: BaseOxmlElement) -> list[list[str]]:
        return [[text for cell in _nested(row, _W_TC) for text in self._cell(cell)] for row in _nested(table, _W_TR)]

    def _cell(self, cell: BaseOxmlElement) -> list[str]:
        """The text of a cell, and an empty one for each further column it spans."""
        properties = cell.find(qn("w:tcPr"))
        span = 1
        if properties is not None:
            merge = properties.find(qn("w:vMerge"))
            if merge is not None and merge.get(qn("w:val")) != "restart":
                return [""]
            grid = properties.find(qn("w:gridSpan"))
            # Word itself allows 63 columns.
            span = min(63, int(grid.get(qn("w:val"), "1"))) if grid is not None else 1
        lines = [_text_of(paragraph) for paragraph in _paragraphs(cell)]
        return [" ".join(line for line in lines if line), *[""] * (span - 1)]


def _nested(parent: BaseOxmlElement, tag: str) -> Iterator[BaseOxmlElement]:
    """Children of a tag, also inside content controls and tracked insertions."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _nested(child, tag)


def _paragraphs(cell: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
    """All paragraphs of a cell, those of nested tables and text boxes too."""
    stack = [cell]
    while stack:
        node = stack.pop()
        if node.tag == _W_P:
            yield node
        stack.extend(child for child in reversed(node) if child.tag not in _SKIPPED)


def _text_of(element: BaseOxmlElement) -> str:
    """The text that a reader sees in a paragraph, without the text boxes anchored in it."""
    parts: list[str] = []
    # A stack, not recursion: depth is the file's choice.
    stack = list(reversed(element))
    while stack:
        node = stack.pop()
        if node.tag in _TEXT:
            parts.append(node.text or "")
        elif node.tag in _CHARACTERS:
            parts.append(_CHARACTERS[node.tag])
        elif node.tag not in _SKIPPED and node.tag != _TEXT_BOX:
            stack.extend(reversed(node))
    return "".join(parts).strip()


def _style_levels(styles: BaseOxmlElement) -> dict[str, int]:
    """Style id to heading level, counted from 1; _CONTENTS for entries of the table of contents.

    A style without a level of its own takes that of the style it is based on.
    """
    own: dict[str, int] = {}
    base: dict[str, str] = {}
    for style in styles.iter(qn("w:style")):
        style_id = style.get(qn("w:styleId"), "")
        name_element = style.find(qn("w:name"))
        name = "" if name_element is None else name_element.get(qn("w:val"), "").strip()
        if _CONTENTS_STYLE.match(name):
            own[style_id] = _CONTENTS
        elif heading := _HEADING_STYLE.match(name):
            own[style_id] = int(heading[1])
        elif name.lower() in _TITLE_STYLES:
            own[style_id] = 1
        elif level := paragraph_level(style):
            own[style_id] = level
        parent = style.find(qn("w:basedOn"))
        if parent is not None:
            base[style_id] = parent.get(qn("w:val"), "")
    levels = dict(own)
    for style_id, parent_id in base.items():
        seen, ancestor = {style_id}, parent_id
        while style_id not in levels and ancestor not in seen:
            if ancestor in own:
                levels[style_id] = own[ancestor]
            seen.add(ancestor)
            ancestor = base.get(ancestor, style_id)
    return levels
