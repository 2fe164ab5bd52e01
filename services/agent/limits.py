"""The limits of one turn of the agent: how often it may ask the model and its tools, and for how long."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.types import Command

from services.agent.stopping import limit_reached
from services.agent.turn import present_turn
from services.tracing.stages import stage

_TOOL_TIMEOUT_S = 30.0
_TOO_SLOW = "这一步超时了，没有结果。"
_NO_MORE_CALLS = "工具次数用完了，请根据已有的内容回答。"


class TurnLimits(AgentMiddleware[Any, Any]):
    """Counts the calls of the present turn.

    The last permitted call of the model gets no tools, so that it answers from what it has. A model that calls a tool
    all the same has no answer, and the turn ends with `AgentLimitReached`. A tool beyond its limit is not called.
    """

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Let the model be called with the turn's system message, and without tools if it is the last time."""
        turn = present_turn()
        turn.model_calls_left -= 1
        is_last = turn.model_calls_left <= 0 or turn.tool_calls_left <= 0
        request = request.override(system_message=SystemMessage(turn.system))
        with stage("model"):
            response = await handler(request.override(tools=[], tool_choice=None) if is_last else request)
        if is_last and any(isinstance(message, AIMessage) and message.tool_calls for message in response.result):
            raise limit_reached("a tool was called after the last permitted call of the model")
        return response

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Let a tool be called, if it still may be."""
        turn, call = present_turn(), request.tool_call
        if turn.tool_calls_left <= 0:
            return ToolMessage(_NO_MORE_CALLS, tool_call_id=call["id"], name=call["name"], status="error")
        turn.tool_calls_left -= 1
        if request.tool is not None:
            turn.findings.tool_calls.append(call["name"])
        try:
            async with asyncio.timeout(_TOOL_TIMEOUT_S):
                return await handler(request)
        except TimeoutError:
            return ToolMessage(_TOO_SLOW, tool_call_id=call["id"], name=call["name"], status="error")
