"""Pictures with text, drawn with the fonts that the bot ships."""

from io import BytesIO

import pytakumi
from PIL import Image

from qq.render.fonts import NAMES, read_font


def drawn(*lines: str, width: int = 900, size: int = 26, dark: bool = False) -> bytes:
    """Return lines of text as a PNG, as a terminal shows them. Sizes are in pixels."""
    takumi = pytakumi.Renderer(cache_max_bytes=1 << 20)
    for name in NAMES:
        takumi.register_font(read_font(name), name=f"Qunzhi {name}")
    back, fore = ("#1e1e1e", "#dddddd") if dark else ("#ffffff", "#222222")
    style = f"font-family: 'Qunzhi mono', 'Qunzhi sans'; font-size: {size}px; color: {fore}; background: {back}"
    rows = "".join(f'<div style="margin: 10px 20px">{line}</div>' for line in lines)
    return takumi.render_html(
        f'<div style="{style}; display: flex; flex-direction: column; padding: 16px; width: {width}px">{rows}</div>',
        width=width,
    )


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    """Return an image as a file."""
    file = BytesIO()
    image.save(file, kind)
    return file.getvalue()
