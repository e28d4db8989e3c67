"""The examples that speak with a running server, each with its official client."""

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any
from uuid import uuid5

import pytest

from .conftest import NAMESPACE, ROOT, environment_of

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]


@pytest.fixture
def printed(server: Any, tmp_path: Any) -> Any:
    """What an example prints, given the address of the server."""

    def run(example: str) -> str:
        command = [sys.executable, str(ROOT / "examples" / example), server.url]
        done = subprocess.run(
            command, env=environment_of(tmp_path), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run


def test_a_thread_is_asked_and_forked_with_the_sdk(printed: Any) -> None:
    first, second = printed("with_server.py").splitlines()

    assert "8.2 metres" in first
    assert "fish soup" in second


@pytest.mark.skipif(find_spec("a2a") is None, reason="pip install a2a-sdk")
def test_a_question_is_answered_over_a2a_by_its_official_client(printed: Any) -> None:
    assert printed("with_a2a.py").startswith("The mirror is 8.2 metres wide.")


def test_the_card_that_is_shown_without_being_named_is_that_of_the_bank() -> None:
    shown = json.loads((ROOT / "langgraph.json").read_text())["env"]["DEFAULT_A2A_ASSISTANT_ID"]

    assert shown == str(uuid5(NAMESPACE, "memory_bank"))
