"""The tools of an agent with memory: it reads on what it was shown in part, and may look up and keep facts."""

from collections.abc import Callable
from typing import Annotated, Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool, StructuredTool

from agentic_memory_bank.engines.extractive.forgetting import plain_wish_in
from agentic_memory_bank.engines.own_words import is_order
from agentic_memory_bank.nodes import agent_messages
from agentic_memory_bank.nodes.memory_deps import keeps
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.nodes.react_mem.recall import search_memories
from agentic_memory_bank.nodes.react_mem.working_memory import listed, threshold
from agentic_memory_bank.nodes.remember.views import expiry_of
from agentic_memory_bank.prompts import forgetting, four_tiers, recalled
from agentic_memory_bank.prompts.fence import fence
from agentic_memory_bank.state.errors import MemoryBankError
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed
from agentic_memory_bank.tools.text.secrets import secrets_in

TRUST = 0.6
"""How far a fact is trusted that an agent keeps: as what an assistant says."""


class AgentMemoryTools:
    """Makes the tools. On whose behalf they work comes from the run, never from a model.

    Args:
        deps: What stages work with: stores, engine and queue.
        scope_of: On whose behalf a run is made, and in which conversation.
    """

    def __init__(self, deps: AgentDeps, scope_of: Callable[[Any, str], Scope]) -> None:
        self._deps, self._scope_of = deps, scope_of

    def tools(self) -> list[BaseTool]:
        """`deep_retrieval`, which is offered where there is something to read; the others are by setting."""

        def deep_retrieval(
            node_id: Annotated[str, "The id, as shown in brackets."],
            runtime: ToolRuntime[Any, Any],
            start: Annotated[int, "From which character on."] = 0,
        ) -> str:
            return self._read(node_id, runtime, start)

        def retrieve_facts(query: Annotated[str, "What you want to know."], runtime: ToolRuntime[Any, Any]) -> str:
            return self._look(query, runtime, is_facts=True)

        def recall_episodes(query: Annotated[str, "The goal of the task."], runtime: ToolRuntime[Any, Any]) -> str:
            return self._look(query, runtime, is_facts=False)

        def store_fact(
            fact_content: Annotated[str, "The fact, in one sentence."], runtime: ToolRuntime[Any, Any]
        ) -> str:
            return self._store(fact_content, runtime)

        described: list[tuple[Callable[..., str], str]] = [
            (deep_retrieval, four_tiers.READ),
            (retrieve_facts, four_tiers.RETRIEVE_FACTS),
            (recall_episodes, four_tiers.RECALL_EPISODES),
            (store_fact, four_tiers.STORE_FACT),
        ]
        return [
            StructuredTool.from_function(func=func, name=func.__name__, description=text) for func, text in described
        ]

    def _scope(self, runtime: ToolRuntime[Any, Any]) -> Scope | None:
        """None where memory is off: such a tool is not offered, and was called all the same."""
        mark = runtime.state.get("invocation")
        scope = self._scope_of(runtime, mark["conversation"]) if mark else None
        return scope if scope and scope.context.enable_memory else None

    def _read(self, id: str, runtime: ToolRuntime[Any, Any], start: int) -> str:
        scope = self._scope(runtime)
        text = (_in_state(runtime, id) or self._kept(scope, id)) if scope else None
        if scope is None or text is None:
            return four_tiers.UNKNOWN_ID
        start = min(max(0, start), len(text))
        room = threshold(scope.context) // 2 - agent_messages.NOTE_TOKENS
        return recalled.page(text, start, start + max(1, agent_messages.fitting(text[start:], room)))

    def _kept(self, scope: Scope, id: str) -> str | None:
        def read() -> str | None:
            found = self._deps.records(scope).agents.step(*scope.place, id)
            return found["text"] if found else None

        try:
            return self._deps.in_time(scope, read)
        except CallFailed:
            return None

    def _look(self, query: str, runtime: ToolRuntime[Any, Any], *, is_facts: bool) -> str:
        scope = self._scope(runtime)
        if scope is None or not query.strip():
            return four_tiers.NOTHING
        try:
            facts, done = search_memories(self._deps, scope, query, scope.context.fact_limit)
        except CallFailed:
            return four_tiers.OUT_OF_REACH
        text = four_tiers.facts(facts) if is_facts else four_tiers.episodes(done)
        return fence("memory", text) if text else four_tiers.NOTHING

    def _store(self, text: str, runtime: ToolRuntime[Any, Any]) -> str:
        scope = self._scope(runtime)
        if scope is None:
            return four_tiers.OUT_OF_REACH
        wish = plain_wish_in(text)
        text = text if wish is None else wish.news  # what is told beside a wish to forget is kept, and no word of it
        if not text.strip() or secrets_in(text) or is_order(text):
            return four_tiers.REFUSED
        user, project = scope.owner
        source = {"conversation": scope.conversation, "turns": [], "quotes": [text.strip()]}
        draft: Any = {"text": text.strip(), "project": project, "source": source, "trust": TRUST}
        draft["expires_at"] = expiry_of(self._deps.clock(), scope.context)
        records = self._deps.records(scope)

        def store() -> bool:
            is_kept = keeps(records, scope.owner, scope.context, scope.conversation)
            return is_kept and bool(records.store(user, **draft))

        try:
            is_kept = self._deps.in_time(scope, store)
        except CallFailed:
            return four_tiers.OUT_OF_REACH
        except MemoryBankError as error:
            return str(error)
        if not is_kept:
            return four_tiers.SWITCHED_OFF
        return four_tiers.STORED if wish is None else forgetting.news_stored(wish.news)


def _in_state(runtime: ToolRuntime[Any, Any], id: str) -> str | None:
    """A text of the agent's own messages; under the invocation's id, all its steps."""
    messages: list[AnyMessage] = runtime.state.get("messages", [])
    mark = runtime.state.get("invocation")
    if mark and id == mark["id"]:
        return listed(steps.split(messages).exchanges)
    calls = agent_messages.calls_of(messages)
    for message in messages:
        if steps.id_of(message, calls) == id and (entry := agent_messages.entry_of(message, calls)):
            return entry["text"]
    return None
