"""What `run(tools=...)` takes: LangChain's tools and functions, where there is an agent to call them."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import tool

from agentic_memory_bank import runs
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

QUESTION = "When was the array opened?"
MODEL = FakeListChatModel(responses=["2031"])


@tool
def almanac(name: str) -> str:
    """Look a name up."""
    return f"The {name} was opened in 2031."


def plain(name: str) -> str:
    """Look a name up."""
    return f"The {name} was opened in 2031."


plain.__name__ = "almanac"


def ambiguous(name: str) -> str:
    return name


@tool
def search(query: str) -> str:
    """Search."""
    return query


@pytest.mark.parametrize(
    ("given", "more", "why"),
    [
        ([almanac], {}, "this run has none"),
        ([almanac], {"engine": ScriptedEngine()}, "this run has none"),
        ([almanac], {"models": {"react": MODEL}}, "its roles `react` and `plan`"),
        ([almanac], {"models": MODEL, "execute": "outside"}, "no `execute`"),
        ([almanac, plain], {"models": MODEL}, "More than one tool is called almanac"),
        ([search], {"models": MODEL}, "called search"),
        ([7], {"models": MODEL}, "LangChain tools or functions"),
        (almanac, {"models": MODEL}, "a list of"),
        ([ambiguous], {"models": MODEL}, "cannot become a tool"),
    ],
)
def test_what_nobody_could_call_is_refused_before_anything_is_written(
    home: Path, given: Any, more: Any, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        runs.run(QUESTION, tools=given, embeddings=HashEmbeddings(), home=home, **more)

    assert not home.exists() or not list(home.iterdir())
