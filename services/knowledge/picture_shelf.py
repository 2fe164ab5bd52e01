"""The pictures of one file on their way to be read and back, in a directory of their own.

Reading pictures takes seconds and half a gigabyte, so the parse subprocess does not do it. It puts the pictures that it
finds into the directory; the bot has them read, writes the texts there, and parses the file again. A picture is named
by its content, so the same logo on every page is read once.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

# Of more pictures or pages the receipt says that they were not read: sixty take about two minutes.
MOST_PICTURES = 60
_MOST_BYTES = 16 << 20
_MOST_TOTAL_BYTES = 200 << 20
_TEXTS = "texts.json"


class PictureShelf:
    """The directory of one file. `put_texts` is called between the two times that the file is parsed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        path = directory / _TEXTS
        texts: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        self._texts = texts
        self._used: set[str] = set()
        self._left = MOST_PICTURES, _MOST_TOTAL_BYTES

    def text_of(self, picture: Callable[[], bytes]) -> str | None:
        """Return the text of a picture, which is empty the second time, or keep it to be read and return None."""
        try:
            content = picture()
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - libraries raise anything on a damaged picture; the text around it is whole
            return None
        name = hashlib.sha256(content).hexdigest()
        if name in self._texts:
            text = "" if name in self._used else self._texts[name]
            self._used.add(name)
            return text
        count, size = self._left
        if count and len(content) <= min(size, _MOST_BYTES) and not (self._directory / name).exists():
            (self._directory / name).write_bytes(content)
            self._left = count - 1, size - len(content)
        return None

    def names(self) -> list[str]:
        """Return the names of the pictures that wait to be read."""
        return sorted(path.name for path in self._directory.iterdir() if path.name != _TEXTS)

    def picture(self, name: str) -> bytes:
        """Return a picture."""
        return (self._directory / name).read_bytes()

    def put_texts(self, texts: Mapping[str, str]) -> None:
        """Store the texts of pictures by their names, before the file is parsed again."""
        (self._directory / _TEXTS).write_text(json.dumps(texts, ensure_ascii=False), "utf-8")
