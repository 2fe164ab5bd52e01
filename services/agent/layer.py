"""An agent around the same model: it may search the knowledge base several times, look at the clock and compute.

It replaces the one call of the model for an answer, and nothing else: the session's history goes in, the draft goes
through the same review, and the turn stores what is sent.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, merge_message_runs
from langgraph.errors import GraphRecursionError

from services.agent.findings import Findings
from services.agent.stopping import limit_reached
from services.agent.tools import TOOLS
from services.agent.turn import AgentTurn, working_on
from services.llm import MAX_REPLY_CHARS, ChatModel
from services.llm.failures import raise_empty, wrong_form
from services.memory.history import TurnHistory, is_doubtful
from services.prompts import FENCE_BEGIN, Prompts, new_fence
from services.rag import CHAT_MARK, NOTHING_MARK, Draft, format_references, format_summary, without_fenced
from services.retrieval.models import Question, Retrieval
from services.retrieval.retriever import Retriever
from services.roles import Role
from services.settings import AgentSettings

# LangGraph's own limit is 10,007. A round is one step of the model and one of the tools.
_RECURSION_LIMIT = 25


class AgentLayer:
    """Writes answers by looking things up.

    Every call of the model goes through the meter of `ChatModel`. The tools search the collection of the present turn,
    and nothing that a model writes can name another.
    """

    def __init__(self, model: ChatModel, prompts: Prompts, retriever: Retriever, settings: AgentSettings) -> None:
        # It takes a second to import, and is only needed where the layer is switched on.
        from langchain.agents import create_agent  # noqa: PLC0415

        from services.agent.limits import TurnLimits  # noqa: PLC0415

        def agent(permitted: Sequence[str]) -> Any:
            tools = [TOOLS[name](retriever) for name in permitted]
            return create_agent(model.langchain_model, tools, middleware=[TurnLimits()])

        self._of_member, self._of_admin = agent(settings.tools_member), agent(settings.tools_admin)
        self._prompt = prompts.agent
        self._persona = prompts.persona
        self._settings = settings
        self._instructions = without_fenced(self._filled(FENCE_BEGIN, "", (), ""))

    async def write(
        self,
        question: Question,
        collection: str,
        history: TurnHistory | None,
        role: Role,
        found: Retrieval | None = None,
    ) -> Draft:
        """Return what the model writes about a question, with everything that it found. Nothing is stored.

        `role` decides which tools there are. `found` is a retrieval for the question that was already made: the model
        is shown its passages at once, and most questions need no more. Raise `AgentLimitReached` if there is no answer
        within the limits, `ModelError` if the model fails, `ModelBudgetSpent` if its budget is spent on the way, and
        `SearchIndexError` if the index fails.
        """
        shown = await history.aget_messages() if history else []
        texts = tuple(message.text for message in shown if not is_doubtful(message))
        findings = Findings("\n".join((question.shown, *texts)))
        fence = new_fence()
        references = findings.add(found) if found else ()
        summary = "\n".join(message.text for message in shown if message.type == "system")
        context = "\n".join(filter(None, (format_summary(summary, fence), format_references(references, fence))))
        spoken = [message for message in shown if message.type != "system"]
        system, *messages = self._filled(fence, context, spoken, question.shown)
        turn = AgentTurn(
            collection, fence, system.text, findings, self._settings.max_model_calls, self._settings.max_tool_calls
        )
        with working_on(turn):
            reply = await self._reply(self._of_admin if role >= Role.ADMIN else self._of_member, messages)
        return Draft(
            text=reply.text.strip()[:MAX_REPLY_CHARS],
            truncated=reply.response_metadata.get("finish_reason") == "length" or len(reply.text) > MAX_REPLY_CHARS,
            question=question,
            retrieval=findings.retrieval,
            history=texts,
            general=False,
            instructions=self._instructions,
            results=tuple(findings.results),
            tool_calls=tuple(findings.tool_calls),
        )

    async def _reply(self, agent: Any, messages: Sequence[BaseMessage]) -> AIMessage:
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                state = await agent.ainvoke({"messages": list(messages)}, {"recursion_limit": _RECURSION_LIMIT})
        except TimeoutError as error:
            raise limit_reached(f"no answer within {self._settings.timeout_s} s") from error
        except GraphRecursionError as error:
            raise limit_reached(str(error)) from error
        reply = state["messages"][-1]
        if not isinstance(reply, AIMessage) or reply.invalid_tool_calls:
            raise wrong_form(f"the last message is {reply!r}")
        if not reply.text.strip():
            raise_empty(reply.response_metadata)
        return reply

    def _filled(self, fence: str, context: str, spoken: Sequence[BaseMessage], question: str) -> list[BaseMessage]:
        prompt = self._prompt.invoke(
            {
                "persona": self._persona,
                "fence": fence,
                "context": context,
                "nothing": NOTHING_MARK,
                "chat": CHAT_MARK,
                "chat_history": list(spoken),
                "input": question,
            }
        )
        return merge_message_runs(prompt.to_messages())
