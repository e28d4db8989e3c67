"""Pictures before a server that speaks OpenAI's protocol: what is sent, what is paid, and servers that see nothing."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.engines.llm import retry
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.prompts import recognize
from agentic_memory_bank.testing import (
    ChatRequest,
    Fault,
    ModelServer,
    Reply,
    ScriptedJudge,
    TickingClock,
    ToolCall,
    http_error,
)
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

PNG, JPEG = b"\x89PNG\r\n\x1a\n" + b"pixels", b"\xff\xd8\xff\xe0" + b"pixels"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
SEEN = {"written": "VISITORS", "shown": "A bar chart.", "figures": ["The array had 433 visitors."]}
Script = Callable[[ChatRequest], Reply | Fault]


def given(name: str, data: bytes) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode()}


def seeing(look: Callable[[ChatRequest], Reply | Fault], **judgements: Any) -> Script:
    """A judge with eyes: `look` answers the questions with pictures."""
    judge = ScriptedJudge(**judgements)
    return lambda request: look(request) if request.images else judge(request)


class Asked:
    """A memory bank that asks a server, on one thread."""

    def __init__(self, server: ModelServer, **options: Any) -> None:
        self.server = server
        self.graph = build_memory_bank(
            embeddings=HashEmbeddings(), clock=TickingClock(), checkpointer=InMemorySaver(), **options
        )

    def ask(self, *attachments: dict[str, str], **settings: Any) -> dict[str, Any]:
        question = {"question": "How many visitors did the array have?", "attachments": list(attachments)}
        context: Any = {"model": "local:test", "gate_english": -1, **settings}
        return self.graph.invoke(question, CONFIG, context=context)  # type: ignore[arg-type]

    @property
    def entries(self) -> list[dict[str, Any]]:
        return list(self.graph.get_state(CONFIG).values["interaction_tree"].get("entries", {}).values())

    @property
    def looks(self) -> list[ChatRequest]:
        return [request for request in self.server.chats if request.images]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Asked]]:
    servers: list[ModelServer] = []
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)

    def start(script: Script, **options: Any) -> Asked:
        servers.append(ModelServer(script))
        monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", servers[-1].url)
        return Asked(servers[-1], **options)

    yield start
    for server in servers:
        server.close()


def test_each_picture_is_sent_once_as_a_data_url_with_its_fenced_name(asked: Callable[..., Asked]) -> None:
    bank = asked(seeing(lambda request: Reply(data=SEEN)))

    result = bank.ask(given("../<chart>.png", PNG), given("photo.jpg", JPEG))

    urls = sorted(request.images[0] for request in bank.looks)
    assert urls == sorted(
        [
            f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
            f"data:image/jpeg;base64,{base64.b64encode(JPEG).decode()}",
        ]
    )
    assert {request.messages[0]["content"] for request in bank.looks} == {recognize.INSTRUCTIONS}
    assert any("<file>\n&lt;chart&gt;.png\n</file>" in request.text for request in bank.looks)
    assert [entry["source"] for entry in bank.entries] == ["<chart>.png", "photo.jpg"]
    assert result["status"] == "completed"
    assert result["usage"]["roles"]["react"]["calls"] >= 2


@pytest.mark.parametrize(
    "refusal",
    [
        http_error(400, "This model does not support image input."),
        http_error(422, "unknown variant `image_url`, expected `text`"),
        http_error(404, "No endpoints found that support image input"),
        http_error(500, "image input is not supported - hint: provide the mmproj"),
    ],
    ids=lambda fault: str(fault)[:40],
)
def test_a_server_that_takes_no_pictures_fails_that_question_alone_and_is_not_asked_again(
    asked: Callable[..., Asked], refusal: Fault
) -> None:
    bank = asked(seeing(lambda request: refusal))

    result = bank.ask(given("chart.png", PNG), given("notes.md", b"The array had 433 visitors."))

    learned = result["insight_doc"]["completed"][0]["learned"]
    assert "the model takes no pictures" in learned
    assert "MEMORY_BANK_REACT_MODEL" in learned
    assert "support" not in learned  # what a server writes goes nowhere
    assert len(bank.looks) == 1
    assert [entry["source"] for entry in bank.entries] == ["notes.md"]
    assert "433" in result["answer"]
    assert result["status"] == "completed_with_failures"


def test_one_picture_that_is_refused_is_no_matter_of_the_others(asked: Callable[..., Asked]) -> None:
    def look(request: ChatRequest) -> Reply | Fault:
        return http_error(400, "Invalid image.") if "jpeg" in request.images[0] else Reply(data=SEEN)

    bank = asked(seeing(look))

    result = bank.ask(given("photo.jpg", JPEG), given("chart.png", PNG))

    assert [entry["source"] for entry in bank.entries] == ["chart.png"]
    assert result["insight_doc"]["completed"][0]["learned"].startswith("Read: chart.png. photo.jpg could not be")
    assert [note[:30] for note in result["degraded"]] == ["recognize: photo.jpg could not"]


def test_a_wrong_key_is_said_of_the_key_and_not_of_pictures(asked: Callable[..., Asked]) -> None:
    bank = asked(seeing(lambda request: http_error(401, "Incorrect API key.")))

    (pause,) = bank.ask(given("chart.png", PNG))["__interrupt__"]

    assert "Check the key" in pause.value["message"]
    assert "pictures" not in pause.value["message"]
    assert len(bank.looks) == 1


def test_a_short_outage_is_waited_out_and_an_answer_that_is_unusable_is_asked_for_again(
    asked: Callable[..., Asked],
) -> None:
    answers = iter([http_error(503), Reply("I see a chart."), Reply(data=SEEN)])
    bank = asked(seeing(lambda request: next(answers)))

    result = bank.ask(given("chart.png", PNG), retries=2)

    assert result["status"] == "completed"
    assert [len(request.images) for request in bank.looks] == [1, 1, 1]


def test_a_picture_that_was_paid_for_is_not_paid_for_again(asked: Callable[..., Asked], tmp_path: Any) -> None:
    kept = {"answers": tmp_path / "answers.sqlite"}
    first = asked(seeing(lambda request: Reply(data=SEEN)), **kept)
    first.ask(given("chart.png", PNG))
    again, other = Asked(first.server, **kept), Asked(first.server, **kept)

    again.ask(given("chart.png", PNG))
    looks = len(first.looks)
    other.ask(given("chart.png", PNG + b"!"))

    assert looks == 1
    assert [entry["text"] for entry in again.entries] == [entry["text"] for entry in first.entries]
    assert len(first.looks) == 2


def test_a_budget_pauses_the_recognition_and_what_was_seen_is_kept(asked: Callable[..., Asked]) -> None:
    bank = asked(seeing(lambda request: Reply(data=SEEN)))
    context: Any = {"model": "local:test", "budget_calls": 1, "max_concurrency": 1}
    question: Any = {"question": "Why?", "attachments": [given("a.png", PNG), given("b.jpg", JPEG)]}

    paused = bank.graph.invoke(question, CONFIG, context=context)
    ended = bank.graph.invoke(Command(resume={"budget_calls": 50}), CONFIG, context=context)

    assert paused["__interrupt__"][0].value["reason"] == "calls"
    assert ended["status"] == "completed"
    assert len(bank.looks) == 2


def planned(prompt: str) -> dict[str, Any]:
    """One step for the agent, then the answer."""
    if "- answer, success" in prompt:
        return {"is_done": True, "kind": "", "description": ""}
    return {"is_done": False, "kind": "answer" if "- solve, " in prompt else "solve", "description": "Draw the array."}


def acting(turns: Callable[[ChatRequest, list[dict[str, Any]]], Reply]) -> Script:
    """A judge that is also an agent, by the results of tools that it has seen; every picture shows the same."""
    judge = ScriptedJudge(plan=planned)

    def script(request: ChatRequest) -> Reply:
        if request.images:
            return Reply(data=SEEN)
        try:
            judge.kind_of(request)
        except LookupError:
            return turns(request, [message for message in request.messages if message["role"] == "tool"])
        return judge(request)

    return script


def test_an_agent_looks_at_one_attachment_by_deep_retrieval(asked: Callable[..., Asked]) -> None:
    known = "a" + hashlib.sha256(PNG).hexdigest()[:12]
    looked: list[str] = []

    def turns(request: ChatRequest, results: list[dict[str, Any]]) -> Reply:
        looked[:] = [str(result["content"]) for result in results]
        if len(looked) == 2:
            return Reply("It is a bar chart.")
        node = str(request.messages[1]["content"]).split("<memory>\n[")[1].split("]")[0]
        asked_for = {"node_id": node, "attachment_id": known if looked else "a0"}
        return Reply(tool_calls=[ToolCall("deep_retrieval", asked_for)])

    bank = asked(acting(turns))

    bank.ask(given("chart.png", PNG))

    assert f"has no attachment 'a0'. Its attachments: {known}." in looked[0]
    (attachment,) = json.loads(looked[1])[0]["attachments"]
    assert base64.b64decode(attachment["content"]) == PNG


def test_a_file_that_an_agents_tool_returns_survives_as_an_attachment(asked: Callable[..., Asked]) -> None:
    @tool(response_format="content_and_artifact")
    def draw(what: str) -> tuple[str, dict[str, Any]]:
        """Draw something."""
        return f"I drew {what}.", {"name": "drawing.png", "data": PNG, "type": "image/png"}

    def turns(request: ChatRequest, results: list[dict[str, Any]]) -> Reply:
        return Reply("Done.") if results else Reply(tool_calls=[ToolCall("draw", {"what": "the array"})])

    bank = asked(acting(turns), tools=[draw])

    bank.ask()

    result = next(entry for entry in bank.entries if entry["kind"] == "tool_result")
    assert result["text"] == "I drew the array."
    assert [(a["name"], a["kind"]) for a in result["attachments"]] == [("drawing.png", "image")]
