"""Recognition of text by RapidOCR, an optional package that brings its own models. Only the picture process loads it.

The settings were measured with screenshots of errors (see benchmarks/screenshots): its defaults enlarge small pictures
and take three times as long. Lines are recognised one by one: in batches, all are padded to the longest one.
"""

import importlib.util
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from services.pictures.lines import TextBox, lines_of
from services.pictures.models import MAX_CHARS, PictureText, Unread

_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")
# A screenshot of sixteen screens of a phone has 18 million pixels. Larger JPEG files are decoded at half their size.
_MOST_PIXELS = 30_000_000
_LEAST_SIDE = 16
# A circle is read as an O.
_LEAST_LETTERS = 2
# Text is looked for in a smaller copy, whose longer side has so many pixels. Desktops and pages have smaller letters
# than phones, which are narrower: at 2/3 of the size they are found.
_LEAST_SEARCHED, _MOST_SEARCHED, _SEARCHED_SHARE = 960, 1280, 2 / 3
_NARROW = 0.6
# Few lines on a large empty screen are overlooked, so even margins are cut off up to so many pixels. Compression makes
# even areas differ by this much.
_MARGIN, _EVEN = 24, 32
_MOST_SIDE = 4000
# A picture that is this many times as high as wide is read in bands, whose height is that multiple of the width.
_LONG = 2.4
_BAND = 2.0
# How far above the end of a band its border may lie, as a share of its height.
_BORDER = 0.15


def is_installed() -> bool:
    """Return whether the optional package is installed, without loading it."""
    return importlib.util.find_spec("rapidocr") is not None


class TextRecognition:
    """The loaded models. Loading takes about a second of processor time."""

    def __init__(self) -> None:
        import cv2  # noqa: PLC0415 - optional packages, which only this process loads
        import rapidocr  # noqa: PLC0415

        cv2.setNumThreads(1)
        models = Path(rapidocr.__file__).parent / "models"
        self._engine: Any = rapidocr.RapidOCR(
            params={
                "Global.use_cls": False,
                "Global.log_level": "critical",
                "Global.max_side_len": _MOST_SIDE,
                # Without these paths, RapidOCR would fetch models that it misses.
                "Det.model_path": str(_model(models, "det")),
                "Rec.model_path": str(_model(models, "rec")),
                "Det.limit_type": "max",
                "Det.limit_side_len": _LEAST_SEARCHED,
                "Rec.rec_batch_num": 1,
                # With one thread nobody waits busily for another.
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )

    def read(self, data: bytes) -> PictureText:
        """Return the text of a picture. Whatever it raises, the picture cannot be read."""
        pixels = _pixels(data)
        if isinstance(pixels, Unread):
            return PictureText(unread=pixels)
        lines: list[str] = []
        for band in _bands(_trimmed(pixels)):
            lines += self._lines(band)
        text = "\n".join(line for line in lines if line.strip())[:MAX_CHARS]
        if sum(map(str.isalnum, text)) < _LEAST_LETTERS:
            return PictureText(unread=Unread.NO_TEXT)
        return PictureText(text)

    def _lines(self, pixels: Any) -> list[str]:
        height, width = pixels.shape[:2]
        searched = _LEAST_SEARCHED
        if width > _NARROW * height:
            searched = round(min(max(_SEARCHED_SHARE * max(width, height), _LEAST_SEARCHED), _MOST_SEARCHED))
        # The detector is loaded with the first picture, with the configured size, and reads the size for each one.
        self._engine.cfg.Det.limit_side_len = searched
        if self._engine.text_det is not None:
            self._engine.text_det.limit_side_len = searched
        found = self._engine(pixels)
        if found.boxes is None or found.txts is None:
            return []
        return lines_of([_box(text, corners) for text, corners in zip(found.txts, found.boxes, strict=True)])


def _model(directory: Path, kind: str) -> Path:
    found = sorted(directory.glob(f"*_{kind}_*.onnx"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} models of kind {kind} in {directory}")
    return found[0]


def _box(text: str, corners: Any) -> TextBox:
    across, down = corners[:, 0], corners[:, 1]
    return TextBox(text, float(across.min()), float(down.min()), float(across.max()), float(down.max()))


def _pixels(data: bytes) -> Any:
    """Return the pixels of the first frame as blue, green and red, upright and without transparency, or why not."""
    import numpy  # noqa: PLC0415
    from PIL import Image, ImageOps, ImageStat, UnidentifiedImageError  # noqa: PLC0415

    try:
        opened = Image.open(BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError:
        return Unread.NOT_A_PICTURE
    except Image.DecompressionBombError:
        return Unread.TOO_LARGE
    with opened:
        if opened.width * opened.height > _MOST_PIXELS:
            opened.draft("RGB", (opened.width // 2, opened.height // 2))
        if opened.width * opened.height > _MOST_PIXELS:
            return Unread.TOO_LARGE
        if min(opened.size) < _LEAST_SIDE:
            return Unread.NO_TEXT
        image = ImageOps.exif_transpose(opened)
        if image.has_transparency_data:
            drawn = image.convert("RGBA")
            is_dark = ImageStat.Stat(drawn.convert("L"), drawn.getchannel("A")).mean[0] < 128
            image = Image.new("RGBA", drawn.size, "white" if is_dark else "black")
            image.alpha_composite(drawn)
        return numpy.ascontiguousarray(numpy.asarray(image.convert("RGB"))[:, :, ::-1])


def _trimmed(pixels: Any) -> Any:
    """Return the part of a picture that is not an even margin."""
    across, down = (
        (pixels.max(axis=axes).astype(int) - pixels.min(axis=axes) > _EVEN).nonzero()[0] for axes in ((0, 2), (1, 2))
    )
    if not (across.size and down.size):
        return pixels
    top, left = max(0, int(down[0]) - _MARGIN), max(0, int(across[0]) - _MARGIN)
    return pixels[top : int(down[-1]) + _MARGIN, left : int(across[-1]) + _MARGIN]


def _bands(pixels: Any) -> Iterator[Any]:
    """Yield a long picture in bands, each of which ends where its rows are most even, between lines of text."""
    height, width = pixels.shape[:2]
    if height <= _LONG * width:
        yield pixels
        return
    size = round(_BAND * width)
    start = 0
    while height - start > _LONG * width:
        end = start + size
        window = pixels[end - max(1, round(_BORDER * size)) : end]
        spread = window.max(axis=(1, 2)).astype(int) - window.min(axis=(1, 2))
        border = end - 1 - int(spread[::-1].argmin())
        yield pixels[start:border]
        start = border
    yield pixels[start:]
