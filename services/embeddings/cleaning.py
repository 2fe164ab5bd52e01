"""What every embedding model is spared."""

import functools
import re

import opencc

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without NUL and lone surrogates: no tokenizer or network protocol takes them."""
    return _NOT_TEXT.sub("", text)


def simplified(text: str) -> str:
    """The text in simplified characters, for small models: they know both writings, but take them for two subjects.

    Asked in traditional characters about simplified documents, 81 % of the questions of half-indexed CMRC passed the
    gate, of the same in simplified 98 %. Takes 10 µs for a chunk.
    """
    return _converter().convert(text)


@functools.cache
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")
