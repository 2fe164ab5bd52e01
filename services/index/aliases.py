"""Extraction of aliases that a text itself defines: 甲（简称乙）, 甲，又称乙, Full Name (ABBR).

A wrong alias misleads a search, while a missed one only costs a second wording. So everything doubtful is left out:
names are short, contain no punctuation, and are neither numbers nor words with a general meaning.
"""

import re
from collections.abc import Iterator
from itertools import combinations

from services.index.tokens import normalise

MAX_CHARS = 20
# A Latin name needs more characters: "Convolutional Neural Network" says no more than 卷积神经网络.
MAX_LATIN_CHARS = 40
_MAX_NAMES = 8

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_QUOTED = r"[“\"「『《〈'‘`]([^“”\"「」『』《》〈〉'‘’`\n]{2,40})[”\"」』》〉'’`]"
_LETTER = rf"{_HAN}A-Za-z0-9·+#._/-"
_WORDS = rf"[{_LETTER}]+(?: (?=[A-Za-z0-9])[A-Za-z0-9+#._/-]+){{0,10}}"
# A match starts only at the beginning of a run of letters: trying every position inside a long run would be useless.
_NAME = rf"(?:{_QUOTED}|((?<![{_LETTER}]){_WORDS}))"
# A name after a word of a pattern, which itself consists of letters.
_NEXT = rf"(?:{_QUOTED}|({_WORDS}))"
_GAP = r"[ *]*"
_ASIDE = r"(?:[（(][^（）()\n]{0,60}[）)])?"
_MARKER = (
    r"(?:以下|下文|后文)?(?:简称|统称|缩写|英文缩写|俗称|俗名|别称|别名|又称|又名|又叫|也称|也叫|亦称|亦名|全称|下称|昵称)"
    r"(?:之?[为作]|是|叫)?[:：]?"
)
_ENGLISH_MARKER = r"(?:also known as|also called|a\.?k\.?a\.?|abbreviated (?:as|to)|short for|abbr\.?:?)"
_AND = rf"{_GAP}(?:、|或|，或){_GAP}"

# 甲（以下简称“乙”、“丙”）. 即 counts only here and before quotation marks; elsewhere it starts an explanation.
_BRACKETED = re.compile(
    rf"{_NAME}{_GAP}[（(]{_GAP}(?:{_MARKER}|即|{_ENGLISH_MARKER}){_GAP}{_NEXT}((?:{_AND}{_NEXT})*){_GAP}[,，;；）)]",
    re.IGNORECASE,
)
# 甲（学名），又称乙、丙，俗称丁
_CLAUSE = rf"{_GAP}[，,]?{_GAP}{_MARKER}{_GAP}{_NEXT}(?:{_AND}{_NEXT})*"
_CLAUSES = re.compile(rf"{_NAME}{_GAP}{_ASIDE}{_GAP}((?:{_CLAUSE})+)(?={_GAP}(?:[。，,；;：:、（(）)\n]|$|是|为))")
_SAME = re.compile(rf"{_NAME}{_GAP}[，,]{_GAP}即{_GAP}{_QUOTED}")
# 乙是甲的简称
_KIND = r"(?:简称|缩写|英文缩写|别名|别称|俗称|全称|昵称|首字母缩写|另一种叫法|另一个名字)"
_OF = re.compile(rf"{_NAME}{_GAP}(?:就?是|即|为){_GAP}{_NEXT}{_GAP}(?:[（(]{_GAP}{_NEXT}{_GAP}[）)])?{_GAP}的{_KIND}")
_ENGLISH_OF = re.compile(
    rf"{_NAME} (?:is (?:short for|an? abbreviation (?:of|for)|the abbreviation (?:of|for))|stands for|short for)"
    rf" (?:the )?{_NAME}",
    re.IGNORECASE,
)
_BRACKET = re.compile(rf"{_GAP}[（(]{_GAP}({_WORDS}){_GAP}[）)]")
_RUN = re.compile(rf"(?<![{_LETTER}])({_WORDS})$")
_SPACES = re.compile(r"[ \t*]+")
_PLAIN = re.compile(_WORDS)
_OTHER = re.compile(_NEXT)
_MARKED = re.compile(_MARKER)
_HINT = re.compile(
    r"[简全俗别又也亦下昵统]称|[又俗亦别]名|[又也]叫|缩写|[，,（(]即|名字|叫法|known as|called|a\.?k\.?a|abbr|short for"
    r"|stands for",
    re.IGNORECASE,
)
# How far a definition reaches before and after its marker.
_BEFORE, _BEHIND = 120, 160

_ACRONYM = re.compile(r"[A-Z][A-Z0-9]*(?:-?[A-Z0-9]+)*")
_LATIN_WORD = re.compile(r"[A-Za-z0-9]+")
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "to", "with", "by", "a", "an"))
_HAS_HAN = re.compile(rf"[{_HAN}]")
_NUMERIC = re.compile(r"[\d年月日号时分秒点第个章节条页款、.%/:-]+")
# A name starts after the last of these: 我们使用|大语言模型, 位于室外的|操场.
_BEFORE_NAME = re.compile(
    r".*(?:的|是|在|由|把|将|被|了|使用|采用|利用|通过|基于|根据|按照|依据|关于|属于|位于|称为|叫做|包括|例如|比如|以及"
    r"|我们|他们|可以|需要|支持|提供|进行|其中|所谓|目前|如果|这种|这个|一种|一个|一款|一家|还有|或者|或称|本次|隶属|启用|开启|遇到|形成|部署"
    r"|训练|提交|服务|评测|执行|虽然|不只|取得|随着)"
)
# A name also starts after the last of these, unless they are a part of it.
_JOINT = re.compile(r".*(?:于|与|和|及|或)")
_LEADING = re.compile(r"^(?:[和与及或对向从为以用即则故因并而且但也又其该此各]|故英文)(?=.{2})")
_SENTENCE = re.compile(r"[的了吗呢吧]|一些|当初|泛指|我们|你们|可以|应当|必须|不得|不是|没有|什么|怎么|如何")
# These mean a different thing in every document, or nothing.
_GENERIC = frozenset(
    """
    公司 集团 本公司 甲方 乙方 丙方 双方 各方 办法 规定 制度 条例 细则 通知 协议 合同 文件
    学校 学院 单位 部门 中心 平台 系统 项目 产品 软件 模型 工具 程序 数据 信息 用户 客户
    老师 同学 英文 中文 日文 英语 日语 法语 学名 原名 本名 全名 名称 名字 简称 缩写 全称
    后者 前者 以下 下文 后文 台湾 香港 大陆 民间 当地 一般 通常 有时 这里 本文 本书 该书
    作者 我们 他们 它们
    todo wip new ok yes no id note faq default optional required true false none null e.g i.e etc the this that
    it they which
    """.split()  # noqa: SIM905 - one word a line would be a page
)


def definitions(text: str) -> set[tuple[str, str]]:
    """Return the pairs of names that a text defines for the same thing.

    Each pair is returned once, with its names sorted.

    >>> sorted(definitions("《差旅费管理办法》（以下简称“差旅办法”）自即日起施行。"))
    [('差旅办法', '差旅费管理办法')]
    >>> sorted(definitions("大雄宝殿，也叫大雄殿，是寺院的正殿。"))
    [('大雄宝殿', '大雄殿')]
    >>> sorted(definitions("We use Group Normalization (GN) here."))
    [('GN', 'Group Normalization')]
    >>> definitions("本公司（以下简称甲方）承诺，即日起生效（2024年）。")
    set()
    """
    found: set[tuple[str, str]] = set()
    for names in _definitions(text):
        usable = list(dict.fromkeys(name for name in names if _is_name(name)))[:_MAX_NAMES]
        for left, right in combinations(sorted(usable), 2):
            if normalise(left) != normalise(right) and not _is_head(left, right) and not _is_head(right, left):
                found.add((left, right))
    return found


def _is_head(short: str, long: str) -> bool:
    """Return whether a name is only the generic head of the other one.

    广场 in 人民广场 also occurs in the name of any other square.
    """
    return len(short) == 2 and bool(_HAS_HAN.match(short)) and long.endswith(short)


def _definitions(text: str) -> Iterator[list[str]]:
    for match in _BRACKET.finditer(text):
        if _may_abbreviate(match[1]) and (run := _RUN.search(text[max(0, match.start() - _BEFORE) : match.start()])):
            yield _abbreviation(run[1], match[1])
    reached = 0
    for hint in _HINT.finditer(text):
        if hint.start() >= reached:
            reached = hint.end() + _BEHIND // 2
            yield from _marked(text[max(0, hint.start() - _BEFORE) : hint.end() + _BEHIND])


def _may_abbreviate(inside: str) -> bool:
    """Return whether a text in brackets may be a name: a cheap check that excludes most of them."""
    return " " in inside or bool(_ACRONYM.fullmatch(inside)) or _is_short_form(inside) or bool(_HAS_HAN.match(inside))


def _marked(text: str) -> Iterator[list[str]]:
    text = _SPACES.sub(" ", text)
    for match in _BRACKETED.finditer(text):
        other = match[3] or match[4]
        yield [_subject(match[1], match[2], other), other, *_others(match[5])]
    for match in _CLAUSES.finditer(text):
        others = _others(_MARKED.sub(" ; ", match[3]))
        yield [_subject(match[1], match[2], others[0] if others else ""), *others]
    for match in _SAME.finditer(text):
        yield [_subject(match[1], match[2], match[3]), match[3]]
    for match in _OF.finditer(text):
        inner = [match[5] or match[6] or ""]
        yield [_subject(match[1], match[2], ""), match[3] or match[4], *inner]
    for match in _ENGLISH_OF.finditer(text):
        yield [match[1] or match[2].rsplit(" ", maxsplit=1)[-1], match[3] or _fitting(match[4], match[1] or match[2])]


def _others(text: str | None) -> list[str]:
    return [match[1] or match[2] for match in _OTHER.finditer(text or "")]


def _subject(quoted: str | None, plain: str | None, other: str) -> str:
    """Return the name that a run of text ends with, when `other` is another name of the same thing."""
    if quoted is not None:
        return quoted
    run = plain or ""
    if not _HAS_HAN.search(run):
        return run
    name = _LEADING.sub("", _BEFORE_NAME.sub("", run))
    # 计算机科学与技术学院（简称计院）: the part that contains the letters of the other name belongs to this name.
    if not (_HAS_HAN.match(other) and _is_within(other, name)):
        name = _LEADING.sub("", _JOINT.sub("", name))
    return name.strip(" -_./")


def _is_within(short: str, long: str) -> bool:
    """Return whether the letters of one name occur in the other in the same order."""
    letters = iter(long)
    return all(letter in letters for letter in short)


def _abbreviation(before: str, inside: str) -> list[str]:
    """Return the two names in `before (inside)`, if one is an abbreviation of the other or of its translation."""
    if _HAS_HAN.search(inside):
        # AI（人工智能）
        word = before.rsplit(" ", maxsplit=1)[-1]
        return [word, inside] if _ACRONYM.fullmatch(word) and _HAS_HAN.sub("", inside) == "" else []
    if _HAS_HAN.search(before):
        name = _subject(None, before, "")
        return [name, inside] if _ACRONYM.fullmatch(inside) and _HAS_HAN.sub("", name) == "" else []
    if (long := _fitting(before, inside)) and _is_short_form(inside):
        return [inside, long]
    word = before.rsplit(" ", maxsplit=1)[-1]
    if " " in inside and _is_short_form(word) and _fitting(inside, word) == inside:
        return [word, inside]
    return []


def _is_short_form(word: str) -> bool:
    return 2 <= len(word) <= 10 and " " not in word and sum(letter.isupper() for letter in word) >= 2


def _fitting(text: str, short: str) -> str:
    """Return the words at the end of a text that `short` abbreviates, or an empty string.

    Either its letters are the initials of the words, or they are found from the right, the first one at the beginning
    of a word, within twice as many words as there are letters. The second way is the algorithm of Schwartz and Hearst,
    A simple algorithm for identifying abbreviation definitions in biomedical text (2003), with one stricter rule: every
    capitalised word must contribute a letter.
    """
    letters = [letter for letter in short.lower() if letter.isalnum()]
    if len(letters) < 2:
        return ""
    words = list(_LATIN_WORD.finditer(text))[-min(len(letters) + 5, 2 * len(letters)) :]
    if len(words) < 2:
        return ""
    remaining = letters[:]
    for word in reversed(words):
        if word.group()[0].lower() == remaining[-1]:
            remaining.pop()
            if not remaining:
                return text[word.start() :]
        elif word.group() not in _SMALL:
            break
    place, used = len(text), set[int]()
    for number in range(len(letters) - 1, -1, -1):
        place = text.lower().rfind(letters[number], 0, place)
        while number == 0 and place > 0 and text[place - 1].isalnum():
            place = text.lower().rfind(letters[0], 0, place)
        if place < words[0].start():
            return ""
        used.add(place)
    covered = [word for word in words if word.start() >= place]
    if len(covered) < 2 or any(word.group()[0].isupper() and word.start() not in used for word in covered):
        return ""
    # At least half of the letters must be initials: TensorFlow is not an abbreviation of "the ... flow".
    return text[place:] if 2 * sum(word.start() in used for word in covered) >= len(letters) else ""


def _is_name(name: str) -> bool:
    is_han = bool(_HAS_HAN.search(name))
    if not 2 <= len(name) <= (MAX_CHARS if is_han else MAX_LATIN_CHARS) or name != name.strip():
        return False
    if _NUMERIC.fullmatch(name) or not any(character.isalpha() for character in name):
        return False
    if not _PLAIN.fullmatch(name) or (is_han and " " in name) or name[-1] in "._/-·" or name[0] in "._/-·#+":
        return False
    if name.casefold() in _GENERIC or (is_han and (name[0] in "本该此其这那" or _SENTENCE.search(name))):
        return False
    return is_han or name.count(" ") <= 6


def is_in(name: str, text: str) -> bool:
    """Return whether a normalised text contains a normalised name that is not just a part of a longer Latin word.

    >>> is_in("ai", "ai是什么"), is_in("ai", "email"), is_in("大殿", "去大殿")
    (True, False, True)
    """
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        inside = start > 0 and _joins(text[start - 1], name[0])
        if not inside and not (end < len(text) and _joins(name[-1], text[end])):
            return True
        start = text.find(name, start + 1)
    return False


def _joins(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
