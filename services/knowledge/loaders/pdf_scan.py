"""The picture that a scanned page of a PDF consists of."""

from io import BytesIO

from pypdf import PageObject

_MOST_IMAGES = 40
# Recognition needs no more: 300 dots an inch of A4.
_MOST_SIDE = 3600
# Formats that are passed on as they are. Others, such as the TIFF of a fax, are converted.
_PLAIN = (b"\xff\xd8\xff", b"\x89PNG")


def page_image(page: PageObject) -> bytes:
    """Return the largest picture of a page, upright, as JPEG or PNG. Raise anything if it cannot be decoded."""
    names = page.images.keys()[:_MOST_IMAGES]
    image = page.images[max(names, key=lambda name: _pixels(page, name))]
    drawn = image.image
    if drawn is None:
        raise ValueError("not decoded")
    turned = page.rotation % 360
    if not turned and max(drawn.size) <= _MOST_SIDE and image.data.startswith(_PLAIN):
        return image.data
    shrunk = -(-max(drawn.size) // _MOST_SIDE)
    grey = drawn.convert("L").reduce(shrunk).rotate(-turned, expand=True)
    file = BytesIO()
    grey.save(file, "PNG")
    return file.getvalue()


def _pixels(page: PageObject, name: str | list[str]) -> int:
    """Return the number of pixels of an image by its name, 0 for one within a form."""
    if not isinstance(name, str) or name.startswith("~"):
        return 0
    drawn = page["/Resources"]["/XObject"][name]  # pyright: ignore[reportIndexIssue]
    return int(drawn["/Width"]) * int(drawn["/Height"])
