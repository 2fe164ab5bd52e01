"""Recognitions that show what happens in the child process. They must be importable there."""

import os
import socket
import time
from typing import NoReturn

from services.pictures.models import PictureText
from services.pictures.ocr import TextRecognition

PNG = b"\x89PNG\r\n\x1a\n"


class ProcessRecognition:
    """Reads every picture as the id and the niceness of the process.

    A picture that contains "sleep" takes a minute, "die" ends the process, and "fail" raises.
    """

    def read(self, data: bytes) -> PictureText:
        if b"sleep" in data:
            time.sleep(60)
        if b"die" in data:
            os._exit(1)
        if b"fail" in data:
            raise ValueError("asked to")
        return PictureText(f"{os.getpid()} {os.nice(0)}")


def open_offline() -> TextRecognition:
    """Return the real recognition in a process that cannot open a connection."""

    def refused(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a connection was opened")

    socket.socket.connect = refused  # pyright: ignore[reportAttributeAccessIssue]
    socket.getaddrinfo = refused
    return TextRecognition()
