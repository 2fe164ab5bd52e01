"""Document loaders: each format is one function from a path to sections, and one line in `LOADERS`.

A loader yields the text that a person sees when they open the file, and records in `Omissions` that it left out other
text.

Loaders are CPU-bound and handle hostile files, so they run only in the parse subprocess (`services.knowledge.parsing`).
A loader raises `DocumentRejected` when it knows the reason; any other exception counts as a damaged file.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from services.knowledge.models import Omissions, Section

Loader = Callable[[Path, Omissions], Iterable[Section]]


@dataclass(frozen=True, slots=True)
class Format:
    """The location of a format's loader, and what a file of that format must contain.

    `module` is a module of this package with a function `load`; it is imported on first use, because each one imports a
    different library. One of `signatures` must occur in the first 1,024 bytes (PDF allows leading bytes).
    `archive_folder` marks a zip archive that contains this folder. A format with neither is text.
    """

    module: str
    signatures: tuple[bytes, ...] = ()
    archive_folder: str = ""

    def loader(self) -> Loader:
        """Return the loader function of this format."""
        return import_module(f"{__name__}.{self.module}").load


_PICTURE = Format("picture", signatures=(b"\x89PNG\r\n", b"\xff\xd8\xff", b"RIFF", b"BM", b"GIF8"))
LOADERS: dict[str, Format] = {
    "pdf": Format("pdf", signatures=(b"%PDF-",)),
    "docx": Format("docx", archive_folder="word/"),
    "pptx": Format("pptx", archive_folder="ppt/"),
    "xlsx": Format("xlsx", archive_folder="xl/"),
    "txt": Format("text"),
    "md": Format("markdown"),
    "markdown": Format("markdown"),
    "csv": Format("csv"),
    "html": Format("html"),
    "htm": Format("html"),
    # Programs give pictures any of these extensions, whatever their format.
    "png": _PICTURE,
    "jpg": _PICTURE,
    "jpeg": _PICTURE,
    "webp": _PICTURE,
    "bmp": _PICTURE,
}
