"""Load PowerPoint presentations; each slide is a page."""

from collections.abc import Iterator
from pathlib import Path

import pptx
from pptx.shapes.autoshape import Shape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.picture import Picture
from pptx.slide import Slide
from pptx.table import Table

from services.knowledge.loaders.outline import Outline
from services.knowledge.loaders.pptx_visibility import SlideView
from services.knowledge.loaders.tables import Cell, laid_out, with_single_headers
from services.knowledge.models import Omissions, Section


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield the sections of each slide: title as heading, text and tables in drawing order, then the speaker's notes.

    Slides and shapes that are not shown are left out. Notes are not projected either, but everyone who opens the file
    sees them below the slide.
    """
    presentation = pptx.Presentation(str(path))
    width, height = presentation.slide_width or 0, presentation.slide_height or 0
    for number, slide in enumerate(presentation.slides, start=1):
        view = SlideView(slide, width, height)
        if view.is_shown:
            omissions.pictures += sum(isinstance(shape, Picture) for shape in view.shapes())
            yield from _sections(slide, number, view)
        omissions.hidden_text |= view.has_hidden_text


def _sections(slide: Slide, number: int, view: SlideView) -> Iterator[Section]:
    outline = Outline(page=number)
    title = slide.shapes.title
    title_id = None
    if title is not None and view.shows(title) and (text := view.text_of(title)):
        title_id = title.shape_id
        yield from outline.heading(1, text)
    for shape in view.shapes():
        if shape.shape_id == title_id:
            continue
        if isinstance(shape, GraphicFrame) and shape.has_table:
            yield from outline.table(_table_rows(shape.table, view))
        elif isinstance(shape, GraphicFrame) and shape.has_chart:
            yield from outline.table(_chart_rows(shape))
        elif isinstance(shape, Shape) and (text := view.text_of(shape)):
            outline.line(text)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and (text := view.text_of_notes(notes)):
        outline.line(f"备注：{text}")
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
