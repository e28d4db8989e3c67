"""A chat model behind a server on the loopback interface, whose script each test sets."""

import html
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from agentic_memory_bank.engines.llm import models
from agentic_memory_bank.testing import ChatRequest, ModelServer, ScriptedJudge
from agentic_memory_bank.testing.faults import Outcome

MODEL = {"model": "local:test", "gate_english": -1}
"""Every pair of memories is judged: what a hashed vector says of two texts is no matter of these tests."""


class Served:
    """A model server, and what it was asked. One serves all tests, for each address costs a client that stays open."""

    def __init__(self) -> None:
        self.server = ModelServer(self._answer)
        self.begin()

    def begin(self) -> None:
        """Forget all, and judge nothing."""
        self.server.reset()
        self.plays()

    def plays(self, script: Any = None, **judgements: Any) -> None:
        """Answer by a script, or by a judge with some judgements of its own."""
        self._script = script or ScriptedJudge(**judgements)

    def kinds(self) -> list[str]:
        """The judgements that were asked for, in their order."""
        return [ScriptedJudge.kind_of(request) for request in self.server.chats]

    def prompts(self, kind: str) -> list[str]:
        """The prompts of one judgement."""
        return [str(r.messages[1]["content"]) for r in self.server.chats if ScriptedJudge.kind_of(r) == kind]

    def _answer(self, request: ChatRequest) -> Outcome:
        return self._script(request)


@pytest.fixture(scope="session")
def _served() -> Iterator[Served]:
    served = Served()
    yield served
    served.server.close()


@pytest.fixture
def model(_served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The model that `local:test` names; it judges nothing until a test says what it plays."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", _served.server.url)
    monkeypatch.setattr(models, "_KNOWN_MODES", {})  # what one test's model ignored, another's may keep to
    _served.begin()
    return _served


class Shown:
    """What a question of analysis shows: memories under numbers, and the pairs to judge."""

    def __init__(self, prompt: str) -> None:
        self.memories: Mapping[int, str] = {
            int(number): html.unescape(said)
            for number, said in re.findall(r'<memory id="(\d+)">\n(.*?)\n</memory>', prompt, re.DOTALL)
        }
        lines = "".join(re.findall(r"<pairs>\n(.*?)\n</pairs>", prompt, re.DOTALL)).splitlines()
        told = [(int(new), others) for new, _, others in (line.partition(": ") for line in lines)]
        self.pairs = [(new, int(other)) for new, others in told for other in others.split(", ")]

    def both(self, *words: str) -> list[tuple[int, int]]:
        """The pairs of which each memory holds one of the words."""
        return [(a, b) for a, b in self.pairs if all(any(w in self.memories[end] for w in words) for end in (a, b))]


@pytest.fixture
def shown() -> type[Shown]:
    """Reads what a prompt shows."""
    return Shown
