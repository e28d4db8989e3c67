"""Chooses which tools of memory an agent is offered; a call of a hidden one is answered as if it did not exist."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import INVALID_TOOL_NAME_ERROR_TEMPLATE, ToolCallRequest
from langgraph.types import Command

from agentic_memory_bank.state.conversations import MemoryContext


class ToolOffer:
    """Chooses among the tools of an agent's memory.

    Args:
        tools: `deep_retrieval` first, then those that a setting offers.
    """

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools = tools

    def tools(self, context: MemoryContext, *, has_ids: bool) -> list[BaseTool]:
        """List the tools that are offered.

        Args:
            context: Its `memory_tools` offers those that search and store facts.
            has_ids: Whether there is anything that `deep_retrieval` can read.
        """
        reader, *others = self._tools
        return [*([reader] if has_ids else []), *(others if context.memory_tools else [])]

    def refusal(self, request: ToolCallRequest, context: MemoryContext | None) -> ToolMessage | None:
        """Answer a call of a tool that is not offered: that there is no such tool; None for any other call.

        Args:
            request: The call that the model made.
            context: None where memory is off.
        """
        is_hidden = request.tool is not None and id(request.tool) in self._hidden(context)
        return self._unknown(request, context) if is_hidden else None

    def corrected(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any], context: MemoryContext | None
    ) -> ToolMessage | Command[Any]:
        """Take the tools that are not offered out of the list that an agent is shown when it calls an unknown tool.

        Another middleware may well have such a tool, so that it is asked first.
        """
        start = INVALID_TOOL_NAME_ERROR_TEMPLATE.partition("{available_tools}")[0]
        if request.tool is not None or not isinstance(result, ToolMessage) or result.status != "error":
            return result
        is_unknown = result.text.startswith(start.format(requested_tool=request.tool_call["name"]))
        return self._unknown(request, context) if is_unknown else result

    def _hidden(self, context: MemoryContext | None) -> set[int]:
        offered = self.tools(context, has_ids=True) if context else []
        return {id(tool) for tool in self._tools} - {id(tool) for tool in offered}

    def _unknown(self, request: ToolCallRequest, context: MemoryContext | None) -> ToolMessage:
        hidden = {*self._hidden(context), id(self._tools[0])}
        name, others = request.tool_call["name"], [t.name for t in request.runtime.tools if id(t) not in hidden]
        text = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(requested_tool=name, available_tools=", ".join(others))
        return ToolMessage(text, name=name, tool_call_id=request.tool_call["id"] or "", status="error")
