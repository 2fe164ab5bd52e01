"""What every embedding model is spared."""

import re

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without NUL and lone surrogates: no tokenizer or network protocol takes them."""
    return _NOT_TEXT.sub("", text)
