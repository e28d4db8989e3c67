"""Lets the model of an agent judge what is remembered of it, where nobody else is named to."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.language_models import BaseChatModel

from agentic_memory_bank.nodes.react_mem.deps import AgentDeps
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.lru import LruCache

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

INVOCATIONS: Final = 64
"""Of how many invocations it is known which model answered."""
MODELS: Final = 4
"""For how many models what judges is kept."""


class OwnModels:
    """Knows which model answered an invocation, and has it judge.

    Args:
        made_with: Makes what an agent's memory works with: the models that judge, and those that draw memories.
        models: Those that were given.
        is_judged: Whether an engine was given, so that no model is asked.
    """

    def __init__(
        self,
        made_with: Callable[["GivenModels | None", "GivenModels | None"], AgentDeps],
        models: "GivenModels | None",
        *,
        is_judged: bool,
    ) -> None:
        self.default = made_with(models, models)
        """What stands in where an agent has no model, or another one is named."""
        named = isinstance(models, Mapping) and any(role in models for role in REMEMBER_ROLES)
        self._is_given = is_judged or named or isinstance(models, BaseChatModel)
        self._made_with = made_with
        self._asked: LruCache[str, BaseChatModel] = LruCache(INVOCATIONS)
        self._made: LruCache[int, AgentDeps] = LruCache(MODELS)

    def note(self, id: str, model: Any) -> None:
        """Note which model an invocation asks."""
        if not self._is_given and isinstance(model, BaseChatModel):
            self._asked.put(id, model)

    def deps(self, settings: Settings, id: str) -> AgentDeps:
        """What judges an invocation: by rule where its model is not known, or a budget of money lacks its price."""
        model = self._asked.peek(id)
        if model is None or settings.has_models(REMEMBER_ROLES) or not _is_affordable(settings, model):
            return self.default
        # Where a conversation stands is told by an agent's own summaries: nobody is paid to say it once more.
        return self._made.get(_address(model), lambda: self._made_with(model, {"extract": model}))


def _address(model: BaseChatModel) -> int:
    """By what a model is known as long as it is kept, which what is made of it sees to."""
    return id(model)


def _is_affordable(settings: Settings, model: BaseChatModel) -> bool:
    from agentic_memory_bank.engines.llm.models import name_of

    return settings.budget_money is None or name_of(model) in settings.prices
