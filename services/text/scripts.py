"""Traditional and simplified Chinese characters."""

import functools
from collections.abc import Mapping

import opencc


def simplified(text: str) -> str:
    """Return the text in simplified characters, converted one by one, so that every place stays where it is.

    >>> simplified("臺灣ＡＢ")
    '台湾ＡＢ'
    """
    return text.translate(simplified_characters())


@functools.cache
def simplified_characters() -> Mapping[int, str]:
    """Return a table for `str.translate` from traditional characters to simplified ones, which keeps all places.

    Phrases are not converted: the result for a character would depend on its neighbours.
    """
    characters = [chr(code) for start, end in ((0x3400, 0x4DC0), (0x4E00, 0xA000)) for code in range(start, end)]
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {ord(old): new for old, new in zip(characters, converted, strict=True) if old != new}
