"""One way to the embedder: what the settings name is what every graph, command and route embeds with."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import OpenAIEmbeddings

from agentic_memory_bank import (
    FourTierMemory,
    Memories,
    MemoryBankMiddleware,
    Settings,
    build_conversation,
    build_memorizer,
    build_memory_bank,
    build_react_mem,
    build_recall,
    build_remember,
    build_researcher,
)
from agentic_memory_bank.runs.bank_runs import run
from agentic_memory_bank.state.errors import EmbeddingError, MemoryBankError, SettingsError
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings, default_embeddings
from agentic_memory_bank.tools.embeddings.weights import MODEL

SAID: Any = {"messages": [HumanMessage("Where do I live?")], "conversation_id": "c"}
ASKS: dict[str, tuple[Any, Any]] = {
    "memory_bank": (build_memory_bank, {"question": "What is red?", "documents": ["The kite is red."]}),
    "researcher": (build_researcher, {"request": "What is red?", "memory": "kites"}),
    "recall": (build_recall, SAID),
    "remember": (build_remember, {**SAID, "end": True}),
    "conversation": (build_conversation, SAID),
    "react_mem": (build_react_mem, SAID),
}
"""Every graph that embeds, and what it is handed."""
USERS = {"recall", "remember", "conversation", "react_mem"}


def invoked(graph: str, **options: Any) -> Any:
    build, given = ASKS[graph]
    settings = options.pop("settings", {})
    return build(**options).invoke(given, context={**settings, **({"user": "ana"} if graph in USERS else {})})


@pytest.mark.parametrize("graph", ASKS)
def test_a_graph_refuses_a_name_that_no_embeddings_have(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="names no embeddings; write local:FOLDER"):
        invoked(graph, settings={"embeddings": "minilm"})
    monkeypatch.setenv("MEMORY_BANK_EMBEDDINGS", "nobody:knows")
    with pytest.raises(SettingsError, match="names no embeddings; write local:FOLDER"):
        invoked(graph)


@pytest.mark.parametrize("graph", ASKS)
def test_a_graph_says_which_key_its_embeddings_need_before_it_does_anything(
    graph: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("MEMORY_BANK_EMBEDDINGS", "openai:text-embedding-3-small")

    with pytest.raises(SettingsError, match=r"'openai:text-embedding-3-small' cannot be used.*OPENAI_API_KEY"):
        invoked(graph)

    assert not home.exists() or not [*home.glob("memor*")]


@pytest.mark.parametrize("graph", ASKS)
def test_an_invocation_cannot_have_other_embeddings_than_its_graph(graph: str) -> None:
    with pytest.raises(SettingsError, match=f"here are '{MODEL}', not 'local:/elsewhere'.*build a graph"):
        invoked(graph, settings={"embeddings": "local:/elsewhere"})


@pytest.mark.parametrize("graph", ["memory_bank", "remember"])
def test_embeddings_that_are_given_in_code_are_those_whatever_the_settings_name(graph: str) -> None:
    found = invoked(graph, settings={"embeddings": "local:/elsewhere"}, embeddings=HashEmbeddings())

    assert found.get("status") == "completed" or found["receipt"]["outcome"] == "remembered"


def test_a_memorizer_embeds_nothing_and_takes_any_settings() -> None:
    given: Any = {"texts": ["The kite is red."], "memory": "kites"}

    found: Any = build_memorizer().invoke(given, context=Settings(embeddings="local:/elsewhere"))

    assert found["status"] == "completed"


def test_runs_memories_and_middlewares_use_what_their_settings_name(tmp_path: Path) -> None:
    settings = Settings(embeddings=f"local:{tmp_path / 'missing'}")

    with pytest.raises(EmbeddingError, match="no folder"):
        run("What is red?", documents=["The kite is red."], settings=settings)
    with pytest.raises(EmbeddingError, match="no folder"):
        Memories(settings=settings)
    with pytest.raises(EmbeddingError, match="no folder"):
        MemoryBankMiddleware(settings=settings)
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        Memories(settings={"embeddings": "openai:text-embedding-3-small"})
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        MemoryBankMiddleware(settings=Settings(embeddings="openai:text-embedding-3-small"))
    assert FourTierMemory().deps.stores.encoder.model.endswith(MODEL)


def test_one_environment_is_one_model_for_graphs_and_memories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORY_BANK_EMBEDDINGS", f"local:{tmp_path}")
    monkeypatch.setenv("MEMORY_BANK_EMBEDDING_THREADS", "1")

    named = default_embeddings()

    assert isinstance(named, LocalEmbeddings)
    assert Encoder().model == Encoder(named).model == f"LocalEmbeddings:{tmp_path}"
    assert default_embeddings(Settings()) is named


@pytest.mark.parametrize("variable", ["MEMORY_BANK_EMBEDDING_PATH", "memory_bank_embedding_path"])
def test_the_earlier_name_of_the_setting_is_still_read(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))

    assert Settings().embeddings == f"local:{tmp_path}"
    assert Settings(**{"embedding_path": Path("/mine")}).embeddings == "local:/mine"
    monkeypatch.setenv("MEMORY_BANK_EMBEDDINGS", "huggingface:someone/model")
    assert Settings().embeddings == "huggingface:someone/model"
    assert Settings(embeddings="local:/mine").embeddings == "local:/mine"


def test_a_name_is_any_that_langchain_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    made = default_embeddings(Settings(embeddings="OpenAI: text-embedding-3-small"))

    assert isinstance(made, OpenAIEmbeddings)
    assert made.check_embedding_ctx_length
    assert Encoder(made).model == "OpenAIEmbeddings:text-embedding-3-small"
    with pytest.raises(SettingsError, match="pip install langchain-cohere"):
        default_embeddings(Settings(embeddings="cohere:embed-english-v3.0"))


def test_a_model_of_the_hub_that_cannot_be_fetched_says_what_to_do() -> None:
    missing = default_embeddings(Settings(embeddings="huggingface:someone/no-such-model"))

    with pytest.raises(MemoryBankError, match=r"someone/no-such-model is neither on this machine.*local:FOLDER"):
        Encoder(missing).vector("x")
    default = default_embeddings(Settings(embeddings=f"huggingface:{MODEL}"))
    assert default is default_embeddings(Settings())
