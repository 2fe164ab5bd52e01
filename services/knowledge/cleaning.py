"""The one place where text of any format is made safe to store, index and show."""

import re
import unicodedata
from dataclasses import replace

from services.characters import without_stacked_marks
from services.knowledge.models import Section

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Control characters but tab and newline, soft hyphen, zero width space, direction overrides (they can make a name read
# differently from what it is), byte order marks, lone surrogates and noncharacters. The zero width joiners stay: emoji
# are built with them.
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u200b\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Text with Unix line ends, without control characters and lone surrogates, in Unicode form NFC.

    Not NFKC: that would change what the user reads (full-width digits, ① and ㎡).
    """
    return unicodedata.normalize("NFC", without_stacked_marks(_UNWANTED.sub("", _LINE_ENDS.sub("\n", text))))


def clean_section(section: Section) -> Section:
    """The section with each of its texts cleaned; headings become one line."""
    titles = (" ".join(clean(title).split()) for title in section.heading)
    return replace(
        section,
        text=clean(section.text),
        heading=tuple(title for title in titles if title),
        header=clean(section.header),
    )
