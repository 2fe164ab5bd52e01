"""Drawings as HTML. Values are escaped, so none of them can become a tag."""

import functools
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from qq.render.drawings import Drawing

_TEMPLATES = Path(__file__).parent / "templates"


def markup(drawing: Drawing) -> str:
    """Return the HTML of a drawing."""
    return _environment().get_template(drawing.template).render(drawing=drawing)


@functools.cache
def style() -> str:
    """Return the style sheet of all templates."""
    return (_TEMPLATES / "style.css").read_text(encoding="utf-8")


@functools.cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
