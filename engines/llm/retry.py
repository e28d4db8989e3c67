"""Retries of a request to a model: how many, and after how long. No other layer retries."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from agentic_memory_bank.engines.llm.faults import ModelFault
from agentic_memory_bank.engines.llm.models import RoleModel
from agentic_memory_bank.engines.providers import PROVIDERS
from agentic_memory_bank.state.errors import EngineError, ModelRefused, ModelUnavailable
from agentic_memory_bank.state.settings import Settings

_Error = TypeVar("_Error", bound=EngineError)

FIRST_WAIT: Final = 0.5
"""Seconds before a request is sent again, where the server names none."""


class RetryBudget:
    """The retries of one request: `Settings.retries`, whatever went wrong with the first try.

    Args:
        model: The model that is asked.
        settings: Say how many retries there are, and the longest wait.
        sleep: Waits between two tries.
        until: When nobody waits for an answer any more, by the monotonic clock.
    """

    def __init__(
        self, model: RoleModel, settings: Settings, sleep: Callable[[float], None], until: float = float("inf")
    ) -> None:
        self._model, self._settings, self._sleep, self._until = model, settings, sleep, until
        self._failures = 0

    @property
    def attempt(self) -> int:
        """Which try this is, from 1."""
        return self._failures + 1

    @property
    def seconds_left(self) -> float:
        """How long somebody waits for an answer yet."""
        return max(0.0, self._until - time.monotonic())

    def fail(self, error: EngineError) -> None:
        """Count a failure.

        Raises:
            EngineError: This error, if it was one too many.
        """
        self._failures += 1
        if self._failures > self._settings.retries or not self.seconds_left:
            raise final(error)

    def consider(self, fault: ModelFault) -> None:
        """Wait, if the request may be sent again.

        Raises:
            ModelRefused: Nothing will be answered until a person has mended something.
            ModelUnavailable: This request will not be answered.
        """
        text = f"{self.named} did not answer: {self._explained(fault)}"
        if fault.is_general or fault.refuses:
            raise final(ModelRefused(text))
        if fault.is_final:
            raise final(ModelUnavailable(text))
        self.fail(ModelUnavailable(text))
        wait = FIRST_WAIT * 2 ** (self._failures - 1) if fault.wait is None else fault.wait
        if wait > min(self._settings.longest_wait, self.seconds_left):
            raise final(ModelUnavailable(f"{text} It asks to be left alone for {wait:.0f} s."))
        self._sleep(wait)

    @property
    def named(self) -> str:
        """The model and the role it was asked in, for a message."""
        return f"{self._model.name} ({self._model.row.role})"

    def _explained(self, fault: ModelFault) -> str:
        provider = PROVIDERS.get(self._model.name.partition(":")[0])
        role = self._model.row.role.upper()
        named = {"key": "the chat model's key", "address": "its base URL", "model": "its name"}
        if provider:
            model = f"MEMORY_BANK_MODEL or MEMORY_BANK_{role}_MODEL"
            named = {"key": provider.key, "address": provider.address, "model": model}
        return fault.reason.format(role=role, **named)


def final(error: _Error) -> _Error:
    """An error of which asking again cannot make less."""
    error.is_final = True
    return error
