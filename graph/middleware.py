"""`MemoryBankMiddleware` for `langchain.agents.create_agent`: keeps prompts within a budget, and all that was said.

before the model   what is new goes into the Interaction Tree word for word; what leaves the window becomes memories
at the model       the prompt is fitted to the budget; what memory holds on the question goes in front of it, fenced
among the tools    deep_retrieval reads the raw text

The agent's own checkpointer keeps it all: the layers are delta channels of the agent's state.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory
from agentic_memory_bank.graph.ingestion import MiddlewareOrder, ingest
from agentic_memory_bank.nodes import agent_messages
from agentic_memory_bank.nodes.agent_messages import Limits
from agentic_memory_bank.nodes.deps import Clock, timestamp, utc_now
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.prompts import recalled
from agentic_memory_bank.state.errors import SettingsError, ToolError
from agentic_memory_bank.state.interaction_tree import Entry, InteractionTree, append, apply_tree_edits
from agentic_memory_bank.state.memory_bank import LayerChannel, Recalled, SeldomWrittenLayerChannel
from agentic_memory_bank.state.query_graph import QueryGraph, apply_graph_edits
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.search.bank_index import IndexPool, MemoryIndex
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieve
from agentic_memory_bank.tools.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

DEFAULT_BUDGET: Final = 32_000
MESSAGE_SHARE: Final = 0.25
"""Share of the budget from which a message is shown as an excerpt."""
RESULT_SHARE: Final = 0.1
"""Share of the budget from which the result of a tool is shown as an excerpt."""
MEMORY_SHARE: Final = 0.25
"""Share of the budget that recalled memory may take."""
FIXED_SHARE: Final = 0.1
"""Tokens that instructions and tools are assumed to cost until the first call shows it."""
LEAST_BUDGET: Final = 1_000
LEAST_MEMORY: Final = 150
"""Tokens of recalled memory below which none is shown."""
LEAST_PASSAGE: Final = 40
"""Least characters of raw text that are shown of a memory that is too long."""
QUERY_CHARACTERS: Final = 1_000
"""Longest message, in characters, that memory is searched with as it stands."""

_SAVER = "__pregel_checkpointer"
_Request = ModelRequest[Any]


class BatchedLayerChannel(LayerChannel):
    """A channel for layers that are written seldom and much at a time, with full copies more often."""

    __slots__ = ()

    updates_per_item: ClassVar[float] = 0.01


class RememberingState(AgentState[Any]):
    """State of an agent with memory; what is added to the agent's own is neither its input nor its output."""

    query_graph: NotRequired[Annotated[QueryGraph, PrivateStateAttr, BatchedLayerChannel(apply_graph_edits)]]
    """Memories of what left the window, and of texts too long for it."""
    interaction_tree: NotRequired[
        Annotated[InteractionTree, PrivateStateAttr, SeldomWrittenLayerChannel(apply_tree_edits)]
    ]
    """All that was said, called and found, word for word, in its order."""
    left_to_memory: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """Ids of messages that are no longer shown but could not be taken out of `messages`."""


class MemoryBankMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps the prompts of an agent of `create_agent` within a budget, and forgets nothing.

    Every message is written into the Interaction Tree before a model sees it. When the conversation outgrows its share
    of the budget, memories are made of the older half, and in the same step its messages are removed from the agent's
    `messages`, so that checkpoints stay small and a crash finds both or neither. Where nothing keeps the agent's state
    (no checkpointer, or an agent inside another graph), messages stay, and only prompts leave them out.

    Args:
        engine: Makes the judgements, in place of `models`. Default: the chat models that the settings name, or else the
            extractive engine, which needs no network and no key.
        models: A LangChain chat model for all judgements, or a mapping of roles to chat models.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        budget: Most tokens of a prompt: instructions, tools, messages and memory together, by this package's estimate,
            which is rather too high.
        keep_last: How many of the latest exchanges (a message, or a call with its results) always stay. They are shown
            whole as long as there is room.
        settings: Settings of judgement and retrieval. Default: the environment's.
        clock: Returns the time that messages are stamped with when they arrive.

    Raises:
        SettingsError: The budget is too small to work with, or a model that the settings name cannot be asked.

    Example:
        >>> agent = create_agent(model, tools, middleware=[MemoryBankMiddleware()], checkpointer=saver)
    """

    state_schema = RememberingState

    def __init__(
        self,
        engine: Engine | None = None,
        models: "GivenModels | None" = None,
        embeddings: Embeddings | None = None,
        budget: int = DEFAULT_BUDGET,
        keep_last: int = 6,
        *,
        settings: Settings | None = None,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__()
        if budget < LEAST_BUDGET or keep_last < 1:
            raise SettingsError(f"A memory needs a budget of {LEAST_BUDGET:,} tokens or more, and keep_last >= 1.")
        self._settings = settings or Settings.of(None)
        self._deps = _deps(engine, models, embeddings, self._settings, clock)
        self._budget = budget
        self._memory = min(self._settings.memory_tokens, int(budget * MEMORY_SHARE))
        self._limits = Limits(int(budget * MESSAGE_SHARE), int(budget * RESULT_SHARE), keep_last)
        self._fixed = int(budget * FIXED_SHARE)
        self._order = MiddlewareOrder()
        self.tools = [_reader(self._limits.message)]

    def before_model(self, state: RememberingState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Write down new messages, and make memories of those that leave the window or are too long for it.

        Raises:
            SettingsError: A model that the settings name cannot be asked.
        """
        self._order.taken_in(state["messages"])
        tree = state.get("interaction_tree", {})
        now = timestamp(self._deps.clock(), _last_time(tree))
        messages = _shown(state, state["messages"])
        heard = _Heard.of(messages, now)
        edits = [append(entry) for entry in heard.entries.values() if entry["id"] not in tree.get("entries", {})]
        tree = apply_tree_edits(tree, [edits])
        gone = self._leaving(messages)
        wanted = heard.turns({*gone, *(m.id or "" for m in messages if agent_messages.is_long(m, self._limits))})
        update: dict[str, Any] = {"interaction_tree": edits} if edits else {}
        if wanted := _unknown(wanted, state.get("query_graph", {})):
            learned = ingest(state.get("query_graph", {}), tree, wanted, now, self._runtime(runtime), self._deps)
            update["query_graph"] = learned.query_graph
            update["interaction_tree"] = [*edits, *learned.interaction_tree]
        return (update | _departure(state, gone)) or None

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Fit the prompt to the budget, and add what memory holds on the question.

        Raises:
            SettingsError: Instructions, tools and the shortest form of the last exchange exceed the budget.
        """
        self._order.shown(request.messages)
        return handler(self._fitted(request))

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do what `wrap_model_call` does; memory is searched in a thread so that nothing blocks."""
        self._order.shown(request.messages)
        return await handler(await asyncio.to_thread(self._fitted, request))

    def _leaving(self, messages: Sequence[BaseMessage]) -> list[str]:
        room = self._budget - self._fixed - self._memory
        stay = {id(m) for m in agent_messages.staying(messages, room, self._limits)}
        return [m.id or "" for m in messages if id(m) not in stay]

    def _fitted(self, request: _Request) -> _Request:
        state = cast("RememberingState", request.state)
        graph, tree = state.get("query_graph", {}), state.get("interaction_tree", {})
        if agent_messages.calls_no_tools(request.model):
            request = request.override(tools=[tool for tool in request.tools if tool not in self.tools])
        self._fixed = _fixed_tokens(request)
        room = self._budget - self._fixed
        messages = _shown(state, request.messages)
        calls, entries = agent_messages.calls_of(messages), tree.get("entries", {})
        kept = self._memory if graph.get("nodes") else 0

        def name(message: BaseMessage) -> str | None:
            entry = agent_messages.entry_of(message, calls)
            return entry["id"] if entry and entry["id"] in entries else None

        shown = agent_messages.fit(messages, room - kept, self._limits, name) or agent_messages.fit(
            messages, room, self._limits, name
        )
        if shown is None:
            raise SettingsError(
                f"The budget of {self._budget:,} tokens is too small: instructions and tools take {self._fixed:,}, and "
                "there is no room for the question with what was just called. Raise `budget`, or offer fewer tools."
            )
        left = room - agent_messages.total(shown)
        memory = self._recalled(request, messages, graph, tree, min(left, kept))
        return request.override(messages=_with(memory, shown))

    def _recalled(
        self, request: _Request, messages: Sequence[BaseMessage], graph: QueryGraph, tree: InteractionTree, tokens: int
    ) -> HumanMessage | None:
        """Recall for the question, as a message of at most so many tokens; None when there is nothing."""
        asked = agent_messages.question(messages)
        query = _query(asked.text) if asked else ""
        if tokens < LEAST_MEMORY or not query.strip():
            return None
        settings = self._settings.model_copy(update={"memory_tokens": tokens})
        found = self._deps.indexes.of(_thread(request.runtime)).recall(graph, tree, query, settings)
        while found:
            message = HumanMessage(recalled.render(graph, tree, found))
            if agent_messages.size(message) <= tokens:
                return message
            found = _less(found, graph)
        return None

    def _runtime(self, runtime: Runtime[Any]) -> Runtime[Settings]:
        return Runtime(context=self._settings, execution_info=runtime.execution_info)


@dataclass(frozen=True, slots=True)
class _Heard:
    """The messages as entries, by the id of the message; instructions are left out."""

    entries: dict[str, Entry]

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], now: str) -> "_Heard":
        calls = agent_messages.calls_of(messages)
        found = ((message.id or "", agent_messages.entry_of(message, calls, now)) for message in messages)
        return cls({message_id: entry for message_id, entry in found if entry})

    def turns(self, messages: set[str]) -> list[list[str]]:
        """Group entries of messages by turn of the user with what followed; failed calls are left out."""
        turns: list[list[str]] = [[]]
        for message_id, entry in self.entries.items():
            if message_id in messages and entry["text"] and "status" not in entry["metadata"]:
                if entry["metadata"]["role"] == "human":
                    turns.append([])
                turns[-1].append(entry["id"])
        return turns


def _deps(
    engine: Engine | None, models: "GivenModels | None", embeddings: Embeddings | None, settings: Settings, clock: Clock
) -> BankDeps:
    encoder = Encoder(embeddings or default_embeddings(settings))
    engines = EngineFactory(ExtractiveEngine(encoder), engine, models, AnswerPool())
    engines.check(settings)
    indexes = IndexPool(partial(MemoryIndex, encoder))
    return BankDeps(engine=engines.default, encoder=encoder, indexes=indexes, clock=clock, engines=engines)


def _reader(tokens: int) -> BaseTool:
    """Make `deep_retrieval` over the state of the agent that calls it, in pages that fit a prompt."""
    room = tokens - agent_messages.NOTE_TOKENS

    def read(
        node_id: Annotated[str, "The id of a memory, as shown in brackets, or of a text that was shown in part."],
        runtime: ToolRuntime[Any, Any],
        entry_id: Annotated[str | None, "Only this entry of the memory."] = None,
        start: Annotated[int, "From which character on."] = 0,
    ) -> str:
        try:
            text = _text(cast("Mapping[str, Any]", runtime.state), node_id, entry_id)
        except ToolError as error:
            return str(error)
        start = min(max(0, start), len(text))
        return recalled.page(text, start, start + max(1, agent_messages.fitting(text[start:], room)))

    return StructuredTool.from_function(func=read, name="deep_retrieval", description=recalled.READ)


def _text(state: Mapping[str, Any], node_id: str, entry_id: str | None) -> str:
    """Read the raw text of an entry, or of all entries of a memory, each below a line that names it."""
    graph: QueryGraph = state.get("query_graph") or {}
    tree: InteractionTree = state.get("interaction_tree") or {}
    if entry := tree.get("entries", {}).get(node_id):
        return entry["text"]
    found = deep_retrieve(graph, tree, node_id, entry_id)
    if entry_id is not None:
        return "".join(str(entry["text"]) for entry in found)
    return "\n\n".join(f"[{e['id']}] {e['source']}, {e['created_at']}\n{e['text']}" for e in found)


def _shown(state: RememberingState, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    left = set(state.get("left_to_memory", ()))
    return [m for m in messages if m.id not in left] if left else list(messages)


def _unknown(turns: Sequence[Sequence[str]], graph: QueryGraph) -> list[list[str]]:
    """Leave out of the turns what memories hold already."""
    if not any(turns):
        return []
    owned = {anchor["entry"] for node in graph.get("nodes", {}).values() for anchor in node["anchors"]}
    fresh = ([entry for entry in dict.fromkeys(turn) if entry not in owned] for turn in turns)
    return [turn for turn in fresh if turn]


def _departure(state: RememberingState, gone: Sequence[str]) -> dict[str, Any]:
    """Remove messages from a state that is checkpointed with its memory; in any other, note that they are not shown."""
    if not gone:
        return {}
    if _is_kept():
        return {"messages": [RemoveMessage(message_id) for message_id in gone]}
    return {"left_to_memory": [*state.get("left_to_memory", ()), *gone]}


def _is_kept() -> bool:
    """Ask whether the next call of the agent begins with this state."""
    with suppress(RuntimeError):  # outside of a graph there is no config
        options = get_config().get("configurable", {})
        return bool(options.get(_SAVER)) and "|" not in str(options.get("checkpoint_ns", ""))
    return False


def _fixed_tokens(request: _Request) -> int:
    """Count the tokens of every prompt besides messages: instructions, tools, the form of the answer."""
    tools = [json.dumps(convert_to_openai_tool(tool), ensure_ascii=False) for tool in request.tools]
    instructions = [request.system_message] if request.system_message else []
    return agent_messages.total(instructions) + sum(map(estimate_tokens, [*tools, _form(request.response_format)]))


def _form(response_format: Any) -> str:
    """Write the schema of a structured answer as the model is sent it."""
    schema = getattr(response_format, "schema", response_format)
    if schema is None or isinstance(schema, dict):
        return json.dumps(schema) if schema else ""
    return json.dumps(TypeAdapter(schema).json_schema(), ensure_ascii=False)


def _with(memory: HumanMessage | None, messages: list[AnyMessage]) -> list[AnyMessage]:
    """Put memory in front of the question; what stands before stays the same, for a provider's cache."""
    if memory is None:
        return messages
    asked = agent_messages.question(messages)
    place = next((i for i, message in enumerate(messages) if message is asked), len(messages))
    return [*messages[:place], memory, *messages[place:]]


def _less(found: list[Recalled], graph: QueryGraph) -> list[Recalled]:
    """Drop the last memory; of the only one, shorten the raw text step by step, then drop it."""
    *others, last = found
    if others:
        return others
    first = (last["passages"] or graph["nodes"][last["node"]]["anchors"])[0]
    length = (first["end"] - first["start"]) // 2
    if length < LEAST_PASSAGE:
        return []
    return [{**last, "hit": False, "passages": [{**first, "end": first["start"] + length}]}]


def _query(text: str) -> str:
    """Choose what memory is searched with: of a long message its first and last paragraph, where questions stand."""
    if len(text) <= QUERY_CHARACTERS:
        return text
    first, last = text.lstrip().partition("\n")[0], text.rstrip().rpartition("\n")[2]
    ends = [first[: QUERY_CHARACTERS // 2], last[-QUERY_CHARACTERS // 2 :]]
    return "\n".join([end for end in ends if "?" in end or "？" in end] or ends)


def _thread(runtime: Runtime[Any]) -> str:
    info = runtime.execution_info
    return (info.thread_id if info else None) or ""


def _last_time(tree: InteractionTree) -> str:
    entries = tree.get("entries", {})
    return entries[next(reversed(entries))]["created_at"] if entries else ""
