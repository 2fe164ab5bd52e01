"""The empty HTML document in which the scripts build a page."""

from pathlib import Path
from string import Template

from starlette.responses import HTMLResponse

_SHELL = Path(__file__).with_name("shell.html")


def shell(title: str, static: str, script: str) -> HTMLResponse:
    """Return the document of a page whose `script` is below the address `static`."""
    return HTMLResponse(Template(_SHELL.read_text("utf-8")).substitute(title=title, static=static, script=script))
