"""Answers without a model: the files' own sentences, or a reply that they contain nothing."""

import re

from services.grounding.excerpt import Quote, quotes
from services.grounding.models import Answer, AnswerKind, source_of
from services.retrieval.models import Question, Retrieval

# A mark in a document that looks like one of our citations would name a source that is not in the list.
_FOREIGN_MARK = re.compile(r"〔(\s*\d{1,3}\s*)〕")


def excerpt_answer(question: Question, retrieval: Retrieval) -> Answer:
    """Return the answer by quotation, or the reply that nothing was found.

    Passages that only a model might have used are not quoted.
    """
    if not retrieval.quotable:
        return nothing_found(retrieval)
    chosen = quotes(question.shown, retrieval.references, retrieval.term_weights, retrieval.candidates)
    if not chosen:
        return nothing_found(retrieval)
    numbered = list(enumerate(chosen, start=1))
    text = "\n\n".join(f"{_shown(quote)}〔{number}〕" for number, quote in numbered)
    sources = tuple(source_of(quote.reference, number) for number, quote in numbered)
    return Answer(AnswerKind.EXCERPT, f"原文摘录：\n{text}", sources, notice=retrieval.warning)


def _shown(quote: Quote) -> str:
    """Return a quotation, or a hint at a table whose rows are uncertain: a value might stand in a wrong row."""
    if quote.reference.uncertain_table:
        page = f"第{quote.reference.page}页" if quote.reference.page else "文件里"
        return f"{page}有一张表格没能可靠读出，答案可能在里面，请打开原文件看。"
    return f"「{_without_marks(quote.text)}」"


def nothing_found(retrieval: Retrieval) -> Answer:
    """Return the reply that nothing was found.

    It names the documents that come closest, but shows none of their content.
    """
    if retrieval.chunk_count == 0:
        text = "这里还没有资料。把文件发到群里或私聊发给我，我会自动入库，之后就能问了。"
    elif not retrieval.nearest:
        text = "资料里没有找到相关内容，可以换个更具体的问法。"
    else:
        names = "、".join(f"「{name}」" for name in retrieval.nearest)
        text = f"资料里没有找到相关内容。最接近的文件是{names}，可以换个更具体的问法。"
    return Answer(AnswerKind.NOTHING_FOUND, text, notice=retrieval.warning)


def _without_marks(text: str) -> str:
    return _FOREIGN_MARK.sub(r"[\1]", text)
