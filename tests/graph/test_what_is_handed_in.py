"""What is handed to a builder, to `Memories` or to a graph, and cannot be used, is refused there, in a sentence."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from agentic_memory_bank import (
    FourTierMemory,
    Memories,
    MemoryBankMiddleware,
    build_conversation,
    build_memorizer,
    build_memory_bank,
    build_react_mem,
    build_recall,
    build_remember,
    build_researcher,
    conversation,
    memorizer,
    memory_bank,
    react_mem,
    recall,
    remember,
    researcher,
)
from agentic_memory_bank.state.errors import InputError, SettingsError

BUILDERS: list[Callable[..., Any]] = [
    *(build_memory_bank, build_memorizer, build_researcher, build_recall, build_remember),
    *(build_conversation, build_react_mem, Memories, FourTierMemory),
]
GRAPHS = [memory_bank, memorizer, researcher, recall, remember, conversation, react_mem]


class Half:
    """An engine that has a name and judges nothing."""

    name = "half"


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"engine": "extractive"}, "`engine` cannot be of type str"),
        ({"engine": Half}, "`engine` cannot be the class Half itself"),
        ({"engine": Half()}, "Half lacks "),
        ({"embeddings": "openai:text-embedding-3-small"}, "`embeddings` cannot be of type str"),
        ({"models": "gpt-4o-mini"}, "as `models`"),
        ({"store": "memories.sqlite"}, "`store` cannot be of type str"),
        ({"clock": "2026-01-01"}, "`clock` cannot be of type str"),
    ],
    ids=lambda given: given if isinstance(given, str) else next(iter(given)),
)
def test_a_part_of_another_type_is_refused_where_it_is_given(
    build: Callable[..., Any], given: dict[str, Any], said: str
) -> None:
    with pytest.raises((InputError, SettingsError), match=said):
        build(**given)


def test_a_path_is_no_store_and_the_message_names_one() -> None:
    with pytest.raises(InputError, match="SqliteRecordStore"):
        Memories("x.db")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("given", [{"tools": "search"}, {"tools": [print]}, {"execute": 5}])
def test_tools_and_executors_of_a_bank_are_checked_when_it_is_built(given: dict[str, Any]) -> None:
    with pytest.raises((InputError, SettingsError), match="Give a list of LangChain tools|Pass a function"):
        build_memory_bank(**given)


def test_the_middleware_refuses_what_the_graphs_refuse() -> None:
    with pytest.raises(InputError, match="`embeddings` cannot be of type str"):
        MemoryBankMiddleware(embeddings="x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.get_name())
def test_an_input_that_names_nothing_the_graph_takes_is_told_what_it_takes(graph: Any) -> None:
    with pytest.raises(InputError, match="names 'query', and nothing that the graph knows") as refused:
        graph.invoke({"query": "How wide is the mirror?"}, context={"user": "ana"})

    assert "messages" in str(refused.value)
    assert f"`{graph.get_name()}` takes" in str(refused.value)


async def test_so_it_is_in_asynchronous_code() -> None:
    with pytest.raises(InputError, match="takes question"):
        await memory_bank.ainvoke({"query": "How wide is the mirror?"})  # pyright: ignore[reportArgumentType]


def test_whoever_traces_a_run_is_told_its_graph_and_the_version() -> None:
    seen: list[dict[str, Any]] = []

    class Listener(BaseCallbackHandler):
        def on_chain_start(self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any) -> None:
            seen.append(metadata or {})

    with pytest.raises(InputError, match="question is empty"):
        memory_bank.invoke({"question": " "}, {"callbacks": [Listener()], "metadata": {"team": "pond"}})

    assert {(one["memory_bank_graph"], one["memory_bank_version"], one["team"]) for one in seen} == {
        ("memory_bank", version("agentic-memory-bank"), "pond")
    }
