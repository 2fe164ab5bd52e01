"""What the fast model says about a question: its category, the whole question and other words, in one call."""

import logging

from langchain_core.prompts import ChatPromptTemplate

from services.errors import ModelError
from services.grounding.figures import figures, stated_figures
from services.llm import ChatModel
from services.memory.history import TurnHistory
from services.prompts import new_fence
from services.retrieval.models import Question
from services.text.cleaning import clean
from services.tracing.stages import stage
from services.workflows.qa.models import QuestionAnalysis

log = logging.getLogger(__name__)

_MESSAGES, _MESSAGE_CHARS = 4, 300
_LONGEST = 3


class QuestionAnalyser:
    """Asks the fast model about a question. Without an answer from it, the rules decide."""

    def __init__(self, model: ChatModel, prompt: ChatPromptTemplate) -> None:
        self._model = model
        self._prompt = prompt

    async def analyse(self, question: Question, history: TurnHistory) -> QuestionAnalysis | None:
        """Return what the model says about a question, or None if it fails or its budget is spent."""
        said = [message for message in await history.aget_messages() if message.type != "system"][-_MESSAGES:]
        roles = {"human": "群友", "ai": "机器人"}
        lines = [f"{roles[message.type]}：{' '.join(message.text.split())[:_MESSAGE_CHARS]}" for message in said]
        prompt = await self._prompt.ainvoke(
            {"fence": new_fence(), "conversation": "\n".join(lines) or "（没有）", "question": question.shown}
        )
        try:
            with stage("analyse"):
                found = await self._model.structured(prompt, QuestionAnalysis)
        except ModelError as error:
            log.warning("the rules decide about a question: %s", error)
            return None
        whole = whole_question(question.text, found.standalone_question, "\n".join(lines))
        return found.model_copy(update={"standalone_question": whole})


def whole_question(asked: str, written: str, conversation: str) -> str:
    """Return the whole question that a model wrote for a follow-up, or nothing if it cannot be believed.

    It must be one short line, and state no figure that was not said: a model may be led by what it reads.

    >>> whole_question("那周五呢", "图书馆周五几点关门", "群友：图书馆周一几点关门")
    '图书馆周五几点关门'
    >>> whole_question("那周五呢", "图书馆周五 17:45 关门吗", "群友：图书馆周一几点关门")
    ''
    """
    whole = clean(written).strip()
    if not whole or whole == asked or "\n" in whole or len(whole) > _LONGEST * len(asked) + 40:
        return ""
    known = stated_figures(f"{asked}\n{conversation}")
    return "" if figures(whole) - known else whole
