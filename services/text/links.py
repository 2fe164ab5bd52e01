"""Find links in a text, including disguised ones, and remove those that no earlier text contains."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

REMARK = "（链接没有出处，已去掉）"

# Clients turn a bare name with one of these endings into a link. Endings that more often belong to programs (.py, .md,
# .app, .name) count only with a path behind the name.
_ENDINGS = (
    "com|cn|net|org|edu|gov|io|ai|xyz|top|vip|icu|club|shop|site|online|store|cc|tv|co|hk|tw|jp|uk|ru|tk|ml|ga|cf|gq|ltd"
    "|wang|ren|cyou|buzz|info|biz|dev|link|page|live|work|fun|tech|cloud|world|mobi|pub|chat|space|website|host|press|news"
    "|blog|wiki|team|today|email|digital|network|agency|company|group|social|video|games|art|life|luxe|love|plus|best|ink"
    "|zone|beauty|monster|quest|sbs|cfd|bond|lol|autos|rest|hair"
)
_NATIONAL_ENDINGS = "中国|公司|网络|网址|网店|商城|在线|中文网|集团|我爱你|香港|台湾|рф"
# Also endings of files and of program names: they count with a path behind the name.
_AMBIGUOUS = "app|zip|mov|bot|run|pro|name|sh|so|bar|foo|one"
_NO_COUNTRY = "py|js|ts|md|rs|rb|cs|hs|kt|vb|ps|mk|so|sh"
# Names of software that look like hosts.
_SOFTWARE = frozenset(
    ("asp.net", "vb.net", "ado.net", "ml.net", "java.net", "java.io", "system.net", "system.io", "socket.io", "main.cc")
)
_DOT = r"(?:\.|\s?[\[({]\s?(?:\.|dot)\s?[\])}]\s?)"
# The rest of an address ends at space, brackets, quotes and Chinese punctuation.
_REST = rf"(?:[^\s<>\"'`|()\[\]{{}}“”‘’（）《》〈〉「」『』【】〔〕［］，。；：！？、…]|{_DOT})"
_LABEL = r"[a-z0-9][a-z0-9-]{0,62}"
_PATH = rf"(?::\d{{1,5}})?(?:[/?\#]{_REST}*)?"
_LINK = re.compile(
    rf"""
    (?<![a-z0-9])[a-z][a-z0-9+.-]{{1,15}}\s?[:：]\s?[/\\]{{2}}\s?{_REST}+
    | (?<![\w-])(?:[\w-]{{1,63}}{_DOT}){{1,5}}(?:{_NATIONAL_ENDINGS})(?![a-z0-9@_-]){_PATH}
    | (?<![a-z0-9])(?:magnet|javascript|vbscript|data)\s?[:：]\s?[?a-z]{_REST}+
    | (?<![a-z0-9@.])www{_DOT}{_REST}+
    | (?<![a-z0-9@._/-])(?:{_LABEL}{_DOT}){{1,5}}(?:{_ENDINGS})(?![a-z0-9@_-]|\.[a-z0-9]){_PATH}
    | (?<![a-z0-9@._/-])(?:{_LABEL}{_DOT}){{1,5}}(?:{_AMBIGUOUS})(?::\d{{1,5}})?/{_REST}*
    | (?<![a-z0-9@._/-])(?:{_LABEL}{_DOT}){{1,5}}(?!(?:{_NO_COUNTRY})/)[a-z]{{2}}(?::\d{{1,5}})?/{_REST}*
    | (?<![a-z0-9@._/-])[a-z0-9-]{{0,62}}[a-z][a-z0-9-]{{0,62}}。(?:com|cn|net|org)(?![a-z0-9_-]){_PATH}
    | (?<![a-z0-9@._/-])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![a-z0-9_-]|\.\d){_PATH}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,15}\s?[:：]\s?[/\\]{2}\s?", re.IGNORECASE)
_ANY_DOT = re.compile(rf"{_DOT}|。", re.IGNORECASE)
_HOST_END = re.compile(r"[/?#\\]")
_GOES_ON = re.compile(r"[.。@]")
_TRAILING = ".,;:!?*_~-/\\&="
# Full-width forms of the characters in addresses. Other full-width punctuation ends an address and stays as it is.
_FULL_WIDTH = {wide: chr(wide - 0xFEE0) for wide in map(ord, "．／＼－＿＠％＃＆＝")} | {0x2024: "."}
# Invisible characters that their Unicode category does not reveal: fillers, and marks that join or select glyphs.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0") | {chr(code) for code in range(0xFE00, 0xFE10)}
_REPEATED = re.compile(rf"{REMARK}(?:\s*{REMARK})+")


@dataclass(frozen=True, slots=True)
class _Link:
    """A link from `start` to `end` of a text, with the equivalent spellings of its address."""

    start: int
    end: int
    addresses: tuple[str, ...]


def known_addresses(texts: Iterable[str]) -> frozenset[str]:
    """Return the addresses of all links in some texts, and of the folders and hosts that contain them."""
    known: set[str] = set()
    for text in texts:
        for link in _links(text):
            for address in link.addresses:
                known.add(address)
                known.update(address[: end.start()] for end in _HOST_END.finditer(address))
    return frozenset(known)


def without_unknown_links(text: str, known: frozenset[str]) -> str:
    """Return the text with a remark in place of every link whose address is not in `known`.

    Scheme, "www.", the case of the host, full-width and invisible characters, a final slash and punctuation behind a
    link are ignored in the comparison. Links that are spelt out in words, or with spaces between their letters, are not
    found.
    """
    pieces: list[str] = []
    place = 0
    for link in _links(text):
        if known.isdisjoint(link.addresses):
            pieces += (text[place : link.start], REMARK)
            place = link.end
    return _REPEATED.sub(REMARK, "".join((*pieces, text[place:])))


def _links(text: str) -> Iterator[_Link]:
    plain, places = _unmasked(text)
    for match in _LINK.finditer(plain):
        shown = match[0].rstrip(_TRAILING)
        addresses = tuple(dict.fromkeys(_addresses(shown)))
        if shown.lower() in _SOFTWARE or not any(addresses):
            continue
        yield _Link(places[match.start()], places[match.start() + len(shown) - 1] + 1, addresses)


def _addresses(link: str) -> Iterator[str]:
    """Yield the address of a link, and its ASCII part, because words may follow a link without a space.

    The ASCII part is left out when the text after it goes on as the host of another address.
    """
    bare = _SCHEME.sub("", link, count=1)
    ascii_end = next((place for place, sign in enumerate(bare) if not sign.isascii() and sign != "。"), len(bare))
    is_apart = _HOST_END.search(bare, 0, ascii_end) or not _GOES_ON.search(bare, ascii_end)
    for part in (bare, bare[:ascii_end]) if is_apart else (bare,):
        end = _HOST_END.search(part)
        host, rest = (part[: end.start()], part[end.start() :]) if end else (part, "")
        host = _ANY_DOT.sub(".", host).lower().removeprefix("www.")
        if host.strip("."):
            yield (host + rest).rstrip(_TRAILING)


def _unmasked(text: str) -> tuple[str, list[int]]:
    """Return the text without invisible characters and in narrow forms, and each character's original position."""
    signs: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        narrow = sign if sign.isascii() else _narrow(sign)
        signs.append(narrow)
        places.extend([place] * len(narrow))
    return "".join(signs), places


def _narrow(sign: str) -> str:
    if sign in _UNSEEN or unicodedata.category(sign) in ("Cf", "Mn"):
        return ""
    if narrow := _FULL_WIDTH.get(ord(sign)):
        return narrow
    form = unicodedata.normalize("NFKC", sign)
    return form if form.isascii() and form.isalnum() else sign
