"""Make text from any source safe to store, index, show and put into a prompt."""

import functools
import re
import unicodedata

from services.text.radicals import with_ordinary_characters

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")

# Control characters except tab and newline, interlinear annotation marks, lone surrogates and noncharacters.
_CONTROLS = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
# Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt): characters that are not drawn. They include
# direction overrides, and variation selectors and tags, which can spell a whole text that only programs read.
_INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# The flags of England, Scotland and Wales are the only tag sequences that Unicode recommends (emoji-sequences.txt).
_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
_PICTURES = "\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
# Scripts in which a joiner or non-joiner changes how letters are drawn: Arabic to Samaritan, Indic, Myanmar, Khmer.
_JOINING = "\u0600-\u085f\u08a0-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff"
_MONGOLIAN = "\u1820-\u18aa"
# Invisible characters that writers need: one at a time, and only where it has an effect.
_NEEDED = (
    f"{_FLAGS}"
    f"|(?<=[{_PICTURES}])[\ufe0e\ufe0f]"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?<=[{_PICTURES}\ufe0f])\u200d(?=[{_PICTURES}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_MONGOLIAN}])[\u180b-\u180f](?=[{_MONGOLIAN}])"
)
_UNWANTED = re.compile(f"(?P<needed>{_NEEDED})|[{_CONTROLS}{_INVISIBLE}]")
# Each of these spells a letter (tags) or a byte (variation selectors) wherever it stands; other characters spell
# something only in runs.
_SPELLING = "\ufe00-\ufe0d\U000e0000-\U000e0fff"
_LEAST_SPELLING = 4
_HIDDEN = re.compile(f"(?:{_FLAGS})|(?P<run>[{_INVISIBLE}]{{{_LEAST_SPELLING},}})|(?P<spelling>[{_SPELLING}])")
# The limit of Unicode's Stream-Safe Text Format (UAX #15); no language needs more than a few.
_MOST_MARKS = 30


def clean(text: str) -> str:
    """Return the text with Unix line ends, without control and invisible characters, in Unicode form NFC.

    Radicals and vertical forms become the characters that people type, which look the same. Emoji sequences and the
    joiners of Arabic, Indic and Mongolian scripts stay. NFKC is not used, because it would change what the user reads
    (full-width digits, ① and ㎡). The time is linear in the length of the text.
    """
    text = _UNWANTED.sub(lambda found: found["needed"] or "", _LINE_ENDS.sub("\n", text))
    return unicodedata.normalize("NFC", without_stacked_marks(with_ordinary_characters(text)))


def compatible(text: str) -> str:
    """Return the text in Unicode form NFKC, in which full-width letters are like others, and ㎡ is m2; fold radicals.

    It serves comparisons. A full-width comma becomes the comma of a number; `separated` prevents this. The time is
    linear in the length of the text.

    >>> compatible("ＭＰＳ①")
    'MPS1'
    """
    return unicodedata.normalize("NFKC", without_stacked_marks(with_ordinary_characters(text)))


def separated(text: str) -> str:
    """Return the text with full stops for full-width commas, for readers of numbers in its compatible form."""
    return text.replace("，", "。")


def without_surrogates(text: str) -> str:
    """Return the text without lone surrogates, which cannot be encoded, and so not stored, sent or shown.

    JSON can carry them, clients cut emoji in half, and some PDF fonts produce them.
    """
    return text.encode("utf-8", "ignore").decode("utf-8")


def without_stacked_marks(text: str) -> str:
    """Return the text with at most 30 combining marks in a row.

    Normalisation sorts the marks of one letter in quadratic time: 20,000 of them take seconds, during which the
    interpreter is blocked.
    """
    if not any(map(unicodedata.combining, text)):
        return text
    return _marks().sub(lambda found: found[0][:_MOST_MARKS], text)


def carries_hidden_text(text: str) -> bool:
    """Return whether invisible characters can spell something: four together, or four tags or variation selectors.

    A stray zero-width space or byte order mark does not count.
    """
    spelling = 0
    for found in _HIDDEN.finditer(text):
        spelling += found["spelling"] is not None
        if found["run"] or spelling >= _LEAST_SPELLING:
            return True
    return False


@functools.cache
def _marks() -> re.Pattern[str]:
    """Return a pattern for a run of more combining marks than any script needs."""
    marks = "".join(chr(code) for code in range(0x300, 0x1E94B) if unicodedata.combining(chr(code)))
    return re.compile(f"[{marks}]{{{_MOST_MARKS + 1},}}")
