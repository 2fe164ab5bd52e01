"""Removal of the thoughts that some models write into their answers, from whole texts and from streams."""

import re

# If the text ends within the thoughts, there is no answer yet.
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_BEGIN = re.compile("<think>", re.IGNORECASE)
_END = re.compile("</think>", re.IGNORECASE)
_PART_OF_BEGIN = re.compile(r"<(?:t(?:h(?:i(?:nk?)?)?)?)?\Z", re.IGNORECASE)
_PART_OF_END = re.compile(r"<(?:/(?:t(?:h(?:i(?:nk?)?)?)?)?)?\Z", re.IGNORECASE)
_MARK_CHARS = len("</think>")


def without_thoughts(text: str) -> str:
    """Return `text` without thoughts and without lone surrogates, which no database and no QQ client takes.

    >>> without_thoughts("<think>三百？</think>三百五十元。")
    '三百五十元。'
    """
    return without_surrogates(_THOUGHTS.sub("", text))


def without_surrogates(text: str) -> str:
    """Return `text` without lone surrogates."""
    return text.encode("utf-8", "ignore").decode()


class ThoughtFilter:
    """Removes thoughts from a text that arrives in pieces. A mark may be spread over several of them."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False

    def feed(self, piece: str) -> str:
        """Return what of the text up to this piece is certainly no thought and was not returned before."""
        text, place = self._held + piece, 0
        spoken: list[str] = []
        while mark := (_END if self._thinking else _BEGIN).search(text, place):
            if not self._thinking:
                spoken.append(text[place : mark.start()])
            place, self._thinking = mark.end(), not self._thinking
        part = (_PART_OF_END if self._thinking else _PART_OF_BEGIN).search(text, max(place, len(text) - _MARK_CHARS))
        held_from = part.start() if part else len(text)
        if not self._thinking:
            spoken.append(text[place:held_from])
        self._held = text[held_from:]
        return without_surrogates("".join(spoken))

    def end(self) -> str:
        """Return what was held back because a mark could have followed."""
        return "" if self._thinking else without_surrogates(self._held)
