"""Recognise questions about all files or some of them: which there are, of which kind, which is new or largest.

A form has to account for the whole message, so that a question about files that a text asks for (需要提交哪些文件) has
none.
"""

import re
from collections.abc import Sequence

from services.knowledge.names import Named, plain_stem
from services.retrieval.wording import asks_something
from services.workflows.qa.file_asks import (
    FILE,
    PARTICLES,
    PLACE,
    PLEASE,
    STORE,
    Extreme,
    FileAsk,
    FileKind,
    FileQuestion,
    Period,
    clauses,
)

_WHAT = "(?:哪些个?|哪几[个份篇]|有?些?啥|些?什么|几[个份篇]|多少[个份篇]?)"
_ALL = "(?:全部的?|所有的?|全体|可用的?)"
_FILES = f"(?:{_ALL}?{FILE}(?:[和跟、/与]?{FILE})?)"
# A text may tell which these are: 学习资料有哪些.
_TOLD_FILES = "(?:(?:学习|复习|参考|相关|有关|共享|培训)的?(?:资料|文件|文档|课件))"
# Documents of a kind that names often contain. Only in a place for files do they mean files.
_SORT = "(?:函|手册|指南|须知|合同|法规|法律|条例|论文|教程|讲义|书|试卷|真题|模板|报告|通知|制度|规定|材料)"
# These are also things that a text tells.
_TOLD = frozenset(("模板", "报告", "通知", "制度", "规定", "材料"))
_NOW = "(?:现在|目前|当前|一共|总共|都|到底|已经|曾经|之前|以前|大家|大伙|总计|共|你)"
_SENT = "(?:上传|传|发|分享|放|存|收录?|入库|导入|保存)(?:过|了|过了|着)?"
_HAVE = f"(?:有|{_SENT}|能查到?|可以查|能看到?|[看读学]过)"
_LISTED = "(?:文件|群文件|知识库|资料库)(?:的)?(?:列表|清单|目录|名单)"
_SHOW = (
    f"(?:{PLEASE}|发|来|要){{0,5}}(?:个|一个|一份|份|下|一下)?(?:目录|清单|列表|文件名|名字)?"
    "(?:列?(?:一下|下|出来|看看|呗|给我)|(?:都|分别)(?:是|叫)(?:啥|什么|哪些)|有(?:哪些|啥))?"
)
_LIST = (
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{PLACE})?{_NOW}{{0,2}}{_HAVE}?{_NOW}{{0,2}}{_WHAT}(?:样的|类型的|种)?(?:{_FILES}"
    rf"|(?P<told>{_TOLD_FILES})|(?P<sort>{_SORT})){PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{PLACE})?的?{_NOW}{{0,2}}(?:{_FILES}|(?P<told>{_TOLD_FILES}))(?:{PLACE})?{_NOW}{{0,2}}{_HAVE}?"
    rf"{_NOW}{{0,2}}{_WHAT}{PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{STORE}){_NOW}{{0,2}}(?:{_HAVE}|是)?{_NOW}{{0,2}}{_WHAT}(?:东西|内容)?{PARTICLES}",
    rf"{PLEASE}{{0,5}}(?P<place>{PLACE}){_NOW}{{0,2}}{_SENT}{_WHAT}(?:东西)?{PARTICLES}",
    rf"(?:{PLEASE}|发|来|看|列|要|把|将){{0,5}}(?:个|一个|一份|份|一下|下)?(?P<place>{PLACE})?的?{_ALL}?{_LISTED}"
    rf"(?:发?{PLEASE}|发(?:一?下|出来|给我|过来)?)?{PARTICLES}",
    rf"(?:把|将)?(?P<place>{PLACE})?的?{_ALL}{_FILES}(?:都)?(?:列|说|发)(?:一下|下|出来|一遍|给我)?{PARTICLES}",
    rf"{PLEASE}{{1,5}}(?:个|一个|一?下|出来?)?(?P<place>{PLACE})?的?{_ALL}{_FILES}{PARTICLES}",
    r"(?:please |can you |could you )?(?:list|show)(?: me)?(?: all| the| your| of| available)* (?:files|documents"
    r"|docs)(?P<place> .{0,20})?",
    r"(?:what|which)(?: kind of| sort of)? (?:files|documents|docs)(?: do you have| have you(?: got)?"
    r"| are (?:there|here|available|in .{2,24})"
    r"|(?: have been| were| was| got)? (?:uploaded|shared|sent)(?: .{2,20})?| can you (?:read|search)"
    r"| exist)(?P<place> (?:here|now|so far|in .{2,24}))?",
    r"(?:what(?:'s| is) in (?:the|your) knowledge base|how many (?:files|documents|docs) (?:do you have"
    r"|are there))(?P<place> .{0,20})?",
)
# The first words of a kind are clear, the others may also be something that people fill in: 有多少个表格.
_KINDS = (
    (FileKind.PDF, "pdf", ""),
    (FileKind.WORD, "word|docx?", ""),
    (FileKind.SLIDES, "pptx?|幻灯片|演示文稿|powerpoint", ""),
    (FileKind.SHEET, "excel(?:表格?)?|xlsx?|csv|电子表格?", "表格?"),
    (FileKind.MARKDOWN, "markdown|md", ""),
    (FileKind.WEB, "html?", "网页"),
    (FileKind.TEXT, "txt|文本文[件档]|记事本", ""),
)
_CLEAR_KIND = "|".join(clear for _, clear, _ in _KINDS)
_KIND = rf"(?:(?P<clear>{_CLEAR_KIND})(?:文件|文档|格式|类型|的){{0,5}}|(?P<loose>表格?|网页)(?P<file>文件|文档)?)"
_COUNTED = "(?:哪些个?|哪几[个份篇张]|有?些?啥|些?什么|几[个份篇张]|多少[个份篇张]?)"
_OF_KIND = (
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{PLACE})?的?{_NOW}{{0,2}}(?:{_FILES})?(?:里面?|中)?{_NOW}{{0,2}}{_HAVE}?{_NOW}{{0,2}}{_COUNTED}的?"
    rf"{_KIND}(?:{_NOW}|{_HAVE}){{0,5}}{PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{PLACE})?的?{_NOW}{{0,2}}{_KIND}{_NOW}{{0,2}}(?:{_HAVE}|是)?{_NOW}{{0,2}}{_COUNTED}{PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{PLACE})?的?(?:{_FILES})?(?:里面?|中)?(?:{_COUNTED}|哪个){FILE}?(?:都|才)?是{_KIND}"
    rf"{PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}){{0,5}}(?P<place>{PLACE})?{_NOW}{{0,2}}(?:有没有|有木有|有无|有){_KIND}(?:没有?|吗|么|嘛|不)?{PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}|发|把){{0,5}}(?P<place>{PLACE})?的?{_ALL}{_KIND}(?:都)?(?:列|发)?(?:一下|下|出来|给我)?{PARTICLES}",
    rf"(?:{PLEASE}|把){{0,5}}列(?:一?下|出来?|举)?{_ALL}?{_KIND}{PARTICLES}",
    rf"(?:how many|which|what|any|are there(?: any)?|list(?: all)?(?: the)?) (?:(?:files|documents|ones) are )?{_KIND}"
    r"(?:s|s?(?: files?| documents?| docs?))?(?: do (?:you|we) have| are there)?(?P<place>(?: here)?)",
)
_WHEN = "(?:最近|近期|近来|刚刚|刚才|今天|今日|昨天|昨晚|前天|这周|本周|上周|这两天|这几天|这个?月|新)"
_ADDED = "(?:更新|上传|新增|新传|添加|新加|加|传|新发|入库)(?:了|过|的)?"
_RECENT = (
    rf"(?:{PLEASE}|{PLACE}|{_WHEN}|{_NOW}){{0,5}}{_WHEN}(?:{PLACE}|{_NOW}|又"
    rf"|有){{0,4}}{_ADDED}(?:{_WHAT})(?:新的?)?(?:{_FILES}|东西|内容)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_WHEN}|{_NOW}){{0,5}}{_WHEN}(?:{PLACE}|{_NOW}|又|有没有|有|人|谁){{0,5}}(?:{_ADDED}|发过?了?"
    rf"|有)(?:{_WHAT})?(?:新的?)?{_FILES}(?:没有?|吗)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_WHEN}|{_NOW}){{0,5}}{_WHEN}(?:{PLACE}|{_NOW}){{0,5}}(?:{_ADDED}|发的|的){_FILES}(?:{_NOW}|是|有){{0,5}}(?:{_WHAT}"
    rf"|哪个){PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}){{0,5}}(?:有没有|有|来了?|传了?)(?:{_WHAT})?新的?{_FILES}(?:没有?|吗|么)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}){{0,5}}(?:的)?(?:最新|最近|最后|新)(?:上传|传|更新|发)?的?(?:一[个份])?{_FILES}(?:是|有|都){{0,5}}(?:{_WHAT}"
    rf"|哪个|哪份)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}){{0,5}}{_FILES}?(?:里面?|中)?(?:哪个|哪份|哪些|什么){FILE}?(?:是|才是)?(?:最新|最近)(?:上传|传|更新|发)?"
    rf"的?{PARTICLES}",
    r"(?:are there |is there |got )?any (?:new|recent|newly uploaded) (?:files?|documents?|docs?)(?: .{2,24})?",
    r"(?:what|which)(?: files?| documents?| docs?)?(?:'s| is| are| was| were| has been| have been"
    r"| got)? (?:new(?:ly)?(?: uploaded)?|(?:uploaded|updated|added|shared) (?:recently|lately|today)"
    r"|recently (?:uploaded|updated|added))(?: .{2,24})?",
    r"(?:list |show |show me )?(?:the )?(?:latest|newest|most recent) (?:files|documents|docs|uploads)",
)
_PERIODS = (
    (re.compile("今[天日]"), Period.TODAY),
    (re.compile("昨[天日晚]"), Period.YESTERDAY),
    (re.compile("前天"), Period.DAY_BEFORE),
    (re.compile("[这本]周"), Period.THIS_WEEK),
    (re.compile("上周"), Period.LAST_WEEK),
    (re.compile("[这本]个?月"), Period.THIS_MONTH),
    (re.compile(r"\btoday\b"), Period.TODAY),
    (re.compile(r"\byesterday\b"), Period.YESTERDAY),
)
_ALTOGETHER = "(?:一共|总共|总计|合计|共|加起来|合起来|加一?起)"
_TOTAL_SIZE = (
    rf"(?=.*(?:文件|文档|资料|课件|库|群|空间))(?:{PLEASE}|{_NOW}){{0,3}}(?:{PLACE})?的?(?:{_ALL}?{_FILES})?(?:都)?{_ALTOGETHER}{{1,2}}(?:有|占了?|用了?|是)?"
    rf"(?:多大|多少(?:空间|内存|容量|兆|[mg]b?))(?:的?空间)?{PARTICLES}",
    rf"(?:{PLEASE}|{_NOW}){{0,3}}(?:{PLACE})?的?(?:{_ALL}{_FILES}|群文件|知识库)的?(?:有|占了?|用了?|是)?"
    rf"(?:多大|多少(?:空间|内存|容量|兆|[mg]b?)|总?(?:大小|体积|容量)(?:是|有)?(?:多少|多大)?)(?:的?空间)?{PARTICLES}",
    r"(?:what(?:'s| is) the total size of|how (?:large|big) are) (?:all )?(?:the |your )?(?:files|documents|docs)"
    r"(?: (?:together|in total|altogether))?",
)
_EXTREMES = {
    "最大": Extreme.LARGEST,
    "最占": Extreme.LARGEST,
    "最小": Extreme.SMALLEST,
    "最长": Extreme.LONGEST,
    "字数最多": Extreme.LONGEST,
    "内容最多": Extreme.LONGEST,
    "最短": Extreme.SHORTEST,
    "字数最少": Extreme.SHORTEST,
    "内容最少": Extreme.SHORTEST,
    "最早": Extreme.OLDEST,
    "最旧": Extreme.OLDEST,
    "最老": Extreme.OLDEST,
    "largest": Extreme.LARGEST,
    "biggest": Extreme.LARGEST,
    "smallest": Extreme.SMALLEST,
    "longest": Extreme.LONGEST,
    "shortest": Extreme.SHORTEST,
    "oldest": Extreme.OLDEST,
}
_MOST = "(?P<most>最[大小长短早旧老]|(?:字数|内容)最[多少])(?:上传|传|发)?"
_EXTREME = (
    rf"(?:{PLEASE}|{PLACE}|{_NOW}|的){{0,5}}(?:{_ALL}?{_FILES})?(?:里面?|中)?(?:哪一?个|哪份|哪篇|什么){FILE}(?:的?(?:体积|篇幅))?"
    rf"(?:是)?{_MOST}(?:的)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}|的){{0,5}}{_ALL}?{_FILES}(?:里面?|中)?(?:哪一?个|哪份|哪篇)(?:的?(?:体积|篇幅))?(?:是)?{_MOST}(?:的)?"
    rf"{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}|的){{0,5}}(?:体积|篇幅)?{_MOST}的?(?:一[个份篇])?(?:那[个份篇])?{FILE}"
    rf"(?:(?:是|叫)(?:哪一?个|哪份|哪篇|什么|啥)(?:{FILE})?)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}|的){{0,5}}(?:体积|篇幅)?{_MOST}的?(?:是|叫)(?:哪一?个|哪份|哪篇|什么|啥){FILE}{PARTICLES}",
    r"(?:what(?:'s| is)|which(?: one)?(?: is)?)(?: file| document)?(?: is)? the (?P<most>largest|biggest"
    r"|smallest|longest|shortest|oldest)(?: file| document)?",
)
_SENDERS = (
    rf"{PLEASE}{{0,5}}{PLACE}?(?:谁|哪位|哪个人|哪个群友)(?:上传|传)(?:的|得|了|过){{0,5}}(?:{FILE})?(?:的)?(?:数量)?最多{PARTICLES}",
    rf"{PLEASE}{{0,5}}{PLACE}?(?:谁|哪位|哪个人|哪个群友)(?:发|分享)(?:的|得|了|过){{0,5}}{FILE}(?:的)?(?:数量)?最多{PARTICLES}",
    rf"{PLEASE}{{0,5}}{PLACE}?(?:上传|传|发)(?:的)?{FILE}最多的(?:人)?是(?:谁|哪位|哪个人?){PARTICLES}",
    r"who (?:uploaded|shared|sent) the most (?:files|documents|docs)",
)
_TOGETHER = (
    f"(?:{PLACE}的?(?:这些|那些|{_ALL}|每一?[个份篇]|各个|几[个份])?{FILE}|(?:这|那)(?:些|几[个份篇]){FILE}|{_ALL}{FILE}"
    f"|每一?[个份篇]{FILE}|各个?{FILE}|群文件)"
)
_EACH = "(?:都|分别|各自?|大概|大致|主要|里面?|里头|到底)"
_SAYS = "(?:是?(?:讲|说|写)|介绍|包含|是关于|是有关)(?:的|了|的是)?(?:些)?(?:什么|啥|哪些)(?:东西|内容|的|事情?){0,5}"
_LIGHTLY = "(?:简单|大概|大致|简要|快速|一句话)"
_SUM_UP = "(?:总结|概括|概述|归纳|梳理|小结|介绍|说说|讲讲)"
_OVERVIEW = (
    rf"(?:{PLEASE}|{_LIGHTLY}){{0,5}}{_SUM_UP}(?:一?下|一遍|下)?{_TOGETHER}(?:的?(?:主要|大概)?内容)?{PARTICLES}",
    rf"(?:{PLEASE}|{_LIGHTLY}|把|将|对){{0,5}}{_TOGETHER}(?:的?(?:主要|大概)?内容)?(?:都|全|分别|逐个|挨个)?(?:给我)?{_LIGHTLY}?{_SUM_UP}"
    rf"(?:一?下|一遍|下)?{PARTICLES}",
    rf"{PLEASE}{{0,5}}{_TOGETHER}{_EACH}{{0,2}}{_SAYS}{PARTICLES}",
    rf"{PLEASE}{{0,5}}{PLACE}?的?{FILE}(?:都|分别|各自?){_EACH}{{0,2}}{_SAYS}{PARTICLES}",
    rf"(?:它们|他们|这些)?(?:都|分别|各自){_EACH}{{0,2}}{_SAYS}{PARTICLES}",
    rf"{PLEASE}{{0,5}}{_TOGETHER}(?:的)?(?:主要|大概|大致){{0,5}}内容(?:都|分别){{0,5}}(?:是|有)?(?:什么|啥|哪些)?{PARTICLES}",
    r"(?:please |can you |could you )?(?:summari[sz]e|sum up|give me an overview of) (?:all(?: of)?(?: the| your"
    r"| these)?|every|these|the) (?:files|documents|docs)",
    r"what are (?:all )?(?:the|these|those|your) (?:files|documents|docs) about",
)
_SOUGHT = "(?:文件|文档|档案|资料|课件|pdf|ppt|教程|手册|讲义)"
_ABOUT = "(?:关于|有关|讲|说|介绍|写|跟|和|涉及)"
_RELATED = "(?:相关的?|有关的?|方面的?|的|之类的?)"
_TELLS = "(?:(?:是|有|都)?(?:讲|说|介绍|写|提|规定|涉及|关于|有关)(?:到|了|过|的|着){0,5}|(?:里面?|中|里头)有)"
_FIND = (
    rf"(?:{PLEASE}|{PLACE}|{_NOW}){{0,5}}有?(?:几|多少)[个份篇]?{FILE}(?:里面?|中|里头)?{_TELLS}(?P<topic>.{{2,20}}?)"
    rf"(?:的|这件?事|的事情?|的内容)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}){{0,5}}(?:有没有|有木有|有无)(?:人"
    rf"|谁)?(?:{_HAVE}){{0,1}}{_ABOUT}?(?P<topic>.{{1,20}}?){_RELATED}?{_SOUGHT}(?:没有?|吗|么|可以看"
    rf"|看看)?{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}|谁){{0,5}}{_HAVE}{_ABOUT}?(?P<topic>.{{1,20}}?){_RELATED}?{_SOUGHT}(?:没有?|吗|么|嘛"
    rf"|不){PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}|{_NOW}){{0,5}}(?:关于|有关|涉及|讲|介绍)(?P<topic>.{{1,20}}?)的?{_SOUGHT}{_NOW}{{0,2}}(?:有|是)?{_WHAT}"
    rf"{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}){{0,5}}(?:找|搜|查)(?:一下|下|找|个"
    rf"|一个)?{_ABOUT}?(?P<topic>.{{1,20}}?){_RELATED}{_SOUGHT}{PARTICLES}",
    rf"(?:{PLEASE}|{PLACE}){{0,5}}(?:哪一?个|哪些|哪几[个份篇]|哪[份篇]|什么){FILE}(?:里面?|中|里头)?{_TELLS}(?P<topic>.{{2,20}}?)"
    rf"(?:的|这件?事|的事情?|的内容)?{PARTICLES}",
    rf"{PLEASE}{{0,5}}(?P<topic>.{{2,20}}?)(?:的|这件?|这种)?(?:事情?|内容|部分|规定|说明)?(?:是|都)?(?:写|讲|放|规定)?在"
    rf"(?:哪一?个|哪[份篇些]|什么){FILE}(?:里面?|中|里头)?(?:有|写的|讲的|说的|提到的?|规定的)?{PARTICLES}",
    r"(?:is|are) there (?:any|an?|some) (?:files?|documents?|docs?|papers?|pdfs?)(?: here)? (?:about|on|for"
    r"|regarding|covering|that (?:covers?|discuss(?:es)?)) (?P<topic>.{2,40})",
    r"(?:do (?:you|we) have|any|have (?:you|we) got)(?: an?| any| some)? ?(?:files?|documents?|docs?|papers?"
    r"|pdfs?) (?:about|on|for|regarding) (?P<topic>.{2,40})",
    r"(?:which|what) (?:files?|documents?|docs?|papers?) (?:(?:is|are|talks?|speaks?) about|covers?|discuss(?:es)?"
    r"|mentions?|describes?) (?P<topic>.{2,40})",
)
# A topic that asks, or tells what people have to do with the files: 有没有要带的资料.
_NO_TOPIC = re.compile(r"[要需带交填准备必须应该能可以几多少哪啥么谁怎]|新的?$|^(?:的|人|什|哪|这|那)")
_ASK_FOR = f"(?:{PLEASE}|{PLACE}|找一?下?|求一?个?|有没有|有){{0,5}}"
_WANTED = (rf"{_ASK_FOR}(?P<sort>{_SORT}|课件)[,\s]*(?:有没有|有吗|有么|在吗){PARTICLES}",)


def recognise_many(text: str, documents: Sequence[Named]) -> FileQuestion | None:
    """Return what a normalised text asks about several of `documents`, except what one of them is about."""
    return (
        _overview(text)
        or _extreme(text)
        or _recent(text)
        or _of_kind(text)
        or _list(text, documents)
        or _wanted(text, documents)
        or _senders(text)
        or _total_size(text)
    )


def recognise_find(text: str) -> FileQuestion | None:
    """Return which topic a normalised text wants files about, or None."""
    for form in _FIND:
        found = re.fullmatch(form, text)
        if found is not None and not _NO_TOPIC.search(found["topic"]):
            return FileQuestion(FileAsk.FIND, (found["topic"].strip(),), certain=True)
    return None


def _overview(text: str) -> FileQuestion | None:
    return FileQuestion(FileAsk.OVERVIEW, certain=True) if _matches(_OVERVIEW, text) else None


def _recent(text: str) -> FileQuestion | None:
    if not _matches(_RECENT, text):
        return None
    period = next((period for words, period in _PERIODS if words.search(text)), None)
    return FileQuestion(FileAsk.RECENT, certain=True, period=period)


def _total_size(text: str) -> FileQuestion | None:
    return FileQuestion(FileAsk.TOTAL_SIZE, certain=True) if _matches(_TOTAL_SIZE, text) else None


def _senders(text: str) -> FileQuestion | None:
    return FileQuestion(FileAsk.SENDERS, certain=True) if _matches(_SENDERS, text) else None


def _extreme(text: str) -> FileQuestion | None:
    found = _matches(_EXTREME, text)
    return found and FileQuestion(FileAsk.EXTREME, certain=True, extreme=_EXTREMES[found["most"]])


def _of_kind(text: str) -> FileQuestion | None:
    found = _matches(_OF_KIND, text)
    if found is None:
        return None
    words = found["clear"] or found["loose"]
    kind = next(kind for kind, clear, loose in _KINDS if re.fullmatch("|".join(filter(None, (clear, loose))), words))
    is_certain = bool(found["clear"] or found["file"] or found["place"])
    return FileQuestion(FileAsk.KIND, (words,), certain=is_certain, kind=kind)


def _list(text: str, documents: Sequence[Named]) -> FileQuestion | None:
    first, *others = clauses(text)
    for form in _LIST:
        found = re.fullmatch(form, text) or re.fullmatch(form, first)
        if found is None:
            continue
        is_rest = found.end() < len(text)
        groups = found.groupdict()
        place, sort, told = found["place"], groups.get("sort"), groups.get("told")
        plain = all(re.fullmatch(_SHOW, clause) for clause in others)
        if is_rest and not plain and (not place or any(map(asks_something, others))):
            return None
        if told and not _is_named(told, documents):
            return FileQuestion(FileAsk.LIST, certain=place is not None)
        if not sort:
            return FileQuestion(FileAsk.LIST, (told,) if told else (), certain=True)
        if place and (_is_named(sort, documents) or sort not in _TOLD):
            return FileQuestion(FileAsk.LIST, (sort,), certain=True)
    return None


def _wanted(text: str, documents: Sequence[Named]) -> FileQuestion | None:
    found = _matches(_WANTED, text)
    if found is None or not _is_named(found["sort"], documents):
        return None
    return FileQuestion(FileAsk.LIST, (found["sort"],), certain=True)


def _is_named(word: str, documents: Sequence[Named]) -> bool:
    return any(word in plain_stem(document.name) for document in documents)


def _matches(forms: Sequence[str], text: str) -> re.Match[str] | None:
    """Return the match of a text, or of its first clause if the others only ask to be shown the same."""
    first, *others = clauses(text) or [""]
    texts = (text, first) if others and all(re.fullmatch(_SHOW, clause) for clause in others) else (text,)
    return next((found for shown in texts for form in forms if (found := re.fullmatch(form, shown))), None)
