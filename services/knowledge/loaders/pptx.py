"""PowerPoint presentations: one slide is one page."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pptx
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide

from services.knowledge.loaders.outline import Outline
from services.knowledge.models import Section


def load(path: Path) -> Iterator[Section]:
    """Sections of each slide: its title as heading, text and tables in drawing order, then the speaker's notes."""
    for number, slide in enumerate(pptx.Presentation(str(path)).slides, start=1):
        yield from _sections(slide, number)


def _sections(slide: Slide, number: int) -> Iterator[Section]:
    outline = Outline(page=number)
    title = slide.shapes.title
    title_id = None
    if title is not None and title.text_frame.text.strip():
        title_id = title.shape_id
        yield from outline.heading(1, title.text_frame.text)
    for shape in _flat(slide.shapes):
        if shape.shape_id == title_id:
            continue
        if isinstance(shape, GraphicFrame) and shape.has_table:
            yield from outline.table([[cell.text_frame.text for cell in row.cells] for row in shape.table.rows])
        elif isinstance(shape, GraphicFrame) and shape.has_chart:
            yield from outline.table(_chart_rows(shape))
        elif text := _text_of(shape):
            outline.line(text)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        outline.line(f"备注：{notes.text.strip()}")
    yield from outline.close()


def _flat(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    """Shapes in drawing order, those of groups in their group's place."""
    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _text_of(shape: BaseShape) -> str:
    """The text of a shape, one paragraph a line; a paragraph's own line breaks (vertical tabs) become spaces."""
    if not isinstance(shape, Shape):
        return ""
    paragraphs = (paragraph.text.replace("\v", " ").strip() for paragraph in shape.text_frame.paragraphs)
    return "\n".join(paragraph for paragraph in paragraphs if paragraph)


def _chart_rows(frame: GraphicFrame) -> list[list[str]]:
    """The numbers of a chart as a table: categories down, series across."""
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
