"""What the engines that ask chat models have in common: one asker, and an offline engine for roles without a model."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast

from agentic_memory_bank.engines.base import EngineT
from agentic_memory_bank.engines.llm.parsing import Answer
from agentic_memory_bank.engines.llm.structured_output import Asker, StructuredRequest
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.state.errors import AnswerRejected, EngineError, ModelRefused
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.text.tokens import estimate_tokens

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_Chat = TypeVar("_Chat", bound="ChatEngine[Any]")

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

    def note(self, why: str) -> None:
        """Note that an answer of a model was not taken as it came."""
        self._asker.failures.append(AnswerRejected(why))

    def offline_judges(self, role: Role) -> bool:
        """Whether a role has no chat model, so that the offline engine makes its judgements."""
        return not self._asks(role)

    def stand_in(self, judgement: str, error: EngineError | None = None) -> Callable[..., Any]:
        """The offline engine's judgement of a name, in place of one that a model failed to give."""
        if error is not None:
            self._asker.failures.append(error)
        return getattr(self._offline, judgement)

    def _asks(self, role: Role) -> bool:
        """Say whether a role has a model."""
        return role in self._asker.models.roles

    def _ask(
        self,
        role: Role,
        instructions: str,
        prompt: str,
        answer: type[Answer],
        check: Callable[[Answer], None] | None = None,
        from_prose: Callable[[str], Answer | None] | None = None,
        seconds: float = float("inf"),
    ) -> Answer:
        """Ask one question.

        Raises:
            EngineError: It has no answer.
        """
        (said,) = self._asker.ask(
            [StructuredRequest(role, instructions, prompt, answer, check, (), from_prose, seconds)]
        )
        if said is None:
            raise AnswerRejected(f"The question to the role {role} has no answer.")
        return said

    def _room(self, role: Role, *shown: str) -> int:
        """Count the tokens of text that one prompt of a role may hold beside what else is shown; 1 at least."""
        text = self._asker.models.roles[role].row.text_tokens(self._asker.settings.window_ratio)
        return max(1, text - sum(map(estimate_tokens, shown)))


def or_offline(
    role: Role,
) -> Callable[[Callable[Concatenate[_Chat, _Given], _Found]], Callable[Concatenate[_Chat, _Given], _Found]]:
    """Have the offline engine judge where a role has no model, and whatever its model gave no usable answer to.

    A model can so make no run worse than it is without: what could not be had of it is noted, and had offline. Where a
    judgement takes several questions, those are asked again offline that have None for an answer.

    Args:
        role: Whose model the judgement asks.
    """

    def decorate(judge: Callable[Concatenate[_Chat, _Given], _Found]) -> Callable[Concatenate[_Chat, _Given], _Found]:
        @wraps(judge)
        def judged(self: _Chat, *given: _Given.args, **named: _Given.kwargs) -> _Found:
            if self.offline_judges(role):
                return self.stand_in(judge.__name__)(*given, **named)
            try:
                found = judge(self, *given, **named)
            except ModelRefused:
                raise
            except EngineError as error:
                return self.stand_in(judge.__name__, error)(*given, **named)
            return cast(_Found, _completed(found, self.stand_in(judge.__name__), *given, **named))

        return judged

    return decorate


def _completed(found: Any, offline: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """A list of answers, with those of the offline engine to the questions that have none."""
    missing = [place for place, one in enumerate(found) if one is None] if isinstance(found, list) else []
    if missing:
        questions, *rest = given
        answers = offline([questions[place] for place in missing], *rest, **named)
        for place, answer in zip(missing, answers, strict=True):
            found[place] = answer
    return found


def names_all(field: str, count: int, number: str = "id", content: str = "summary") -> Callable[[object], None]:
    """A check that an answer has an item that says something for each of so many, by their numbers."""

    def check(said: object) -> None:
        items = [item for item in getattr(said, field) if str(getattr(item, content)).strip()]
        missing = set(range(1, count + 1)) - {getattr(item, number) for item in items}
        if missing:
            named = listed([str(n) for n in sorted(missing)[:MISSING_NAMED]])
            raise AnswerRejected(f"{count} were asked for under {field}; missing or empty: {number} {named}.")

    return check
