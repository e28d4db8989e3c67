"""A ReAct agent that carries out a step: within budget and context, every call of a model or a tool paid for once."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import BaseModel, Field

from agentic_memory_bank.engines.llm import parsing
from agentic_memory_bank.engines.llm.answers import Call, call_of
from agentic_memory_bank.engines.llm.faults import fault_of
from agentic_memory_bank.engines.llm.listening import now_and_then, refuses_streams, sends_no_stream
from agentic_memory_bank.engines.llm.meter import Meter
from agentic_memory_bank.engines.llm.models import RoleModel
from agentic_memory_bank.engines.llm.retry import RetryBudget
from agentic_memory_bank.engines.streamed_answer import listened
from agentic_memory_bank.prompts import react
from agentic_memory_bank.state.errors import AnswerRejected, BudgetReachedError, MemoryBankError, ToolError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attached_files import portable
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.tokens import estimate_tokens

_Message = TypeVar("_Message", bound=BaseMessage)

BAD_CALLS: Final = 3
"""Calls in a row that no tool could serve, after which the agent has to answer, or the step has failed."""
NEAR: Final = 0.9
"""Share of the context from which an agent is asked for its answer."""
EXCERPT_CHARACTERS: Final = 4_000
CLEARED: Final = "[Left out to save room. It is kept, and can be asked for again.]"
READ_MEMORY: Final = "deep_retrieval"
_DURABILITY: Final = "__pregel_durability"
"""How LangGraph hands the durability of a run on to graphs in it: with `sync` one without a saver fails (1.2.22)."""


class ReactAgent:
    """Carries out steps with a chat model and tools.

    Nothing of its work is checkpointed: answers and results are in the store of paid answers, by what was asked, so a
    step that is done again after a crash goes through the same calls without making them.
    """

    def __init__(
        self, model: RoleModel, meter: Meter, settings: Settings, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._model, self._meter, self._settings, self._sleep = model, meter, settings, sleep

    @property
    def meter(self) -> Meter:
        """Counts what the agent spends; tools of its that ask models have it counted there too."""
        return self._meter

    def run(self, step: str, prompt: str, tools: Sequence[BaseTool], disabled: Sequence[str] = ()) -> list[AnyMessage]:
        """Do a step, and return the new turns: calls, results and the last words.

        Args:
            step: Names the step: results of tools are kept under it.
            prompt: Task and recalled memory.
            tools: The tools that the agent may call.
            disabled: Lines that say which tools are not there.

        Raises:
            ToolError: The agent called nothing but what is not there.
            EngineError: The model could not be asked.
            BudgetReachedError: The run has spent what it may.
        """
        retries = RetryBudget(self._model, self._settings, self._sleep)
        guard = _Guard(self._model, self._meter, self._settings, retries, step)
        offered = [_paged(tool, guard.results) if tool.name == READ_MEMORY else tool for tool in tools]
        agent = create_agent(
            self._model.client,
            offered,
            system_prompt=react.render(disabled),
            middleware=[guard],
            checkpointer=False,
        )
        limit = {"recursion_limit": 4 * self._settings.react_calls + 20}
        config: Any = {**limit, "tags": [TAG_NOSTREAM], "configurable": {_DURABILITY: "exit"}}
        try:
            state = agent.invoke({"messages": [HumanMessage(prompt)]}, config)
        except BudgetReachedError:
            self._meter.store.keep_turns(step, guard.turns)
            raise
        except AnswerRejected:
            if not any(isinstance(turn, AIMessage) and turn.text.strip() for turn in guard.turns):
                raise
            return list(guard.turns)  # an answer that was said beside a call holds where nothing comes after it
        return list(state["messages"][1:])


class _Guard(AgentMiddleware[Any, Any]):
    """Stands between an agent and what it calls."""

    def __init__(self, model: RoleModel, meter: Meter, settings: Settings, retries: RetryBudget, step: str) -> None:
        super().__init__()
        self._model, self._meter, self._settings = model, meter, settings
        self._retries, self._step = retries, step
        self._lock = threading.Lock()
        self._bad_calls = 0
        self._calls = 0
        self._has_found = False
        self._is_stuck = False
        self.turns: Sequence[AnyMessage] = ()
        """Calls, results and words until now."""
        self.results: dict[str, str] = {}
        """Results that were too long to be shown whole, by id."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Any:
        """Ask the model, once for the same question; near a limit without tools, so that it has to answer."""
        self._calls += 1
        self.turns = request.messages[1:]
        messages = self._fitting(request.messages)
        is_last = self._is_stuck or self._calls >= self._settings.react_calls or self._tokens(messages) > self._near
        if is_last:
            messages = [*messages, HumanMessage(react.ANSWER_NOW)]
        asked = request.override(messages=messages, tools=[] if is_last else request.tools)
        key = self._key(asked)
        kept = self._meter.store.find(key)
        said = self._asked(asked, handler, key) if kept is None else AIMessage.model_validate_json(kept)
        # Some models call tools that they are not offered any more; served, they would go on without end.
        return ModelResponse(result=[parsing.without_calls(said) if is_last else said])

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Call a tool, once for the same call of the same step; what is too long is kept, and shown in part."""
        call = request.tool_call
        if request.tool is None:
            return self._refused(call, f"There is no tool '{call['name']}'.")
        key = _hash("tool", self._step, call["name"], call["args"], call["id"])
        kept = self._meter.store.result(key)
        message = ToolMessage.model_validate_json(kept) if kept is not None else self._called(request, handler, key)
        if isinstance(message, ToolMessage) and message.status == "error":
            return self._refused(call, message.text)
        with self._lock:
            self._bad_calls, self._has_found = 0, True
        return self._shown(message, call["name"]) if isinstance(message, ToolMessage) else message

    @property
    def _near(self) -> float:
        return NEAR * self._settings.react_context

    def _asked(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]], key: str
    ) -> AIMessage:
        prompt = self._tokens(request.messages)
        while True:
            with self._meter.calling(self._model.name, prompt, self._model.row.output):
                try:
                    message = _storable(cast("AIMessage", self._listened(request, handler).result[0]))
                except GraphBubbleUp:
                    raise
                except Exception as error:
                    fault = fault_of(error, "function_calling")
                    self._meter.note(Call(self._meter.run, "react", self._model.name, "", 0, 0))
                else:
                    estimated = prompt, estimate_tokens(message.text)
                    call = call_of(self._meter.run, "react", self._model.name, "tools", message, estimated)
                    rejected = self._rejected(message)
                    if rejected is None:
                        self._meter.note(call, key, message.model_dump_json())
                        return message
                    self._meter.note(call)
                    self._retries.fail(rejected)
                    continue
            self._retries.consider(fault)

    def _listened(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """What the model answers; of one at home it is told how much has come."""
        model = self._model
        tell = now_and_then(self._meter.asking("react", self._retries.attempt, model.row.timeout))
        if not (model.is_slow and model.modes.streams):
            return handler(request)
        try:
            with listened(tell):
                return handler(request.override(model=model.streamed()))
        except GraphBubbleUp:
            raise
        except Exception as error:
            if not (sends_no_stream(error) or refuses_streams(error, fault_of(error, "function_calling"))):
                raise
        model.modes.streams = False
        self._meter.note(Call(self._meter.run, "react", model.name, "", 0, 0))
        return handler(request)

    def _rejected(self, message: AIMessage) -> AnswerRejected | None:
        """Why an answer cannot be used: it was cut off, held back or refused, or there is none."""
        try:
            parsing.complete(message, needs_finish=self._model.is_openai)
        except AnswerRejected as error:
            advice = " Raise MEMORY_BANK_REACT_OUTPUT." if str(error) == parsing.CUT_OFF else ""
            return AnswerRejected(f"The answer of {self._retries.named} cannot be used. {error}{advice}")
        if message.text.strip() or message.tool_calls or message.invalid_tool_calls:
            return None
        return AnswerRejected("The agent's model answered with nothing.")

    def _called(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any], key: str) -> Any:
        """The result of a tool; what it raises is told to the agent, in our words."""
        call = request.tool_call
        try:
            message = handler(request)
        except (GraphBubbleUp, MemoryError):
            raise
        except ToolError as error:
            return ToolMessage(str(error), tool_call_id=call["id"] or "", name=call["name"], status="error")
        except Exception as error:
            if isinstance(error, MemoryBankError):
                raise
            said = f"The tool failed ({type(error).__name__})."
            return ToolMessage(said, tool_call_id=call["id"] or "", name=call["name"], status="error")
        if isinstance(message, ToolMessage) and message.status != "error":
            message = _storable(message.model_copy(update={"artifact": portable(message.artifact)}))
            self._meter.store.keep_result(key, message.model_dump_json(fallback=str))
        return message

    def _refused(self, call: Any, why: str) -> ToolMessage:
        with self._lock:
            self._bad_calls += 1
            too_many = self._bad_calls >= BAD_CALLS
            self._is_stuck = self._is_stuck or too_many
        if too_many and not self._has_found:
            raise ToolError(f"{BAD_CALLS} calls of tools in a row failed, the last one so: {why}")
        return ToolMessage(why, tool_call_id=call["id"] or "", name=call["name"], status="error")

    def _shown(self, message: ToolMessage, name: str) -> ToolMessage:
        text = message.text
        if name == READ_MEMORY or estimate_tokens(text) <= self._settings.react_result_tokens:
            return message
        artifact = message.artifact if isinstance(message.artifact, dict) else {}
        result_id = "e" + _hash(self._step, name, text)[:12]
        self.results[result_id] = text
        return ToolMessage(
            react.excerpt(text, EXCERPT_CHARACTERS, result_id),
            tool_call_id=message.tool_call_id,
            name=name,
            artifact={**artifact, "full": text, "id": result_id},
        )

    def _fitting(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The messages within the context: of the oldest results only that they were there."""
        kept = list(messages)
        for position, message in enumerate(kept):
            if self._tokens(kept) <= self._settings.react_context:
                break
            if isinstance(message, ToolMessage):
                kept[position] = message.model_copy(update={"content": CLEARED})
        return kept

    def _tokens(self, messages: Sequence[BaseMessage]) -> int:
        return sum(estimate_tokens(f"{m.content}{getattr(m, 'tool_calls', '')}") for m in messages)

    def _key(self, request: ModelRequest[Any]) -> str:
        said = convert_to_openai_messages(list(request.messages))
        tools = [tool.name if isinstance(tool, BaseTool) else str(tool) for tool in request.tools]
        system = request.system_message.text if request.system_message else ""
        return _hash("model", self._model.name, self._model.parameters, system, said, tools)


class _PagedArguments(BaseModel):
    node_id: str = Field(description="The id of a memory, as shown in brackets, or of a result that was shown in part.")
    entry_id: str | None = Field(default=None, description="Only this entry of the memory.")
    attachment_id: str | None = Field(default=None, description="Only this attachment of the memory.")
    start: int = Field(default=0, ge=0, description="For a result: from which character on.")


def _paged(tool: BaseTool, results: dict[str, str]) -> BaseTool:
    """Deep retrieval that also reads the results of this step on, piece by piece."""

    def read(node_id: str, entry_id: str | None = None, attachment_id: str | None = None, start: int = 0) -> str:
        if node_id not in results:
            named = {"node_id": node_id, "entry_id": entry_id, "attachment_id": attachment_id}
            return str(tool.invoke(named))
        text = results[node_id]
        end = start + EXCERPT_CHARACTERS
        rest = (
            f"\n\n[Characters {start:,} to {end:,} of {len(text):,}; go on with start {end}.]"
            if end < len(text)
            else ""
        )
        return text[start:end] + rest

    return StructuredTool.from_function(
        func=read, name=tool.name, description=tool.description, args_schema=_PagedArguments
    )


def _storable(message: _Message) -> _Message:
    """A message of characters that can be written as JSON; half an emoji of a web page cannot."""
    names = ("content", "artifact", "tool_calls", "invalid_tool_calls", "additional_kwargs")
    return message.model_copy(
        update={name: _cleaned(getattr(message, name)) for name in names if hasattr(message, name)}
    )


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _cleaned(item) for name, item in cast("dict[Any, Any]", value).items()}
    return value


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, default=str, sort_keys=True).encode()).hexdigest()
