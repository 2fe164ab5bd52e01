"""Text normalisation shared by all embedding models."""

import functools
import re

import opencc

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """Return the text without NUL and lone surrogates, which no tokenizer or network protocol accepts."""
    return _NOT_TEXT.sub("", text)


def simplified(text: str) -> str:
    """Return the text in simplified characters.

    Small models know both scripts but treat them as two subjects. With questions in traditional characters about
    documents in simplified ones, 81 % of the questions of half-indexed CMRC passed the gate; with the same questions in
    simplified characters, 98 % did. A chunk takes 10 µs.
    """
    return _converter().convert(text)


@functools.cache
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")
