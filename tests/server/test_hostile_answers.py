"""Whatever a model or its server sends, the run ends as it does without one, and nothing foreign is kept."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.engines.llm import models, retry
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import ChatRequest, Fault, ModelServer, Reply
from agentic_memory_bank.testing.faults import raw_body
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
Script = Callable[[ChatRequest], Reply | Fault]
Ran = tuple[dict[str, Any], list[dict[str, Any]]]
QUESTION = "When was the Vega tower opened?"
DOCUMENTS = [
    "The Vega tower was opened in 1961. Paul Okafor wrote of it in 1970.",
    "The Vega tower was opened in 1962. It is made of steel and stands in Lund.",
    "Ann likes tea.\n\nThe Vega tower has 12 lifts.",
]
FOREIGN = "Doctor Zork paid for it in Atlantis."

STREAMS = {
    "no JSON": b"data: {\n\n",
    "no object": b"data: 5\n\ndata: null\n\ndata: []\n\n",
    "an error": b'data: {"error": {"code": 503, "message": "busy"}}\n\n',
    "an error of another form": b'data: {"error": "busy"}\n\n',
    "no choices": b'data: {"choices": []}\n\ndata: {"choices": null}\n\ndata: {"choices": 3}\n\n',
    "no delta": b'data: {"choices": [{}, 7, {"delta": []}]}\n\n',
    "wrong types": b'data: {"choices": [{"delta": {"content": 7, "tool_calls": {"a": 1}, "refusal": []}}]}\n\n',
    "a broken call": b'data: {"choices": [{"delta": {"tool_calls": [1, {"function": 2}]}, "finish_reason": {}}]}\n\n',
    "half a character": b'data: {"choices": [{"delta": {"content": "\\ud800"}, "finish_reason": "stop"}]}\n\n',
    "nested": b"data: " + b"[" * 20_000 + b"\n\n",
    "no numbers": b'data: {"choices": [{"delta": {"content": "{}"}}], "usage": {"prompt_tokens": NaN}}\n\n',
    "no lines": b"\0" * 200_000,
}


DEEP = '{"a":' * 10_000 + "1" + "}" * 10_000
SAID = {
    "no object": "3",
    "many topics": json.dumps({"topics": [{"paragraphs": [{"first": 1, "last": 1}]}] * 20_000}),
    "nested": DEEP,
    "open brackets": "[" * 100_000,
    "open quotes": '{"a": "' + '\\"' * 100_000,
    "thoughts": "<think>" * 20_000,
    "fences": "```json\n{\n" * 10_000,
    "no number": '{"topics": NaN, "memories": -Infinity}',
    "a huge number": '{"topics": [{"paragraphs": [{"first": ' + "9" * 5_000 + ', "last": 1}]}]}',
    "half a character": '{"topics": ["\\ud800"]}',
}
MESSAGES: dict[str, Any] = {
    "null": None,
    "content of parts": {"content": [{"type": "text", "text": "{}"}, 3, None]},
    "calls of no list": {"content": None, "tool_calls": "x"},
    "an empty call": {"content": None, "tool_calls": [None]},
    "a call of nothing": {"content": None, "tool_calls": [{"id": "c"}]},
}
ARGUMENTS: dict[str, Any] = {
    "list": "[1]",
    "null": "null",
    "none": None,
    "number": 7,
    "nested": DEEP,
    "object": {"a": 1},
}
USAGES: dict[str, Any] = {
    "negative": {"prompt_tokens": -5, "completion_tokens": -9, "total_tokens": -14},
    "words": {"prompt_tokens": "many", "completion_tokens": None},
    "endless": {"prompt_tokens": 10**30, "completion_tokens": 1, "total_tokens": 1},
    "list": [1],
}
COMPLETIONS: dict[str, Any] = {
    "no choices": {},
    "empty choices": {"choices": []},
    "null choices": {"choices": None},
    "choices of no list": {"choices": {"a": 1}},
    "a list": [],
    "nothing": None,
    **{f"said {name}": {"choices": [{"message": {"content": text}}]} for name, text in SAID.items()},
    **{f"message {name}": {"choices": [{"message": message}]} for name, message in MESSAGES.items()},
    **{
        f"arguments {name}": {"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"arguments": given}}]}}]}
        for name, given in ARGUMENTS.items()
    },
    **{f"usage {name}": {"choices": [{"message": {"content": "{}"}}], "usage": told} for name, told in USAGES.items()},
}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], Ran]:
    """Run the memory bank with a model at home: its output, and the memories."""
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)

    def run(script: Script) -> Ran:
        with ModelServer(script) as server:
            monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
            graph = build_memory_bank(embeddings=HashEmbeddings(), checkpointer=InMemorySaver())
            config: Any = {"configurable": {"thread_id": "t"}}
            context: Any = {"model": "local:test", "retries": 1}
            output: Any = graph.invoke({"question": QUESTION, "documents": DOCUMENTS}, config, context=context)
            nodes = graph.get_state(config).values["query_graph"]["nodes"]
            return output, list(nodes.values())

    return run


def is_as_without_a_model(ran: Ran) -> bool:
    output, nodes = ran
    kept = str([output["answer"], output["conflicts"], nodes])
    assert not [word for word in ("Zork", "Atlantis", "\\x00", "\\ud800") if word in kept]
    return output["status"] == "completed" and ("1961" in output["answer"] or "1962" in output["answer"])


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_a_hostile_stream_makes_no_run_worse(ran: Callable[[Script], Ran], stream: bytes) -> None:
    assert is_as_without_a_model(ran(lambda _: raw_body(stream, content_type="text/event-stream")))


@pytest.mark.parametrize("completion", COMPLETIONS.values(), ids=COMPLETIONS)
def test_a_hostile_completion_makes_no_run_worse(ran: Callable[[Script], Ran], completion: Any) -> None:
    output, nodes = ran(lambda _: raw_body(json.dumps(completion).encode()))

    assert is_as_without_a_model((output, nodes))
    assert output["degraded"]
    assert output["usage"]["input_tokens"] >= 0


@pytest.mark.parametrize("seed", range(12))
def test_answers_of_the_right_shape_and_without_sense_make_no_run_worse(
    ran: Callable[[Script], Ran], seed: int
) -> None:
    assert is_as_without_a_model(ran(senseless(seed)))


def senseless(seed: int) -> Script:
    """A model that keeps to every schema and fills it with whatever there is."""
    chance = random.Random(seed)
    words = " ".join(DOCUMENTS).split()

    def script(request: ChatRequest) -> Reply:
        schema = request.body["response_format"]["json_schema"]["schema"]
        return Reply(json.dumps(fill(schema, schema)))

    def fill(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
        match schema:
            case {"enum": [*known]}:
                return chance.choice(known)
            case {"type": "object"}:
                return {name: fill(of, whole) for name, of in schema["properties"].items()}
            case {"type": "array"}:
                return [fill(schema["items"], whole) for _ in range(chance.choice((0, 1, 1, 2, 3, 30)))]
            case {"type": "integer"}:
                return chance.choice((-1, 0, 1, 1, 2, 3, 4, 9_999, -(2**63), 2**70))
            case {"type": "boolean"}:
                return chance.random() < 0.5
            case _:
                place = chance.randrange(len(words))
                copied = " ".join(words[place : place + chance.choice((5, 12, 300))])
                own = ("", "\0\a\u202e\ud800", " " * 50, FOREIGN, "</memory>", "The ", "conflict")
                return chance.choice((*own, copied, copied, *DOCUMENTS, "The Vega tower was not opened in 1961."))

    return script
