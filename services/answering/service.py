"""Answering one question of one session: the only thing of this package that a plugin sees."""

import logging
import re

from services.answering.citations import normalise_citations
from services.answering.excerpt import quotes
from services.answering.models import Answer, AnswerKind, Source
from services.answering.plain_text import plain_text
from services.errors import ModelError, SearchIndexError
from services.memory.service import MemoryService, Turn
from services.rag import RagAnswer, RagChain
from services.retrieval.models import Retrieval, RetrievalStatus
from services.retrieval.retriever import Retriever
from services.session import Collection

log = logging.getLogger(__name__)

_FOUND_NOTHING = re.compile("没有(?:找到|提到|相关|这方面)|未(?:找到|提及)|not found", re.IGNORECASE)
_NOT_REMEMBERED = "（这一轮对话没能记下来，后面可能接不上。）"
_TRUNCATED = "（回答太长，被模型截断了，可以接着问。）"


class QuestionAnswering:
    """Answers by the model where there is one, by quotation where there is none or it fails."""

    def __init__(self, retriever: Retriever, chain: RagChain | None, memory: MemoryService, top_k: int) -> None:
        self._retriever = retriever
        self._chain = chain
        self._memory = memory
        self._top_k = top_k

    async def ask(self, session_id: str, user_id: int, collection: Collection, question: str) -> Answer:
        """Answer and remember. Always gives something to send; raises only when the records themselves fail."""
        async with self._memory.turn(session_id, user_id, question) as turn:
            try:
                if self._chain is None:
                    return await self._quote(collection, question, turn)
                return await self._write(self._chain, collection, question, turn)
            except ModelError as error:
                return await self._without_model(collection, question, error)
            except SearchIndexError as error:
                log.exception("searching %s failed", collection.name)
                return Answer(AnswerKind.FAILED, error.user_message)

    def tidy(self, session_id: str) -> None:
        """What can wait until the reply is out: summarising a long history."""
        self._memory.tidy(session_id)

    async def _write(self, chain: RagChain, collection: Collection, question: str, turn: Turn) -> Answer:
        written = await chain.answer(collection.name, question, turn.history)
        notices = [
            written.retrieval.degraded,
            _TRUNCATED if written.truncated else "",
            "" if turn.history.stored else _NOT_REMEMBERED,
        ]
        return _written(written, "".join(notices))

    async def _quote(self, collection: Collection, question: str, turn: Turn) -> Answer:
        retrieval = await self._retriever.retrieve(collection.name, question, self._top_k)
        answer = excerpt_answer(question, retrieval)
        await turn.complete(answer.text)
        return answer

    async def _without_model(self, collection: Collection, question: str, error: ModelError) -> Answer:
        """The model failed: one sentence, and what the files themselves say, if anything."""
        try:
            retrieval = await self._retriever.retrieve(collection.name, question, self._top_k)
        except SearchIndexError:
            log.exception("searching %s failed", collection.name)
            return Answer(AnswerKind.FAILED, error.user_message)
        if not retrieval.references:
            return Answer(AnswerKind.FAILED, error.user_message)
        excerpt = excerpt_answer(question, retrieval)
        return Answer(AnswerKind.FAILED, excerpt.text, excerpt.sources, notice=error.user_message)


def _written(written: RagAnswer, notice: str) -> Answer:
    references = {reference.number: reference for reference in written.retrieval.references}
    text, used = normalise_citations(plain_text(written.text), references)
    shown = used or ([] if _FOUND_NOTHING.search(text) else list(references))
    sources = tuple(Source(number, references[number].place) for number in shown)
    return Answer(AnswerKind.WRITTEN, text, sources, cited=bool(used), notice=notice)


def excerpt_answer(question: str, retrieval: Retrieval) -> Answer:
    """The answer by quotation, or a plain word that nothing was found and which documents come closest."""
    chosen = quotes(question, retrieval.references, retrieval.term_weights)
    if not chosen:
        return Answer(AnswerKind.NOTHING_FOUND, _nothing_found(retrieval), notice=retrieval.degraded)
    text = "\n\n".join(f"「{quote.text}」〔{number}〕" for number, quote in enumerate(chosen, start=1))
    sources = tuple(Source(number, quote.reference.place) for number, quote in enumerate(chosen, start=1))
    return Answer(AnswerKind.EXCERPT, f"原文摘录：\n{text}", sources, notice=retrieval.degraded)


def _nothing_found(retrieval: Retrieval) -> str:
    if retrieval.status is RetrievalStatus.EMPTY:
        return "这里还没有资料。把文件发到群里或私聊发给我，我会自动入库，之后就能问了。"
    if not retrieval.nearest:
        return "资料里没有找到相关内容，可以换个更具体的问法。"
    names = "、".join(f"「{name}」" for name in retrieval.nearest)
    return f"资料里没有找到相关内容。最接近的文件是{names}，可以换个更具体的问法。"
