"""Recognise questions about the files themselves: which there are, what one says, and who sent it.

A form has to account for the whole message. What is left over must name a file, so that a question about something
that files contain (报名要交什么资料) has no form.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from services.index.tokens import normalise
from services.knowledge.names import Likeness, Named, best_named, plain_name
from services.retrieval.models import Question
from services.retrieval.query import build_query
from services.retrieval.wording import asks_something
from services.text.numerals import number_value
from services.workflows.qa.file_asks import (
    ENDS,
    PARTICLES,
    PLEASE,
    FileAsk,
    FileQuestion,
    Pointing,
    begins_clause,
    clauses,
)
from services.workflows.qa.many_files import recognise_find, recognise_many

_MOST_CHARS = 80
_UPLOADED = "(?:上传|传)"
_MOVED = "(?:上传|传|发|分享|放)"
_WHO = "(?:谁|哪位|哪个人|哪个群友|什么人)"
_WHEN_ASKED = "(?:什么时候|啥时候|哪天|几号|何时|多久前)"
_WHEN_TOO = rf"(?:[,\s]*(?:又|都|还有)?(?:是|在)?{_WHEN_ASKED}(?:{_MOVED})?的?)?"
_UPLOADER = (
    rf"{PLEASE}{{0,5}}(?:是)?{_WHO}(?P<verb>{_MOVED})(?:的|了|过|上来的?)(?P<file>.{{1,60}}?)(?:的)?{PARTICLES}{_WHEN_TOO}{PARTICLES}",
    rf"{PLEASE}{{0,5}}(?P<file>.{{1,60}}?)(?:是|由|到底是)?(?:{_WHO}|{_WHEN_ASKED})(?P<verb>{_MOVED})(?:的|上来的|上去的"
    rf"|到群里的|到群里来的|进来的){PARTICLES}{_WHEN_TOO}{PARTICLES}",
    rf"{PLEASE}{{0,5}}(?P<file>.{{1,60}}?)(?:是)?{_WHEN_ASKED}(?P<verb>上传|更新)(?:的|过的?|了){PARTICLES}",
    rf"{PLEASE}{{0,5}}(?P<file>.{{1,60}}?)的?(?P<verb>上传)(?:者|人|时间)(?:是|叫)?(?:谁|哪位|什么|啥|多少)?{PARTICLES}",
    r"who (?P<verb>uploaded|shared|sent|posted) (?P<file>.{2,60})",
    r"when was (?P<file>.{2,60}) (?P<verb>uploaded|shared|sent|posted)",
)
_SUM_UP = "(?:总结|概括|概述|归纳|提炼|梳理|小结|摘要|省流)"
_TELL = "(?:介绍|说说|讲讲|说一说|讲一讲|聊聊|解读|科普)"
_SOME = "(?:一下子?|下|一哈|一遍|个)?"
_LIGHTLY = "(?:简单|大概|大致|简要|快速|简短|稍微|一句话|用?一两?句话|几句话)"
_TEXT_SAYS = "(?:讲|说|写|介绍|包含|包括|涵盖|讲述|讨论)"
_SUMMARY = (
    re.compile(
        rf"{_LIGHTLY}{{0,2}}(?:地|来)?{_SUM_UP}{_SOME}(?:(?:主要|核心)?(?:内容|要点|重点|大意)|.{{0,3}}(?:啥|什么"
        rf"|哪些)(?:的)?)?"
    ),
    re.compile(rf"{_LIGHTLY}{{1,2}}(?:地|来)?{_TELL}{_SOME}|{_LIGHTLY}{{0,2}}{_TELL}{_SOME}"),
    re.compile(
        rf"(?:里面?|里头|到底|究竟|主要|大概|大致|都|是|具体)*{_TEXT_SAYS}(?:的|了|的是|得是|到)?(?:些|点"
        rf"|有)?(?:什么|啥|哪些|哪几)"
        rf"(?:个?(?:东西|内容|事情?|玩意儿?|方面|问题))?(?:的|来着)?"
    ),
    re.compile(
        r"(?:的|里面?的?)?(?:主要|核心|大概|大致|基本)(?:的)?(?:内容|意思|要点|观点)(?:是|有|都)*(?:什么|啥|哪些)?"
        r"|(?:的|里面?的?)?(?:内容|大意|要点|摘要|概要|梗概|中心思想|大纲|提纲|目录)(?:是|有|都)*(?:什么|啥|哪些)?$"
    ),
    re.compile(
        r"\b(?:please |can you |could you )?(?:summari[sz]e|sum up|(?:give me )?an? (?:\w+ )?(?:summary"
        r"|overview) of|tl;?dr(?: of)?)\b"
    ),
    re.compile(r"\b(?:what(?:'s| is| was)|what does)\b(?=.* (?:about|say|cover|contain|discuss)$)"),
)
# Forms that only mean a file if the message also says that it is one: 宿舍里有什么.
_SUMMARY_OF_FILE = re.compile(
    r"里面?(?:都|是|有|写)*(?:些)?(?:什么|啥|哪些)(?:内容|东西)?|(?:是|都是)(?:干[嘛啥]|做什么|什么"
    r"|啥)(?:用)?(?:的|内容|文件|文档|资料)|\bwhat(?:'s| is) in(?:side)?\b"
)
# What a text enumerates is asked for in the same words: 投标文件的内容有哪些.
_ENUMERATED = re.compile(r"有哪些|包括|包含|涵盖")
_ENGLISH_TAIL = re.compile(r" (?:about|say|cover|contain|discuss)$")
_EXTENSION = re.compile(r"\.(?:pdf|docx?|pptx?|xlsx?|csv|md|html?|txt)(?![a-z0-9])")
_GENERIC = re.compile(
    r"(?:文件|文档|课件|档案|pdf|ppt|word|excel)(?![a-z0-9])|(?<![a-z])(?:the|this|that|file|document|doc|paper"
    r"|slides?)(?![a-z])"
)
_LOOSE = re.compile(r"资料|表格|表(?![\u4e00-\u9fff])|文章|论文|那?一?页$")
_THAT = re.compile(r"[这那][个份篇本页张套部则]?|它|上面(?:那个|的)?|(?<![a-z])(?:it|this|that)(?![a-z])")
_LATEST = re.compile(
    r"(?:刚才?|刚刚|最新|最近|最后|上一?(?=[个份篇])|前一(?=[个份篇]))(?:上传|传|发|更新)?(?:的|上来的?)?(?:一?[个份篇])?|新(?:上传|传|发|更新)(?:的|上来的?)?"
    r"|(?<![a-z])(?:latest|newest|last)(?![a-z])"
)
# 刚才讲的 is what somebody said, 刚才传的 and 上一个 are files.
_SENT_ONE = re.compile(r"传|发|更新|[个份篇]|latest|newest|last")
_FILLER = re.compile(
    r"帮忙|帮我?|麻烦|请|给我?|看看|可以|能不能|能|一下|简单|大概|主要|一句话|里面?|太长了?|太多了?|看不完|不想看"
    r"|没看完?|懒得看"
    r"|(?:谁|有人|哪位)(?=能|可以|会|$)|(?:我|谢谢|大佬|呗|吧|啊|呀|呢|哦|嘛|吗|么|的|了|把|下|是|来|再|也|份|个"
    r"|篇)$|^(?:把|将|对|给|的|一?下|是|就|我)"
    r"|(?<![a-z])(?:please|can|you|could|the|of|for|me|file|document|doc|paper|a|an|to|us|briefly"
    r"|in one sentence)(?![a-z])"
)
# 介绍一下图书馆 asks about the library, even if a file is named after it; 介绍一下选课指南 asks about the guide.
_DOCUMENT = re.compile(
    r"(?:手册|指南|办法|规定|规则|制度|公约|规约|合同|协议|细则|条例|法|教程|通知|说明|方案|计划|报告|清单|讲义"
    r"|论文|课件|[手图名画秩序]*册|须知|纪要|大纲|公告|规程|标准|[价课名日工]\w?表|表格|readme|syllabus|faq)$"
)
_NUMBER = re.compile(r"(?:编号|第|no\.?|#|文件|号)?\s*(\d{1,6})\s*(?:号|个)?(?:文件|文档|资料)?")
_PLACE_IN_LIST = re.compile(r"第\s*(\d{1,4}|[一二三四五六七八九十]{1,3})[个份篇]?\s*(?:文件|文档|资料|课件)")
_TITLED = re.compile(r"《[^《》]{2,40}》")
_MOST_TITLE_CHARS = 20
_ORDINAL = re.compile(r"第(?:\d{1,3}|[一二三四五六七八九十]{1,3})[讲课周期次章]")
_WEAK_TELLING = re.compile(rf"(?:(?!.{{0,3}}句话){_LIGHTLY}){{0,2}}{_TELL}{_SOME}")


def recognise(question: Question, documents: Sequence[Named]) -> FileQuestion | None:
    """Return what a message asks about `documents`, or None if it is a question like any other."""
    text = normalise(build_query(Question(question.text)).text).strip(ENDS + " \n")
    if not text or len(text) > _MOST_CHARS or "\n" in text:
        return None
    asked = (
        recognise_many(text, documents)
        or _uploader(text, documents)
        or _summary(text, documents)
        or recognise_find(text)
    )
    return asked and replace(asked, words=tuple(_as_written(word, question.text) for word in asked.words))


def _as_written(word: str, text: str) -> str:
    """Return a normalised word as the message has it, if it is found there."""
    place = text.lower().find(word)
    return text[place : place + len(word)] if place >= 0 else word


def _uploader(text: str, documents: Sequence[Named]) -> FileQuestion | None:
    for form in _UPLOADER:
        found = re.fullmatch(form, text)
        if found is not None:
            # People also send pay and messages; only files are uploaded.
            is_upload = re.match(f"{_UPLOADED}|更新|uploaded", found["verb"]) is not None
            least = Likeness.PART if is_upload else Likeness.WHOLE
            return _about(FileAsk.UPLOADER, found["file"], documents, least)
    return None


def _summary(text: str, documents: Sequence[Named]) -> FileQuestion | None:
    of_file = _SUMMARY_OF_FILE.search(text)
    before = text[: of_file.start()].strip() if of_file else ""
    is_file = of_file is not None and (
        _says_file(before)
        or _says_file(text if of_file[0].isascii() else of_file[0])
        or (_DOCUMENT.search(before) is not None and best_named([before], documents)[0] >= Likeness.MOST)
    )
    for found in ((of_file if is_file else None), *(form.search(text) for form in _SUMMARY)):
        rest = found and _around(text, found)
        if found is None or rest is None:
            continue
        is_weak = _WEAK_TELLING.fullmatch(found[0]) and not _says_file(text) and not _DOCUMENT.search(_stripped(rest))
        least = Likeness.MOST if _ENUMERATED.search(text) else Likeness.MISSPELT
        if is_weak:
            continue
        if question := _about(FileAsk.SUMMARY, rest, documents, least):
            return question
        if found.re is _SUMMARY[0] and (missing := _missing(rest)):
            return missing
    return None


def _missing(text: str) -> FileQuestion | None:
    """Return the question for a summary of what sounds like a document, but no file is named so.

    Unless its title is marked as one, a text of another file may still tell about it.
    """
    words, is_title = _words(text), _TITLED.search(text) is not None
    if not words or len("".join(words)) > _MOST_TITLE_CHARS or any(map(asks_something, words)):
        return None
    return FileQuestion(FileAsk.SUMMARY, words, certain=is_title) if is_title or _DOCUMENT.search(words[-1]) else None


def _around(text: str, found: re.Match[str]) -> str | None:
    """Return what names the file: the words around a form in its clause, or else before it.

    Return None if the words behind the form ask something else.
    """
    before, after = text[: found.start()], _ENGLISH_TAIL.sub("", text[found.end() :])
    if not found[0].isascii():
        is_apart = before.strip() and begins_clause(after)
        behind, *later = ["", *clauses(after)] if is_apart else clauses(after) or [""]
        if any(map(asks_something, map(_without_forms, later))):
            return None
        after = behind
    return _without_forms(f"{before} {after}")


def _without_forms(text: str) -> str:
    for form in _SUMMARY:
        text = form.sub(" ", text)
    return text


def _about(ask: FileAsk, text: str, documents: Sequence[Named], least: Likeness) -> FileQuestion | None:
    """Return the question about the file that `text` names, which must be nothing but a name.

    `least` is how well it has to name one, if the message does not say that it means a file.
    """
    text = text.strip(ENDS + " 《》「」\"'“”")
    whole = best_named([text], documents)
    if whole[0] is Likeness.WHOLE:
        return FileQuestion(ask, (text,), certain=True)
    says_file = _says_file(text)
    if place := _PLACE_IN_LIST.fullmatch(_stripped(text)):
        return FileQuestion(ask, position=number_value(place[1]), certain=True)
    if number := _NUMBER.fullmatch(_stripped(text)):
        return (
            FileQuestion(ask, number=int(number[1]), certain=True)
            if says_file or "编号" in text
            else _numbered(ask, text)
        )
    words = _words(text)
    if not words:
        if _LATEST.search(text) and (says_file or _SENT_ONE.search(text)):
            return FileQuestion(ask, pointing=Pointing.TO_LATEST, certain=says_file)
        points = says_file or _THAT.search(text) is not None
        return FileQuestion(ask, pointing=Pointing.TO_THAT, certain=says_file) if points else None
    rate, _ = best_named(words, documents)
    points = says_file or _LOOSE.search(text) is not None or _THAT.search(text) is not None
    if least is Likeness.MOST and not _THAT.search(text) and not _EXTENSION.search(text):
        points = False
    if rate >= (Likeness.ABBREVIATION if points else least):
        return FileQuestion(ask, words, certain=says_file)
    if any(map(asks_something, words)):
        return None
    # 投标文件的内容 may as well be about the text of a file, 那个投标文件的内容 may not.
    if _EXTENSION.search(text) or (says_file and _THAT.search(text)) or _is_missing_number(text, documents):
        return FileQuestion(ask, words, certain=True)
    return None


def _numbered(ask: FileAsk, text: str) -> FileQuestion | None:
    return FileQuestion(ask, number=int(text)) if text.strip().isdecimal() and len(text.strip()) <= 4 else None


def _is_missing_number(text: str, documents: Iterable[Named]) -> bool:
    """Return whether a text names one of a numbered series (第8讲) of which other numbers are files."""
    found = _ORDINAL.search(text)
    if found is None:
        return False
    series = [match[0] for document in documents for match in _ORDINAL.finditer(normalise(document.name))]
    return found[0] not in series and any(name[-1] == found[0][-1] for name in series)


def _says_file(text: str) -> bool:
    """Return whether a text says that it means a file: an extension, 文件, or 那个表."""
    points = _THAT.search(text) is not None and _LOOSE.search(text) is not None
    return points or _EXTENSION.search(text) is not None or _GENERIC.search(text) is not None


def _words(text: str) -> tuple[str, ...]:
    """Return what is left of a name without the words that only say that a file is meant."""
    for pattern in (_EXTENSION, _LATEST, _THAT, _GENERIC, _LOOSE):
        text = pattern.sub(" ", text)
    pieces = (_stripped(piece) for piece in re.split(r"[\s,。!?;…~、]+|的", text))
    return tuple(piece for piece in pieces if plain_name(piece))


def _stripped(text: str) -> str:
    """Return a text without courtesies and particles around it."""
    before = None
    while before != text:
        before, text = text, _FILLER.sub(" ", text).strip()
    return text
