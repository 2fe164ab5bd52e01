"""Load PowerPoint presentations; each slide is a page."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pptx
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.oxml.ns import qn
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.picture import Picture
from pptx.slide import Slide
from pptx.table import Table

from services.knowledge.loaders.outline import PICTURED, Outline
from services.knowledge.loaders.page_numbers import page_number
from services.knowledge.loaders.pptx_outline import SlideOutline, SlideText
from services.knowledge.loaders.pptx_visibility import SlideView
from services.knowledge.loaders.tables import Cell, laid_out, with_single_headers
from services.knowledge.models import Omissions, Section

_TITLES = {PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE}
_FURNITURE = {PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.HEADER}
# A text at the edge of as many slides as this is a running head.
_RECURRING_SHARE, _RECURRING_SLIDES = 0.4, 3


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield the sections of each slide: title as heading, text and tables in drawing order, then the speaker's notes.

    Slides and shapes that are not shown are left out. Notes are not projected either, but everyone who opens the file
    sees them below the slide. Slide numbers, dates, footers and running heads are no text. A slide with nothing but a
    title has no section, but may be a heading for the slides after it (see `SlideOutline`), unless no slide has more.
    """
    presentation = pptx.Presentation(str(path))
    width, height = presentation.slide_width or 0, presentation.slide_height or 0
    slides: list[SlideText] = []
    for number, slide in enumerate(presentation.slides, start=1):
        view = SlideView(slide, width, height)
        if view.is_shown:
            slides.append(_slide_text(slide, number, view, omissions))
        omissions.hidden_text |= view.has_hidden_text
    _remove_running_heads(slides)
    outline = SlideOutline()
    headings = [outline.path_of(slide) for slide in slides]
    has_text = any(slide.blocks or slide.is_title_kept for slide in slides)
    used = {title for slide, heading in zip(slides, headings, strict=True) if slide.blocks for title in heading}
    for slide, heading in zip(slides, headings, strict=True):
        is_lost = slide.has_title_in_box and not slide.has_pictures and used.isdisjoint(heading[-1:])
        if slide.blocks or slide.is_title_kept or is_lost or not has_text:
            yield from _sections(slide, heading)


def _slide_text(slide: Slide, number: int, view: SlideView, omissions: Omissions) -> SlideText:
    title = _title(slide, view)
    found = SlideText(number, view.text_of(title) if title is not None else "")
    for shape in view.shapes():
        if isinstance(shape, Picture) and (text := omissions.text_of(partial(_image, shape))):
            found.blocks.append(f"{PICTURED}{text}")
        if _placeholder(shape) in _FURNITURE or (title is not None and shape.shape_id == title.shape_id):
            continue
        if isinstance(shape, GraphicFrame) and shape.has_table:
            found.blocks.append(_table_rows(shape.table, view))
        elif isinstance(shape, GraphicFrame) and shape.has_chart:
            found.blocks.append(_chart_rows(shape))
        elif isinstance(shape, Shape) and (text := view.text_of(shape)):
            if page_number(text) is not None and next(shape.element.iter(qn("a:fld")), None) is not None:
                continue
            if view.is_at_edge(shape):
                found.at_edge[len(found.blocks)] = _edge_key(text, number)
            found.blocks.append(text)
        elif isinstance(shape, GraphicFrame | Picture):
            found.has_pictures = True
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and (text := view.text_of_notes(notes)):
        found.blocks.append(f"备注：{text}")
    return found


def _image(picture: Picture) -> bytes:
    return picture.image.blob


def _title(slide: Slide, view: SlideView) -> Shape | None:
    """Return the title of a slide, which some programs number differently than PowerPoint; None if it has no text."""
    for shape in slide.shapes:
        if isinstance(shape, Shape) and _placeholder(shape) in _TITLES and view.shows(shape) and view.text_of(shape):
            return shape
    return None


def _placeholder(shape: BaseShape) -> PP_PLACEHOLDER | None:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _edge_key(text: str, number: int) -> str:
    """Return what a running head has in common on all slides; slide numbers increase with the slides."""
    found = page_number(text)
    return text if found is None else f"slide number {found - number}"


def _remove_running_heads(slides: list[SlideText]) -> None:
    counts = Counter(key for slide in slides for key in set(slide.at_edge.values()))
    least = max(_RECURRING_SLIDES, _RECURRING_SHARE * len(slides))
    for slide in slides:
        heads = {place for place, key in slide.at_edge.items() if counts[key] >= least}
        slide.blocks = [block for place, block in enumerate(slide.blocks) if place not in heads]


def _sections(slide: SlideText, heading: tuple[str, ...]) -> Iterator[Section]:
    outline = Outline(page=slide.number)
    for level, title in enumerate(heading, start=1):
        yield from outline.heading(level, title)
    for block in slide.blocks:
        if isinstance(block, str):
            outline.line(block)
        else:
            yield from outline.table(block)
    yield from outline.close()


def _table_rows(table: Table, view: SlideView) -> list[list[str]]:
    """Return the texts of a table in their columns, without the text of cells that a merged cell covers."""
    rows: list[list[Cell]] = []
    for row in table.rows:
        cells: list[Cell] = []
        for cell in row.cells:
            if cell.is_spanned:
                view.hide(cell.text_frame.text)
            elif cell.is_merge_origin:
                cells.append(Cell(view.text_of_cell(cell), cell.span_width, cell.span_height))
            else:
                cells.append(Cell(view.text_of_cell(cell)))
        rows.append(cells)
    return with_single_headers(laid_out(rows))


def _chart_rows(frame: GraphicFrame) -> list[list[str]]:
    """Return the numbers of a chart as a table with one row per category and one column per series."""
    plot = next(iter(frame.chart.plots), None)
    if plot is None:
        return []
    series = [(one.name, list(one.values)) for one in plot.series]
    header = ["", *(name for name, _ in series)]
    rows = [
        [str(category), *(_number(values[index]) if index < len(values) else "" for _, values in series)]
        for index, category in enumerate(plot.categories)
    ]
    return [header, *rows]


def _number(value: float | None) -> str:
    return "" if value is None else format(value, ".15g")
