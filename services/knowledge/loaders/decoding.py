"""Decode text files in the encodings that Chinese users send."""

import codecs
import unicodedata

from services.knowledge.rejections import Rejection, rejected

# UTF-32 LE begins with the UTF-16 LE mark, so the longer marks come first.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_CHARS = 20_000
# With the wrong byte order, about a third of Chinese text still becomes common characters; real text consists of them
# almost entirely.
_PLAUSIBLE_SHARE = 0.85
_DAMAGED_SHARE = 0.02
_CONTROL_SHARE = 0.02
_FEW_CONTROLS = 4
_ASCII_PAIRS_SHARE = 0.6
_PLAUSIBLE_IN_BIG5 = 0.95
_REPLACEMENT = "\ufffd"


def decode(data: bytes) -> str:
    """Return the text of a file in UTF-8, UTF-16, UTF-32, Big5 or GB18030 (which contains GBK and GB2312).

    A byte order mark decides. Without one, NUL bytes in the pattern of UTF-16 mean UTF-16; otherwise UTF-8 is tried
    before GB18030. Big5 is recognised when its bytes decode to rare characters in GB18030, which is not always so for a
    short text. A few damaged or truncated characters (2 %) become U+FFFD instead of changing the encoding of the whole
    file. Raise `DocumentRejected` (not text) for binary data.
    """
    if not data:
        return ""
    text = _decode(data)
    sample = text[:_SAMPLE_CHARS]
    if sum(map(_is_control, sample)) > max(_FEW_CONTROLS, _CONTROL_SHARE * len(sample)):
        raise rejected(Rejection.NOT_TEXT, "too many control characters")
    return text


def _decode(data: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _mostly_valid(data[len(mark) :], encoding)
    if b"\0" in data:
        if not _has_nuls_of_utf16(data):
            raise rejected(Rejection.NOT_TEXT, "NUL bytes")
        return _utf16_without_mark(data, _PLAUSIBLE_SHARE)
    for encoding in ("utf-8", "gb18030"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return (_as_big5(data, text) or text) if encoding == "gb18030" else text
    for encoding in ("utf-8", "gb18030"):
        text = data.decode(encoding, errors="replace")
        damaged = text.count(_REPLACEMENT)
        # Half a character at the end of a short text can be more than 2 % of it.
        if damaged <= max(1, _DAMAGED_SHARE * sum(character > "\x7f" for character in text)) and _plausible(text) > 0.5:
            return text
    return _utf16_without_mark(data, 0.95)


def _has_nuls_of_utf16(data: bytes) -> bool:
    """Return whether NUL bytes occur as in UTF-16: in one byte of a pair that is a character.

    In ASCII text with scattered NULs, nearly all other pairs of bytes are ASCII; in Chinese text in UTF-16 a quarter
    are.
    """
    pairs = list(zip(data[0 : 2 * _SAMPLE_CHARS : 2], data[1 : 2 * _SAMPLE_CHARS : 2], strict=False))
    whole = [pair for pair in pairs if all(pair)]
    empty = sum(not any(pair) for pair in pairs)
    ascii_pairs = sum(all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in pair) for pair in whole)
    return empty <= _CONTROL_SHARE * len(pairs) and ascii_pairs <= _ASCII_PAIRS_SHARE * len(whole)


def _as_big5(data: bytes, as_gb18030: str) -> str:
    """Return the text in Big5 if it consists of common characters and the text in GB18030 does not, else ""."""
    if _plausible(as_gb18030) >= _PLAUSIBLE_SHARE:
        return ""
    try:
        text = data.decode("big5hkscs")
    except UnicodeDecodeError:
        return ""
    return text if _plausible(text) >= _PLAUSIBLE_IN_BIG5 else ""


def _mostly_valid(data: bytes, encoding: str) -> str:
    text = data.decode(encoding, errors="replace")
    if text.count(_REPLACEMENT) > max(1, _DAMAGED_SHARE * len(text)):
        raise rejected(Rejection.NOT_TEXT, f"byte order mark of {encoding}, but not valid")
    return text


def _utf16_without_mark(data: bytes, threshold: float) -> str:
    texts = [data.decode(encoding, errors="replace") for encoding in ("utf-16-le", "utf-16-be")]
    best = max(texts, key=_plausible)
    if _plausible(best) < threshold:
        raise rejected(Rejection.NOT_TEXT, "binary data")
    return best


def _plausible(text: str) -> float:
    sample = text[:_SAMPLE_CHARS]
    return sum(_is_common(character) for character in sample) / len(sample) if sample else 0.0


def _is_common(character: str) -> bool:
    """Return whether a character is common in Chinese and English texts."""
    return (
        " " <= character <= "~"
        or character in "\t\r\n"
        or "\u4e00" <= character <= "\u9fff"
        or "\u3000" <= character <= "\u30ff"
        or "\uff00" <= character <= "\uffef"
        or "\u00a0" <= character <= "\u00ff"
        or "\u2010" <= character <= "\u2027"
    )


def _is_control(character: str) -> bool:
    # Ctrl-Z ends some DOS files and form feeds separate pages; neither makes a file binary.
    return character not in "\t\r\n\f\v\x1a" and unicodedata.category(character) == "Cc"
