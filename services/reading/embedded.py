"""The embedded reader: the weights of the embedded model with a small trained addition, run in this process."""

import asyncio
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from e5_int8 import PassageReader, convert_reader, is_reader_converted
from services.child_process import run_apart
from services.errors import ReadingError
from services.reading.models import Reading, Text
from services.text.scripts import simplified

_FAILED = "读不了找到的段落，这次按字词挑选。"
_PROBE = Text("", "你好")
_LOGGER = logging.getLogger(__name__)


class EmbeddedReader:
    """A reader on the processor. One question is read at a time, its texts in parallel."""

    def __init__(self, reader: PassageReader) -> None:
        self._reader = reader
        self._thread = ThreadPoolExecutor(1, "read")

    async def read(self, question: str, texts: Sequence[Text]) -> list[Reading]:
        """Return one reading for each text, computed on threads. Raise `ReadingError` if the model fails."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, question, texts)
        except Exception as error:
            # A native library may raise any exception.
            raise ReadingError(_FAILED, f"{type(error).__name__}: {error}") from error

    async def aclose(self) -> None:
        """Stop the thread. A call that waits fails."""
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    def _read(self, question: str, texts: Sequence[Text]) -> list[Reading]:
        found = self._reader.read(_plain(question), [(_plain(item.context), _plain(item.text)) for item in texts])
        return [
            Reading(item.answers, item.starts.astype(np.int32), item.ends.astype(np.int32), item.logits)
            for item in found
        ]


async def open_reader(data_dir: Path) -> EmbeddedReader | None:
    """Open the embedded reader, or return None where it does not run; the log says why.

    It is tested with one text, and converted the first time, which takes some seconds.
    """
    try:
        return EmbeddedReader(await asyncio.to_thread(_open, (data_dir / "models").absolute()))
    except Exception as error:
        # A native library may raise any exception.
        _LOGGER.warning("the reader cannot run: %s: %s", type(error).__name__, error, exc_info=error)
        return None


def _open(directory: Path) -> PassageReader:
    if not is_reader_converted(directory):
        run_apart(convert_reader, directory)
    reader = PassageReader.open(directory, threads=max(1, min(os.cpu_count() or 1, 4)))
    reader.read(_PROBE.text, [(_PROBE.context, _PROBE.text)])
    return reader


def _plain(text: str) -> str:
    """Return a text of the same length in simplified characters, with a mark for what no tokenizer accepts."""
    return simplified(text.encode("utf-8", "replace").decode("utf-8"))
