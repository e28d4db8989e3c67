"""What the engines that ask chat models have in common: one asker, and an offline engine for roles without a model."""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from pydantic import BaseModel

from agentic_memory_bank.engines.base import EngineT
from agentic_memory_bank.engines.llm.structured_output import Asker, StructuredRequest
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.state.errors import AnswerRejected, EngineError
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.text.tokens import estimate_tokens

_Answer = TypeVar("_Answer", bound=BaseModel)

MISSING_NAMED: Final = 8
"""How many missing items an objection names."""


class ChatEngine(Generic[EngineT]):
    """Judges with chat models.

    Args:
        asker: Sends questions to models and checks their answers.
        offline: Judges for the roles that have no model.
    """

    def __init__(self, asker: Asker, offline: EngineT) -> None:
        self._asker = asker
        self._offline = offline

    @property
    def name(self) -> str:
        """The models, by which runs are recorded."""
        return self._asker.models.name

    @property
    def failures(self) -> Sequence[EngineError]:
        """Why some questions of this stage have no answer."""
        return self._asker.failures

    def _asks(self, role: Role) -> bool:
        """Say whether a role has a model."""
        return role in self._asker.models.roles

    def _ask(
        self,
        role: Role,
        instructions: str,
        prompt: str,
        answer: type[_Answer],
        check: Callable[[_Answer], None] | None = None,
    ) -> _Answer:
        """Ask one question.

        Raises:
            EngineError: It has no answer.
        """
        (said,) = self._asker.ask([StructuredRequest(role, instructions, prompt, answer, check)])
        if said is None:
            raise AnswerRejected(f"The question to the role {role} has no answer.")
        return said

    def _room(self, role: Role, *shown: str) -> int:
        """Count the tokens of text that one prompt of a role may hold beside what else is shown; 1 at least."""
        text = self._asker.models.roles[role].row.text_tokens(self._asker.settings.window_ratio)
        return max(1, text - sum(map(estimate_tokens, shown)))


def names_all(field: str, count: int, number: str = "id", content: str = "summary") -> Callable[[object], None]:
    """A check that an answer has an item that says something for each of so many, by their numbers."""

    def check(said: object) -> None:
        items = [item for item in getattr(said, field) if str(getattr(item, content)).strip()]
        missing = set(range(1, count + 1)) - {getattr(item, number) for item in items}
        if missing:
            named = listed([str(n) for n in sorted(missing)[:MISSING_NAMED]])
            raise AnswerRejected(f"{count} were asked for under {field}; missing or empty: {number} {named}.")

    return check
