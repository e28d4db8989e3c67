"""Runs, stages, operations on memories and calls of models are spans of OpenTelemetry, without anybody's words."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories, build_memory_bank
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools import spans
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

sdk = pytest.importorskip("opentelemetry.sdk.trace")
NAMES = {"gen_ai", "memory_bank", "error"}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The spans that end while a test runs, by OpenTelemetry's own SDK."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_api", lambda: (trace, provider.get_tracer(spans.TRACER)))
    yield exporter
    provider.shutdown()


def ended(told: Any) -> tuple[Any, ...]:
    return told.get_finished_spans()


def test_a_run_is_a_span_and_its_stages_are_within(told: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings())
    bank.invoke({"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 metres wide."]})

    (run,) = [one for one in ended(told) if one.name == "invoke_workflow memory_bank"]
    stages = [one for one in ended(told) if one.attributes.get("memory_bank.graph") == "memory_bank"]
    assert run.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert [one.name for one in stages][:3] == ["adapter_in", "classify", "structure"]
    assert {one.parent.span_id for one in stages} == {run.context.span_id}


async def test_so_it_is_in_asynchronous_code(told: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings())
    await bank.ainvoke({"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 metres wide."]})

    (run,) = [one for one in ended(told) if one.name == "invoke_workflow memory_bank"]
    stages = [one for one in ended(told) if "memory_bank.stage" in one.attributes]
    assert {one.parent.span_id for one in stages} == {run.context.span_id}


def test_operations_on_memories_have_the_names_of_the_conventions_and_nobodys_words(told: Any) -> None:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64)) as memories:
        kept = memories.store("My heron is called Igor.", user="ana-lovelace", project="ponds")
        memories.search("heron", user="ana-lovelace", project="ponds", threshold=None)
        memories.update(kept["id"], "My heron is called Olga.", user="ana-lovelace")
        memories.delete([kept["id"]], user="ana-lovelace")
        memories.remember([("user", "I collect stamps from Igor's pond.")], user="ana-lovelace", end=True)
        memories.recall("What do I collect?", user="ana-lovelace")

    operations = [one.attributes.get("gen_ai.operation.name") for one in ended(told)]
    assert [o for o in operations if o][:4] == ["upsert_memory", "search_memory", "update_memory", "delete_memory"]
    found = next(one for one in ended(told) if one.name == "search_memory")
    assert found.attributes["memory_bank.memories"] == 1
    everything = str([(one.name, dict(one.attributes), one.status.description, one.events) for one in ended(told)])
    assert not any(word in everything for word in ("heron", "Igor", "Olga", "stamps", "lovelace", "ponds", kept["id"]))
    assert {name.partition(".")[0] for one in ended(told) for name in one.attributes} <= NAMES


def test_of_an_error_the_kind_is_told_and_not_its_words(told: Any) -> None:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64)) as memories, pytest.raises(InputError):
        memories.store(" ", user="ana")

    (failed,) = ended(told)
    assert failed.attributes["error.type"] == "InputError"
    assert (failed.status.status_code.name, failed.status.description, failed.events) == ("ERROR", None, ())


def test_a_call_of_a_model_is_a_span_with_its_tokens(told: Any) -> None:
    from agentic_memory_bank.engines.llm.answers import AnswerStore, Call
    from agentic_memory_bank.engines.llm.meter import Meter

    meter = Meter(AnswerStore(), "goal")
    with meter.calling("openai:gpt-4o-mini", 10, 10):
        meter.note(Call("goal", "plan", "openai:gpt-4o-mini", "json_schema", 12, 3))
    with meter.calling("scripted", 10, 10):
        meter.note(Call("goal", "plan", "scripted", "", 0, 0))

    first, second = ended(told)
    assert (first.name, first.kind.name) == ("chat gpt-4o-mini", "CLIENT")
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.provider.name": "openai",
        "memory_bank.role": "plan",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
    }
    assert (second.name, second.attributes["error.type"]) == ("chat scripted", "_OTHER")


def test_without_the_api_everything_works_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    spans._api.cache_clear()
    try:
        bank = build_memory_bank(embeddings=HashEmbeddings())
        asked: Any = {"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 metres wide."]}
        assert "8.2" in bank.invoke(asked)["answer"]
        assert spans._api() is None
    finally:
        spans._api.cache_clear()
