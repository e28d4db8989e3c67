"""Gives every run its engine: the one passed in code, the chat models of its settings, or the offline engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from agentic_memory_bank.engines.base import Engine, EngineT
from agentic_memory_bank.engines.local_server import learn_limits
from agentic_memory_bank.state.errors import EngineError, InputError, SettingsError, unfit
from agentic_memory_bank.state.memory_bank import Allowance
from agentic_memory_bank.state.model_table import BANK_ROLES, Role
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

if TYPE_CHECKING:
    from agentic_memory_bank.engines.conversation import ConversationEngine
    from agentic_memory_bank.engines.llm.answers import AnswerStore
    from agentic_memory_bank.engines.llm.meter import Meter
    from agentic_memory_bank.engines.llm.models import ChatModels, GivenModels
    from agentic_memory_bank.engines.llm.react_agent import ReactAgent
    from agentic_memory_bank.engines.llm.structured_output import Asker
    from agentic_memory_bank.engines.research import ResearchEngine
    from agentic_memory_bank.engines.responder import Responder


@dataclass(frozen=True, slots=True)
class MeteredEngine(Generic[EngineT]):
    """The engine of one stage of one run, with the meter of what it spends."""

    engine: EngineT
    meter: "Meter | None" = None
    agent: "ReactAgent | None" = None
    """Carries out steps with tools, where a chat model has the role `react`."""
    notes: "Callable[[], AnswerStore] | None" = None
    """Opens the store of paid answers, where it is needed."""

    @property
    def failures(self) -> Sequence[EngineError]:
        """Why some questions of the stage have no answer."""
        return getattr(self.engine, "failures", ()) if self.meter else ()


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """Describes the run that an engine is made for."""

    settings: Settings
    thread: str
    goal: str
    """Id of the Insight Doc, under which usage is counted."""
    allowance: Allowance
    elapsed: Callable[[], float]
    on_event: Callable[[dict[str, Any]], object]


def check_engine(given: object, protocol: type[Any], asks: Sequence[str] = ()) -> None:
    """Check what is given as an engine; None is the default one.

    Args:
        asks: The judgements that are asked for. Default: all of the protocol.

    Raises:
        InputError: It is none of this protocol.
    """
    if given is None:
        return
    name = protocol.__name__
    if isinstance(given, type) or not isinstance(getattr(given, "name", None), str):
        raise unfit("engine", given, f"an engine (`{name}`), which has a name and every judgement")
    if lacking := [method for method in asks or members(protocol) if not callable(getattr(given, method, None))]:
        raise InputError(
            f"`engine` is no `{name}`: {type(given).__name__} lacks {', '.join(lacking)}. Derive it from one that has "
            "them, or leave it out."
        )


def _protocol_of(offline: object) -> type[Any]:
    """The protocol of a graph's engines: that of the offline one."""
    from agentic_memory_bank.engines.conversation import ConversationEngine
    from agentic_memory_bank.engines.research import ResearchEngine
    from agentic_memory_bank.engines.responder import Responder

    # `isinstance` takes a responder for less than a researcher, whose `respond` it shares: the narrowest comes last.
    return next(p for p in (Engine, ConversationEngine, ResearchEngine, Responder) if isinstance(offline, p))


def members(protocol: type[Any]) -> list[str]:
    """The judgements that a protocol asks for."""
    return sorted(name for name, value in vars(protocol).items() if callable(value) and not name.startswith("_"))


def engine_name(settings: Settings, models: "GivenModels | None", roles: Sequence[Role] = BANK_ROLES) -> str:
    """Name the models of some roles, each once, for the ledger; no client is made and no key needed.

    Raises:
        SettingsError: `models` is neither a chat model nor a mapping of roles to chat models.
    """
    if models is None and not settings.has_models(roles):
        return "extractive"
    from agentic_memory_bank.engines.llm.models import names_of

    return f"models {', '.join(names_of(settings, models, roles))}"


class AnswerPool:
    """Keeps the answers of models: of the latest tasks in memory, or of one task where it keeps them."""

    def __init__(self, path: Path | ThreadRows | None = None, size: int = 1_024) -> None:
        self._path = path
        self._stores: LruCache[str, AnswerStore] = LruCache(size)

    def of(self, thread: str) -> "AnswerStore":
        """Get the answers of a thread."""
        from agentic_memory_bank.engines.llm.answer_rows import answers_at

        return self._stores.get("" if self._path else thread, lambda: answers_at(self._path))

    def close(self) -> None:
        """Close the files."""
        for store in self._stores.values():
            store.close()


def chat_bank_engine(asker: "Asker", offline: "Engine") -> "Engine":
    """Make the memory bank's engine that asks chat models; like those below, it is imported only where one is asked."""
    from agentic_memory_bank.engines.llm import ChatBankEngine

    return ChatBankEngine(asker, offline)


def chat_research_engine(asker: "Asker", offline: "ResearchEngine") -> "ResearchEngine":
    """Make the engine of memorizer and researcher that asks chat models."""
    from agentic_memory_bank.engines.llm.research import ChatResearchEngine

    return ChatResearchEngine(asker, offline)


def chat_conversation_engine(asker: "Asker", offline: "ConversationEngine") -> "ConversationEngine":
    """Make the engine of recall, remember and agents that asks chat models."""
    from agentic_memory_bank.engines.llm.conversation import ChatConversationEngine

    return ChatConversationEngine(asker, offline, with_passage=asker.settings.recall_hyde)


def chat_responder(asker: "Asker", offline: "Responder") -> "Responder":
    """Make the responder that asks a chat model."""
    from agentic_memory_bank.engines.llm.responder import ChatResponder

    return ChatResponder(asker, offline)


@dataclass(frozen=True, slots=True)
class EngineFactory(Generic[EngineT]):
    """Makes the engine of each run: settings may name other models than those of the run before."""

    offline: EngineT
    given: EngineT | None = None
    models: "GivenModels | None" = None
    answers: AnswerPool = field(default_factory=AnswerPool)
    roles: tuple[Role, ...] = BANK_ROLES
    """Roles that the graph asks; models of other roles are ignored."""
    chat: "Callable[[Asker, Any], Any]" = chat_bank_engine
    """Makes the chat engine, which hands roles without a model to the offline engine."""
    asks: tuple[str, ...] = ()
    """The judgements that the graph asks for, where these are not all."""

    def __post_init__(self) -> None:
        """Check what was given in code, where it is given.

        Raises:
            InputError: The engine lacks a judgement.
            SettingsError: `models` is neither a chat model nor a mapping of roles to chat models.
        """
        if self.given is not None:
            check_engine(self.given, _protocol_of(self.offline), self.asks)
        if self.models is not None:
            from agentic_memory_bank.engines.llm.models import by_role

            by_role(self.models)

    @property
    def default(self) -> EngineT:
        """Return the engine that needs no settings: the one passed in code, or the offline one."""
        return self.given or self.offline

    def check(self, settings: Settings) -> None:
        """Check that the models of a run can be asked, before anything is spent.

        Raises:
            SettingsError: A name is not known, a key is not set, or a budget of money lacks a price.
        """
        models = self._chat_models(settings)
        if models is None or settings.budget_money is None:
            return
        if unknown := sorted({m.name for m in models.roles.values()} - set(settings.prices)):
            raise SettingsError(
                f"A budget of money needs the price of {', '.join(unknown)}. Add it to MEMORY_BANK_PRICES."
            )

    def has_agent(self, settings: Settings) -> bool:
        """Ask whether an agent is sent to find things out: chat models have the roles `react` and `plan`."""
        models = self._chat_models(settings)
        return models is not None and {"react", "plan"} <= set(models.roles)

    def models_of(self, settings: Settings) -> str:
        """Name the chat models of a run with these settings; empty where it has none."""
        return engine_name(settings, self.models, self.roles) if self._has_models(settings) else ""

    def of(self, run: EngineRequest) -> MeteredEngine[EngineT]:
        """Make the engine of a run."""
        asks = not run.allowance.get("ending") and self._has_models(run.settings)
        if asks and self.models is None:
            for model in {row.model for row in map(run.settings.role, self.roles) if row.model}:
                learn_limits(model)
        models = self._chat_models(run.settings) if asks else None
        notes = partial(self.answers.of, run.thread)
        if models is None:
            return MeteredEngine(self.default, notes=notes)
        from agentic_memory_bank.engines.llm.meter import Meter, limits
        from agentic_memory_bank.engines.llm.structured_output import Asker

        meter = Meter(
            self.answers.of(run.thread),
            run.goal,
            limits(run.settings, run.allowance.get("extra", {})),
            run.settings.prices,
            run.elapsed,
            run.on_event,
        )
        agent = None
        if "react" in models.roles:
            from agentic_memory_bank.engines.llm.react_agent import ReactAgent

            agent = ReactAgent(models.roles["react"], meter, run.settings)
        return MeteredEngine(self.chat(Asker(models, meter, run.settings), self.offline), meter, agent, notes)

    def _chat_models(self, settings: Settings) -> "ChatModels | None":
        """The chat models of a run, if it has any; what is never asked is never imported."""
        if not self._has_models(settings):
            return None
        from agentic_memory_bank.engines.llm.models import ChatModels

        return ChatModels.of(settings, self.models, self.roles)

    def _has_models(self, settings: Settings) -> bool:
        return self.given is None and (self.models is not None or settings.has_models(self.roles))
