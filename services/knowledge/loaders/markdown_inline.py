"""Turn lines of Markdown into the text that a viewer of the page sees."""

import re
from collections.abc import Callable
from html import unescape

from services.knowledge.loaders.struck import struck

# https://html.spec.whatwg.org/multipage/indices.html#elements-3
_TAGS = (
    "a|abbr|article|aside|audio|b|blockquote|body|br|button|caption|center|cite|code|col|colgroup|dd|del|details|dfn|"
    "div|dl|dt|em|embed|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|"
    "li|link|main|mark|meta|nav|object|ol|option|p|picture|pre|q|s|samp|section|select|small|source|span|strike|strong|"
    "sub|summary|sup|svg|path|table|tbody|td|template|tfoot|th|thead|time|tr|tt|u|ul|var|video|wbr"
)
_TAG = re.compile(rf"</?(?:{_TAGS})(?:\s[^<>]{{0,2000}})?/?>", re.IGNORECASE)
# Components of site generators: <Badge text="新" />, <ClientOnly>, </CodeGroup>. A placeholder such as <Token> stays.
_COMPONENT = re.compile(
    r"</[A-Z][A-Za-z]*>|<[A-Z][A-Za-z]*(?:\s[^<>]{0,2000})?/>|<[A-Z][A-Za-z]*\s[^<>]{0,2000}=[^<>]{0,2000}>"
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)(`{1,8})(?!`)(.{1,2000}?)(?<!`)\1(?!`)")
_IMAGE = re.compile(r"!\[[^\[\]]{0,500}\](?:\([^()]{0,2000}(?:\([^()]{0,500}\)[^()]{0,500})?\)|\[[^\[\]]{0,200}\])")
_LINK = re.compile(
    r"\[([^\[\]]{0,1000})\]\(\s*<?([^()\s<>]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)>?(?:\s+[\"'(][^\"']{0,500}[\"')])?\s*\)"
)
_REFERENCE = re.compile(r"\[([^\[\]]{1,1000})\]\[[^\[\]]{0,200}\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,50}\]")
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,2000})>")
_ANCHOR = re.compile(r"\s*\{\s*[#.:][^{}]{0,200}\}\s*$")
_EMPHASIS = (
    re.compile(r"\*{2,3}(?=\S)(.{1,2000}?)(?<=\S)\*{2,3}"),
    re.compile(r"(?<![A-Za-z0-9])_{2,3}(?=\S)(.{1,2000}?)(?<=\S)_{2,3}(?![A-Za-z0-9])"),
    re.compile(r"(?<![A-Za-z0-9*\\])\*(?![\s*])([^*]{1,2000}?)(?<![\s*\\])\*(?![A-Za-z0-9*])"),
    re.compile(r"(?<![A-Za-z0-9_\\])_(?![\s_])([^_]{1,2000}?)(?<![\s_\\])_(?![A-Za-z0-9_])"),
)
_STRUCK = re.compile(
    r"(?<!~)~~(?=[^\s~])(.{1,2000}?)(?<=[^\s~])~~(?!~)|<(del|s|strike)>(.{1,2000}?)</\2>", re.IGNORECASE
)
_TASK = re.compile(r"^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[([ xX])\](?=\s)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_OPEN, _DONE = "☐", "☑"
# A shorter text, such as 官网 or here, says little without its target.
_TELLING_CHARS = 5
_KEPT = re.compile("\ue000(\\d+)\ue001")


def plain(text: str) -> str:
    """Return a line without marks, tags, images and the targets of links; code spans keep their text.

    What is struck through says so, and tasks have a box.

    >>> plain("**限额**见[住宿标准](fees.md#a)，`--all` 也行 ![图](a.png)")
    '限额见住宿标准，--all 也行'
    """
    codes: list[str] = []

    def keep(found: str) -> str:
        codes.append(found)
        return f"\ue000{len(codes) - 1}\ue001"

    text = text.replace("\ue000", "").replace("\ue001", "")
    text = _CODE.sub(lambda found: keep(found[2].strip() or found[2]), text)
    text = _TASK.sub(lambda found: found[1] + (_OPEN if found[2] == " " else _DONE), text)
    text = _STRUCK.sub(lambda found: struck(found[1] or found[3]), text)
    text = _AUTOLINK.sub(lambda found: keep(found[1]), text)
    text = _BREAK.sub(" ", _IMAGE.sub("", text))
    text = _COMPONENT.sub("", _TAG.sub("", text))
    text = _LINK.sub(lambda found: _linked(found[1], found[2], keep), _FOOTNOTE.sub("", text))
    text = _REFERENCE.sub(r"\1", _ANCHOR.sub("", text))
    for marks in _EMPHASIS:
        text = marks.sub(r"\1", text)
    text = unescape(_ESCAPE.sub(r"\1", text))
    return _KEPT.sub(lambda found: codes[int(found[1])], text).rstrip()


def _linked(text: str, target: str, keep: Callable[[str], str]) -> str:
    bare = text.strip()
    if not bare or len(bare) > _TELLING_CHARS or not target.startswith(("http://", "https://")) or target == bare:
        return text
    return f"{text}（{keep(target)}）"
