"""What the tests of the command line share: a runner in this process, and one that starts a process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from agentic_memory_bank.cli import options
from agentic_memory_bank.cli.app import app

if TYPE_CHECKING:
    from agentic_memory_bank.testing import ModelServer

DRIVER = Path(__file__).with_name("driver.py")

Command = Callable[..., Result]


class Parts:
    """What runs are given in a test; `engine(...)` scripts the engine anew."""

    def __init__(self) -> None:
        from agentic_memory_bank.testing import ScriptedEngine
        from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

        self.given: dict[str, Any] = {"engine": ScriptedEngine(), "embeddings": HashEmbeddings()}

    def engine(self, **judgements: Callable[..., Any]) -> None:
        """Judge like this from now on."""
        from agentic_memory_bank.testing import ScriptedEngine

        self.given["engine"] = ScriptedEngine(**judgements)

    def models(self) -> None:
        """Judge with the models of the settings from now on."""
        self.given.pop("engine", None)

    def __call__(self, settings: object) -> dict[str, Any]:
        return self.given


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    """Parts that load no model, in the place of the real ones."""
    found = Parts()
    monkeypatch.setattr(options, "parts_from", found)
    return found


@pytest.fixture
def memory_bank(parts: Parts) -> Command:
    """Call the command line in this process: `memory_bank("ask", "Why?")`."""
    runner = CliRunner()

    def call(*words: str | Path, stdin: bytes | None = None) -> Result:
        return runner.invoke(app, [str(word) for word in words], input=stdin)

    return call


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A file with one fact."""
    file = tmp_path / "chip.txt"
    file.write_text("The chip has 433 qubits.\n", encoding="utf-8")
    return file


Serve = Callable[..., "ModelServer"]


@pytest.fixture
def serve(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start a model server, and have `local:` models asked there: `serve(script)`."""
    from agentic_memory_bank.engines import openai_client
    from agentic_memory_bank.engines.llm import models
    from agentic_memory_bank.testing import ModelServer, ScriptedJudge

    make, made = openai_client.openai_client, []

    def remembered(*options: Any) -> Any:
        made.append(make(*options))
        return made[-1]

    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    monkeypatch.setattr(openai_client, "openai_client", remembered)
    parts.models()
    with ExitStack() as running:

        def start_server(script: Any = None) -> "ModelServer":
            server = running.enter_context(ModelServer(script or ScriptedJudge()))
            monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
            return server

        yield start_server
    make.cache_clear()
    for client in made:
        client.root_client.close()


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> "Iterator[subprocess.Popen[Any]]":
    """A process that is gone, and its pipes closed, whatever becomes of the test."""
    with subprocess.Popen([str(word) for word in command], **options) as process:
        try:
            yield process
        finally:
            process.kill()


def start(
    *words: str | Path, engine: str = "quick", **variables: str
) -> "AbstractContextManager[subprocess.Popen[str]]":
    """Start the command line in a process of its own, with an engine that the driver knows by name."""
    environment = {**os.environ, **variables, "TEST_ENGINE_OF_MEMORY_BANK": engine}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return started([sys.executable, DRIVER, *words], **pipes, text=True, encoding="utf-8", env=environment)


def json_lines(text: str) -> list[dict[str, Any]]:
    """Each line as JSON."""
    return [json.loads(line) for line in text.splitlines()]
