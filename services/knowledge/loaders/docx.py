"""Load Word documents: paragraphs, lists and tables in order, headings from styles, text boxes and notes.

Comments, headers and footers are not read.
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.parts.document import DocumentPart

from services.knowledge.loaders.docx_numbering import Numbering, numbering_of, paragraph_level
from services.knowledge.loaders.docx_visibility import Visibility
from services.knowledge.loaders.outline import PICTURED, Outline
from services.knowledge.loaders.struck import STRUCK_BEGINS, STRUCK_ENDS, tidied
from services.knowledge.loaders.tables import Grid, repeated, with_single_headers
from services.knowledge.models import Omissions, Section

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
_CHOICE, _FALLBACK = f"{_MC}Choice", f"{_MC}Fallback"
# Word shows alternatives that require the namespaces of its own later versions.
_UNDERSTOOD = "http://schemas.microsoft.com/office/"
_DELETED = {qn("w:del"), qn("w:moveFrom")}
_RUNS = {qn("w:r"), qn("m:r")}
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
# Formatting, the pinyin over a word, and deleted text.
_SKIPPED = {qn("w:pPr"), qn("w:rPr"), qn("w:rt"), *_DELETED}
# The limit of Word.
_MOST_COLUMNS = 63
_HEADING_STYLE = re.compile(r"(?:heading|标题)\s*([1-9])\b", re.IGNORECASE)
_CONTENTS_STYLE = re.compile(r"(?:toc|目录)\s*(?:heading|标题|[1-9])\b", re.IGNORECASE)
_CONTENTS = 0
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_DRAWINGS = (f"{_DRAWING}inline", f"{_DRAWING}anchor")
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_BLIP = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
# In English Metric Units, a centimetre. Smaller pictures are marks and lines.
_LEAST_PICTURE = 360_000
_TITLE_STYLES = {"title", "标题"}
_NOTE_PARTS = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield sections by heading styles (Heading 1, 标题 1) or outline levels, without the generated contents list."""
    document = docx.Document(str(path))
    styles = document.styles.element
    visibility = Visibility(styles, document.element)
    reader = _Reader(_style_levels(styles), numbering_of(document), visibility, omissions, document.part)
    outline = reader.outline
    yield from reader.blocks(document.element.body)
    for relationship in document.part.rels.values():
        if relationship.reltype in _NOTE_PARTS and not relationship.is_external:
            notes = parse_xml(relationship.target_part.blob)
            # Only the separator lines, usually the first two notes, have a type.
            for note in notes:
                if note.get(qn("w:type")) is None and (text := reader.text_of(note)):
                    outline.line(f"注：{text}")
    yield from outline.close()


class _Reader:
    """Walks the body of a document with its outline, heading styles and list counters."""

    def __init__(
        self,
        levels: dict[str, int],
        numbering: Numbering,
        visibility: Visibility,
        omissions: Omissions,
        part: DocumentPart,
    ) -> None:
        self.outline = Outline()
        self._levels = levels
        self._numbering = numbering
        self._visibility = visibility
        self._omissions = omissions
        self._part = part

    def blocks(self, parent: BaseOxmlElement) -> Iterator[Section]:
        """Yield the sections of the paragraphs and tables under an element, in order."""
        for child in parent:
            if child.tag == _W_P:
                yield from self._paragraph(child)
            elif child.tag == _W_TBL:
                yield from self.outline.table(self._rows(child))
                self._pictures(child.iter(*_DRAWINGS))
            elif child.tag in _WRAPPERS:
                yield from self.blocks(child)

    def _paragraph(self, paragraph: BaseOxmlElement) -> Iterator[Section]:
        style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        style_id = "" if style is None else style.get(qn("w:val"), "")
        level = paragraph_level(paragraph) or self._levels.get(style_id)
        if level == _CONTENTS:
            return
        text = self.text_of(paragraph)
        if text:
            text = self._numbering.label(paragraph, style_id) + text
        if level is not None and text:
            yield from self.outline.heading(level, text)
        elif text:
            yield from self.outline.prose(text)
        # Those in a text box belong to a paragraph of their own.
        self._pictures(
            drawing for drawing in paragraph.iter(*_DRAWINGS) if next(drawing.iterancestors(_W_P)) is paragraph
        )
        for box in paragraph.iter(_TEXT_BOX):
            if not any(_is_left_out(ancestor) for ancestor in box.iterancestors()):
                if self._shows_box(box):
                    yield from self.blocks(box)
                else:
                    self._omissions.hidden_text |= _has_text(box)

    def _pictures(self, drawings: Iterable[BaseOxmlElement]) -> None:
        """Add the texts of pictures under the current heading."""
        for drawing in drawings:
            if _is_picture(drawing) and (text := self._omissions.text_of(partial(self._image, drawing))):
                self.outline.line(f"{PICTURED}{text}")

    def _image(self, drawing: BaseOxmlElement) -> bytes:
        return self._part.related_parts[next(drawing.iter(_BLIP)).get(_EMBED)].blob

    def _shows_box(self, box: BaseOxmlElement) -> bool:
        """Return whether the drawing of a text box and the run that it is anchored in are both shown."""
        for ancestor in box.iterancestors():
            if ancestor.tag in _RUNS and not self._visibility.shows(ancestor):
                return False
            drawn = ancestor.find(_DRAWN)
            if drawn is not None and drawn.get("hidden") in ("1", "true"):
                return False
        return True

    def _rows(self, table: BaseOxmlElement) -> list[list[str]]:
        """Return the texts of a table, each in its column of the grid."""
        grid = Grid()
        # Maps a column to the text of a merged cell that continues from the rows above.
        merged: dict[int, str] = {}
        # Maps it to the first row of that cell.
        starts: dict[int, int] = {}
        for row in _nested(table, _W_TR):
            if not self._visibility.shows_row(row):
                self._omissions.hidden_text |= _has_text(row)
                continue
            skipped = row.find(f"{qn('w:trPr')}/{qn('w:gridBefore')}")
            texts = [""] * (_span(skipped) if skipped is not None else 0)
            for cell in _nested(row, _W_TC):
                column = len(texts)
                merge = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
                if merge is not None and merge.get(qn("w:val")) != "restart":
                    self._omissions.hidden_text |= _has_text(cell)
                    text = merged.get(column, "")
                else:
                    lines = [self.text_of(paragraph) for paragraph in _paragraphs(cell)]
                    text = " ".join(line for line in lines if line)
                    merged[column] = repeated(text) if merge is not None else ""
                span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
                columns = _span(span) if span is not None else 1
                if merge is None:
                    starts.pop(column, None)
                elif merge.get(qn("w:val")) == "restart":
                    starts[column] = len(grid.rows)
                first = starts.get(column, len(grid.rows))
                if columns > 1 or merge is not None:
                    grid.spans[first, column] = columns, len(grid.rows) - first + 1
                texts += [text, *[""] * (columns - 1)]
            grid.rows.append(texts)
        return with_single_headers(grid)

    def text_of(self, element: BaseOxmlElement) -> str:
        """Return the text that a reader sees in a paragraph, without the text boxes anchored in it."""
        parts: list[str] = []
        # A stack instead of recursion, because the file determines the depth.
        stack: list[BaseOxmlElement | str] = list(reversed(element))
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                parts.append(node)
            elif node.tag in _TEXT:
                parts.append(node.text or "")
            elif node.tag in _CHARACTERS:
                parts.append(_CHARACTERS[node.tag])
            elif _is_left_out(node):
                self._omissions.hidden_text |= node.tag in _DELETED and _has_text(node)
            elif node.tag in _RUNS and not self._visibility.shows(node):
                self._omissions.hidden_text |= _has_text(node)
            elif node.tag != _TEXT_BOX:
                if node.tag in _RUNS and _is_struck(node):
                    parts.append(STRUCK_BEGINS)
                    stack.append(STRUCK_ENDS)
                stack.extend(reversed(node))
        return tidied("".join(parts)).strip()


def _is_picture(drawing: BaseOxmlElement) -> bool:
    """Return whether a drawing shows a picture in which text could be read."""
    extent = drawing.find(f"{_DRAWING}extent")
    sides = [extent.get(name, "0") for name in ("cx", "cy")] if extent is not None else ["0"]
    is_large = all(side.isascii() and side.isdigit() and int(side[:18]) >= _LEAST_PICTURE for side in sides)
    return is_large and next(drawing.iter(_PICTURE), None) is not None


def _nested(parent: BaseOxmlElement, tag: str) -> Iterator[BaseOxmlElement]:
    """Yield the children with a tag, including those inside content controls and tracked insertions."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _nested(child, tag)


def _paragraphs(cell: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
    """Yield all paragraphs of a cell, including those of nested tables and text boxes."""
    stack = [cell]
    while stack:
        node = stack.pop()
        if node.tag == _W_P:
            yield node
        stack.extend(child for child in reversed(node) if not _is_left_out(child))


def _is_left_out(element: BaseOxmlElement) -> bool:
    """Return whether an element is not drawn: formatting, deleted text, or all but one of several alternatives."""
    if element.tag in (_CHOICE, _FALLBACK):
        return element is not _shown_alternative(element.getparent())
    return element.tag in _SKIPPED


def _shown_alternative(alternatives: BaseOxmlElement) -> BaseOxmlElement | None:
    """Return the first choice whose namespaces Word understands, or else the fallback."""
    for choice in alternatives.iterchildren(_CHOICE):
        if all(choice.nsmap.get(name, "").startswith(_UNDERSTOOD) for name in choice.get("Requires", "").split()):
            return choice
    return alternatives.find(_FALLBACK)


def _is_struck(run: BaseOxmlElement) -> bool:
    """Return whether a run itself is struck through."""
    marks = (run.find(f"{qn('w:rPr')}/{qn(name)}") for name in ("w:strike", "w:dstrike"))
    return any(mark is not None and mark.get(qn("w:val"), "1") not in ("0", "false", "off") for mark in marks)


def _has_text(element: BaseOxmlElement) -> bool:
    return any((node.text or "").strip() for node in element.iter(*_TEXT, qn("w:delText")))


def _span(element: BaseOxmlElement) -> int:
    """Return the number of columns in a gridSpan or gridBefore."""
    value = element.get(qn("w:val"), "1")
    return min(_MOST_COLUMNS, int(value)) if value.isascii() and value.isdigit() else 1


def _style_levels(styles: BaseOxmlElement) -> dict[str, int]:
    """Map style ids to heading levels, counted from 1, or to `_CONTENTS` for entries of the table of contents.

    A style without its own level has that of the style it is based on.
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
