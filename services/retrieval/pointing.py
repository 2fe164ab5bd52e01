"""Documents that a question says the answer stands in: 员工手册里年假几天, 那个 csv 里谁最多.

A word of a file name alone (员工手册 年假) says less: the answer may as well stand in another file about the subject.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath

from services.index.tokens import normalise

_INSIDE = re.compile(r"(?P<where>里头?面?|上面?|中)(?P<tells>(?:是|有|都|所)?(?:写|说|讲|提|规定|列|要求|记))?")
_BEFORE_NAME = re.compile(r"^(?:请问|我们|咱们?|你们?|群里|[那这][个份张篇]?|在|按照?|根据|《)+")
_AFTER_NAME = re.compile(r"(?:》|[那这][个份张篇]|的)?(?:文件|文档|资料)?》?$")
_NOT_LETTERS = re.compile(r"[\W_]+")
_KINDS = (
    (re.compile(r"csv"), (".csv",)),
    (re.compile(r"excel|xlsx?|表格|电子表"), (".xlsx", ".xls", ".csv")),
    (re.compile(r"pptx?|幻灯片|课件|演示文稿"), (".pptx", ".ppt")),
    (re.compile(r"pdf"), (".pdf",)),
    (re.compile(r"word(?:文[件档])?|docx?"), (".docx", ".doc")),
    (re.compile(r"txt|文本文件|记事本"), (".txt",)),
    (re.compile(r"网页|html?"), (".html", ".htm")),
)
_DATES = re.compile(r"\d+[年月日级版]?")
_FARTHEST = 30
_NAME_CHARS = 2
# A shorter part of a name also occurs where no file is meant (电梯里, 系统里), unless the file is said to tell it.
_SHARE = 0.6


def pointed_at(question: str, names: Iterable[str]) -> frozenset[str]:
    """Return those of the document names in which a question says that its answer stands, empty if it does not.

    >>> sorted(pointed_at("值班表里周三是谁", ["值班表.xlsx", "手册.pdf"]))
    ['值班表.xlsx']
    >>> sorted(pointed_at("那个 csv 里谁最多", ["a.csv", "b.pdf"]))
    ['a.csv']
    >>> pointed_at("电梯里能带狗吗", ["电梯保险费用.docx"])
    frozenset()
    """
    normal = normalise(question)
    stems = {name: _plain(PurePath(name).stem) for name in names}
    for found in _INSIDE.finditer(normal[:_FARTHEST]):
        said = _AFTER_NAME.sub("", _BEFORE_NAME.sub("", normal[: found.start()].strip()).strip()).strip()
        for kind, suffixes in _KINDS:
            if kind.fullmatch(said):
                return frozenset(name for name in stems if PurePath(name).suffix.lower() in suffixes)
        plain = _plain(said)
        if len(plain) < _NAME_CHARS:
            continue
        least = 0.0 if found["tells"] else _SHARE
        meant = frozenset(
            name for name, stem in stems.items() if plain in stem and len(plain) >= least * len(_DATES.sub("", stem))
        )
        if meant:
            return meant
    return frozenset()


def _plain(text: str) -> str:
    return _NOT_LETTERS.sub("", normalise(text))
