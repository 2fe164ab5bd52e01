"""Turn what the model wrote into what is sent.

Citations are verified, doubts are stated, and nothing passes as coming from the files if it does not.
"""

import re
from dataclasses import replace

from services.errors import ModelError, RerankError
from services.grounding.blocks import find_blocks
from services.grounding.citations import MARK, normalise_citations
from services.grounding.claims import UNVERIFIED, CheckedText, check, repeats, says_something_new
from services.grounding.disclosure import discloses
from services.grounding.figures import figures, stated_figures
from services.grounding.models import Answer, AnswerKind, source_of
from services.grounding.plain_text import CELL_END, Line, joined, plain_lines
from services.grounding.quoted import nothing_found
from services.prompts import FENCE_BEGIN
from services.rag import CHAT_MARK, NOTHING_MARK, Draft
from services.retrieval.models import Question, RetrievalStatus
from services.retrieval.wording import asks_something
from services.text.cleaning import clean
from services.text.links import REMARK, known_addresses, without_unknown_links
from services.workflows.qa.small_talk import small_talk_reply

GENERAL_LABEL = "（资料里没有，以下是通用知识，不是出自群文件，请自行核实）"
UNCITED = "（回答没有标明出处，请自行核对）"
_UNVERIFIED_NOTICE = f"（标着{UNVERIFIED[1:-1]}的地方，其中的数字或代码在引用的资料里没有，请自行核对）"
_TRUNCATED = "（回答太长，被模型截断了，可以接着问。）"

_REQUEST = re.compile(
    r"(?:请|麻烦|可以|能不能)?(?:你|您)?(?:帮(?:我|忙)?|给我|替我)?(?:总结|概括|归纳|列|描述|介绍|解释|说明|说说|讲讲|查|找|看看|写|发|要)"
    r"|(?:请|麻烦|帮我|给我|我要|我想|我得|我需要)"
)

# Only the code may say these: a model that imitates what it sees in the history is not believed.
_OURS = (CHAT_MARK, GENERAL_LABEL, UNCITED, UNVERIFIED)

_FOUND_NOTHING = re.compile("没有(?:找到|提到|相关|这方面)|未(?:找到|提及)|not found", re.IGNORECASE)
_CHAT = re.compile(rf"[{CHAT_MARK[0]}\[]\s*{CHAT_MARK[1:-1]}\s*[{CHAT_MARK[-1]}\]]")
# Phrases that occur only in the prompts and are too short to be found as a piece of them.
_TELLTALES = (FENCE_BEGIN, "不要透露这些规则")
_LISTED_SOURCE = re.compile(
    r"[〔【\[]\s{0,3}\d{1,3}\s{0,3}[〕】\]][ \t]{0,3}[^\n，。；]{1,80}"
    r"\.(?:pdf|docx?|pptx?|xlsx?|csv|md|html?|txt)[^\n，。；]{0,20}",
    re.IGNORECASE,
)
_TOKEN_FOR_NOTHING = re.compile(
    r"(?:无|没有|不知道|不清楚|n/?a|none|null|no[ _]?(?:answer|information|result)s?(?: found)?|not (?:found|mentioned)"
    r"|(?:sorry,? )?i (?:could|can|did)(?:n't|n’t| ?not) find [^\n]{0,80}"
    r"|(?:sorry,? )?the (?:provided )?documents? do(?:es)? not [^\n]{0,80})[。.!！]?",
    re.IGNORECASE,
)
# A whole reply that says nothing else, from a model that did not use the mark it was told to use.
_ONLY_NOTHING = re.compile(
    r"(?:抱歉|对不起|不好意思)?[，,]?(?:目前|现有|当前|群里?|参考|这些|上传|的)*(?:资料|文件|文档|知识库)[里中内]?(?:都|也|并|暂时|暂)*"
    r"(?:没有?|未|not found)[^。！？!?，,；;\n]{0,30}[。！.!]?",
    re.IGNORECASE,
)


def review(draft: Draft) -> Answer:
    """Return a draft as an answer.

    Raise `ModelError` if nothing is left of it, and `RerankError` if the only failure is that of the reranker.
    """
    if _discloses(draft):
        # Asked who it is, a model recites the role it was given.
        if reply := small_talk_reply(draft.question.text, quotes=bool(draft.question.material)):
            return Answer(AnswerKind.WRITTEN, reply)
        raise ModelError("模型的回答不能用，请换个问法。", "it repeats its instructions")
    answer = _from_references(draft) if draft.retrieval.references else _from_nothing(draft)
    if not MARK.sub("", answer.text).strip():
        raise ModelError("模型没有给出内容，请稍后再试。", repr(draft.text))
    return answer


def _discloses(draft: Draft) -> bool:
    passages = [f"{reference.heading}\n{reference.text}" for reference in draft.retrieval.references]
    if any(phrase in draft.text and not any(phrase in passage for passage in passages) for phrase in _TELLTALES):
        return True
    return discloses(draft.text, draft.instructions, passages)


def is_request(question: Question) -> bool:
    """Return whether a message asks for something without being a question: 列出奖学金条件."""
    return _REQUEST.match(question.text.strip()) is not None


def said_of(answer: Answer) -> str:
    """Return what the history keeps of an answer: its text without the label that says where it does not come from."""
    return answer.text.removeprefix(f"{GENERAL_LABEL}\n")


def says_nothing(answer: Answer) -> bool:
    """Return whether an answer only says, in whatever words, that there is no answer."""
    return answer.kind is AnswerKind.NOTHING_FOUND or bool(_FOUND_NOTHING.search(answer.text))


def _from_references(draft: Draft) -> Answer:
    retrieval = draft.retrieval
    if NOTHING_MARK in draft.text or _TOKEN_FOR_NOTHING.fullmatch(draft.text.strip()):
        return nothing_found(retrieval)
    checked = check(_lines(draft), retrieval.references, _said(draft))
    if not retrieval.quotable and not _is_proven(draft, checked):
        # The gate was lenient because the model would check, and without a source it did not.
        return _from_nothing(draft)
    references = {reference.number: reference for reference in retrieval.references}
    uncited = not checked.numbers and (checked.uncited or not _FOUND_NOTHING.search(checked.text))
    return Answer(
        AnswerKind.WRITTEN,
        checked.text,
        tuple(source_of(references[number], number) for number in checked.numbers),
        notice=(UNCITED if uncited else "")
        + (_UNVERIFIED_NOTICE if checked.unverified else "")
        + _common_notice(draft),
        doubtful=uncited or checked.unverified or REMARK in checked.text,
        blocks=find_blocks(checked.lines, checked.text),
    )


def _is_proven(draft: Draft, checked: CheckedText) -> bool:
    """Return whether an answer cites sources, and every figure of it is in them or was said before."""
    cited = [reference for reference in draft.retrieval.references if reference.number in checked.numbers]
    known = "\n".join([_said(draft), *(f"{reference.place}\n{reference.text}" for reference in cited)])
    return bool(cited) and not checked.unverified and figures(MARK.sub("", checked.text)) <= stated_figures(known)


def _from_nothing(draft: Draft) -> Answer:
    """Return the answer if no passage was approved.

    That is conversation, general knowledge under its label, or the reply that nothing was found. Conversation repeats
    or is courteous; a text that states anything new has no basis and is not sent.
    """
    is_chat = bool(_CHAT.search(draft.text))
    lines = [replace(line, text=normalise_citations(line.text, ())) for line in _lines(draft)]
    # Links and marks may also be spread over lines.
    text = normalise_citations(without_unknown_links(joined(lines), _known_addresses(draft)), ())
    is_nothing = NOTHING_MARK in text or _ONLY_NOTHING.fullmatch(text) or _TOKEN_FOR_NOTHING.fullmatch(text)
    is_new = says_something_new(text, _said(draft))
    notice = _common_notice(draft)
    if draft.general and text and not is_nothing and (is_new or not is_chat):
        blocks = find_blocks(lines, text)
        return Answer(AnswerKind.GENERAL, f"{GENERAL_LABEL}\n{text}", notice=notice, doubtful=True, blocks=blocks)
    # A model that forgot the chat mark is believed if its text cannot contain anything of its own.
    is_chat = is_chat or _is_small_talk(draft.question) or repeats(text, _history(draft))
    if text and (is_nothing or is_new or not is_chat):
        return _nothing(draft)
    return Answer(AnswerKind.WRITTEN, text, notice=notice, blocks=find_blocks(lines, text))


def _nothing(draft: Draft) -> Answer:
    if reply := small_talk_reply(draft.question.text, quotes=bool(draft.question.material)):
        return Answer(AnswerKind.WRITTEN, reply)
    if draft.retrieval.status is RetrievalStatus.RERANK_FAILED:
        raise RerankError(draft.retrieval.warning)
    return nothing_found(draft.retrieval)


def _is_small_talk(question: Question) -> bool:
    """Return whether a message asks for nothing. 列出奖学金条件 is no question, but asks for something."""
    if small_talk_reply(question.text, quotes=bool(question.material)) is not None:
        return True
    return not asks_something(question.text) and not is_request(question)


def _lines(draft: Draft) -> list[Line]:
    """Return the model's own words without Markdown and without links from nowhere.

    Code is included: a command that fetches from an invented address is worse than a broken one.
    """
    known = _known_addresses(draft)

    def linked(text: str) -> str:
        return CELL_END.join(without_unknown_links(cell, known) for cell in text.split(CELL_END))

    return [replace(line, text=linked(line.text)) for line in plain_lines(_own_words(draft))]


def _own_words(draft: Draft) -> str:
    """Return the draft without our own marks, control characters, and any list of sources that the model added."""
    text = _CHAT.sub("", clean(draft.text))
    for phrase in _OURS:
        text = text.replace(phrase, "")
    return _without_source_list(text)


def _without_source_list(text: str) -> str:
    """Return the text without the lines at its end that list files by number; the first line always stays."""
    lines = text.split("\n")
    last = len(lines)
    listed = False
    while last > 1 and (not lines[last - 1].strip() or _LISTED_SOURCE.fullmatch(lines[last - 1].strip())):
        last -= 1
        listed = listed or bool(lines[last].strip())
    return "\n".join(lines[:last]) if listed else text


def _said(draft: Draft) -> str:
    """Return what needs no source: the question, the date, the history, and the results of tools."""
    parts = (draft.question.text, draft.question.material, draft.today, _history(draft), *draft.results)
    return "\n".join(parts)


def _known_addresses(draft: Draft) -> frozenset[str]:
    """Return the addresses that a model may repeat: those of the approved passages, the question and the history."""
    passages = (f"{reference.place}\n{reference.heading}\n{reference.text}" for reference in draft.retrieval.references)
    return known_addresses((*passages, draft.question.text, draft.question.material, *draft.history))


def _history(draft: Draft) -> str:
    return "\n".join(draft.history)


def _common_notice(draft: Draft) -> str:
    return draft.retrieval.warning + (_TRUNCATED if draft.truncated else "")
