"""Pictures that tools return: recognised by a planned step like those handed in, each content once, never in a loop."""

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.engines.base import DisputeVerdict, Pairing, Picture, PlannerInput, Relation, Step
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.nodes.executors import Assignment
from agentic_memory_bank.state.errors import EngineError, ModelUnavailable
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.documents.attached_files import id_of
from agentic_memory_bank.tools.documents.attachments import AttachmentStores
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels of a chart"
OTHER = PNG + b", another"
QUESTION = "How many visitors did the array have?"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
Artifact = object


class Looking(ScriptedEngine):
    """Plans the searches that are left and then an answer, and looks at pictures."""

    sees = True

    def __init__(self, searches: int = 1, said: str | EngineError = "The array had 433 visitors.", **judgements: Any):
        super().__init__(plan=self._next, **judgements)
        self._searches, self._said = searches, said
        self.looked: list[Picture] = []

    def recognize(self, pictures: Sequence[Picture]) -> list[str | EngineError]:
        self.looked += pictures
        return [self._said for _ in pictures]

    def _next(self, situation: PlannerInput) -> Step | None:
        done = [task["kind"] for task in situation.insight_doc.get("completed", [])]
        if done.count("search") < self._searches:
            return Step("search", f"Look for chart {done.count('search')}.")
        return None if "answer" in done else Step("answer", "Answer.")


class Blind(Looking):
    """The same without a model that sees."""

    sees = False


def returning(*artifacts: Artifact, words: str = "I drew a chart.") -> Callable[[Assignment], list[BaseMessage]]:
    """An executor whose tool returns one artifact after the other, and the last for ever; it answers in words."""
    left = list(artifacts)

    def execute(assignment: Assignment) -> list[BaseMessage]:
        if assignment.task["kind"] == "answer":
            return [AIMessage("There were 433.")]
        artifact = left.pop(0) if len(left) > 1 else left[0]
        call: Any = {"name": "draw", "args": {}, "id": "c1"}
        result = ToolMessage(words, tool_call_id="c1", name="draw", artifact=artifact)
        return [AIMessage("", tool_calls=[call]), result, AIMessage("There is a chart.")]

    return execute


def picture(data: bytes = PNG, name: str = "chart.png") -> dict[str, Any]:
    return {"name": name, "data": data, "type": "image/png"}


class Bank:
    """A memory bank on one thread, whose executor's tool returns files."""

    def __init__(self, folder: Path, engine: ScriptedEngine, *artifacts: Artifact, **options: Any) -> None:
        words = options.pop("words", "I drew a chart.")
        self.engine = engine
        self.graph = build_memory_bank(
            embeddings=HashEmbeddings(),
            clock=TickingClock(),
            checkpointer=InMemorySaver(),
            attachments=folder,
            engine=engine,
            execute=returning(*artifacts, words=words),
            **options,
        )
        self.store = AttachmentStores(folder).of("t")

    def ask(self, *attached: tuple[str, bytes], question: str = QUESTION, **options: Any) -> dict[str, Any]:
        files = [{"name": name, "data": base64.b64encode(data).decode()} for name, data in attached]
        given: Any = {"question": question, "documents": options.pop("documents", []), "attachments": files}
        return self.graph.invoke(given, CONFIG, **options)

    @property
    def values(self) -> dict[str, Any]:
        return self.graph.get_state(CONFIG).values

    @property
    def tasks(self) -> list[tuple[str, str]]:
        return [(task["kind"], task["status"]) for task in self.values["insight_doc"]["completed"]]

    @property
    def recognized(self) -> list[dict[str, Any]]:
        entries = self.values["interaction_tree"]["entries"].values()
        return [entry for entry in entries if "recognized" in entry["metadata"]]


@pytest.fixture
def bank(tmp_path: Path) -> Callable[..., Bank]:
    return lambda engine, *artifacts, **options: Bank(tmp_path / "files", engine, *artifacts, **options)


def test_a_picture_that_a_tool_returns_waits_and_is_recognised_by_the_next_step(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), picture())

    seeing.ask(interrupt_after=["execute"])
    (item,) = seeing.values["waiting"]
    result = seeing.graph.invoke(None, CONFIG)

    assert (item["name"], item["kind"], item["type"], item["id"]) == (
        "chart.png",
        "image",
        "image/png",
        id_of(item["sha256"]),
    )
    assert seeing.tasks == [("search", "success"), ("recognize", "success"), ("answer", "success")]
    assert [(p.name, p.data, p.type) for p in seeing.engine.looked] == [("chart.png", PNG, "image/png")]
    (entry,) = seeing.recognized
    assert entry["text"] == "The array had 433 visitors."
    assert [a["path"] for a in entry["attachments"]] == [item["sha256"]] == seeing.store.kept()
    assert entry["id"] in {a["entry"] for n in seeing.values["query_graph"]["nodes"].values() for a in n["anchors"]}
    assert (result["status"], result["degraded"]) == ("completed", [])
    assert (seeing.values["waiting"], seeing.store.held()) == ([], [])


def test_a_picture_that_a_tool_returns_again_and_again_is_recognised_once(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(searches=4), picture(), [picture(), picture(name="copy.png")])

    result = seeing.ask()

    assert [kind for kind, _ in seeing.tasks] == ["search", "recognize", "search", "search", "search", "answer"]
    assert len(seeing.engine.looked) == len(seeing.recognized) == 1
    assert result["status"] == "completed"


def test_a_picture_that_comes_without_a_word_is_kept_and_recognised_too(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), picture(), words=" ")

    seeing.ask()

    entries = seeing.values["interaction_tree"]["entries"].values()
    assert [e["text"] for e in entries if e["kind"] == "tool_result"] == ["Returned: chart.png."]
    assert [entry["text"] for entry in seeing.recognized] == ["The array had 433 visitors."]


def test_a_file_that_cannot_be_kept_and_comes_without_a_word_leaves_nothing(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), {"name": "a.bin", "data": bytes(range(256))}, words="")

    result = seeing.ask()

    entries = seeing.values["interaction_tree"]["entries"].values()
    assert [entry["kind"] for entry in entries] == ["trajectory", "trajectory"]
    assert result["status"] == "completed"


def test_pictures_of_one_name_are_told_apart_by_their_content(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(searches=2), picture(), picture(OTHER))

    seeing.ask()

    assert [p.data for p in seeing.engine.looked] == [PNG, OTHER]


def test_several_pictures_of_one_step_are_recognised_by_one_step(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), [picture(), picture(name="again.png"), picture(OTHER, "other.png")])

    seeing.ask()

    assert [kind for kind, _ in seeing.tasks] == ["search", "recognize", "answer"]
    assert [p.data for p in seeing.engine.looked] == [PNG, OTHER]


def test_a_picture_that_could_not_be_recognised_is_not_planned_again(bank: Callable[..., Bank]) -> None:
    failing = bank(Looking(searches=3, said=ModelUnavailable("Too dark.")), picture())

    result = failing.ask()

    assert failing.tasks.count(("recognize", "failure")) == 1
    assert len(failing.engine.looked) == 1
    assert failing.recognized == []
    assert result["status"] == "completed_with_failures"
    assert failing.store.kept() != []  # the entry of the tool's result still names it


def test_without_a_model_that_sees_the_run_says_so_once_and_the_picture_stays_reachable(
    bank: Callable[..., Bank],
) -> None:
    blind = bank(Blind(searches=3), picture())

    result = blind.ask()

    assert blind.tasks.count(("recognize", "success")) == 1
    assert [note for note in result["degraded"] if "not recognised for want of a model" in note] == result["degraded"]
    assert len(result["degraded"]) == 1
    assert blind.recognized == []  # the entry of the tool's result has the picture already
    assert result["status"] == "completed"
    held = [a for e in blind.values["interaction_tree"]["entries"].values() for a in e["attachments"]]
    assert {a["path"] for a in held} == set(blind.store.kept())


def test_pictures_of_one_name_that_nobody_can_see_do_not_look_like_a_stall(bank: Callable[..., Bank]) -> None:
    blind = bank(Blind(searches=3), picture(), picture(OTHER), picture(OTHER + b"!"))

    result = blind.ask()

    assert "__interrupt__" not in result
    assert [kind for kind, _ in blind.tasks].count("recognize") == 3


def test_a_picture_that_was_handed_in_is_not_recognised_again_when_a_tool_returns_it(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), picture())

    seeing.ask(("mine.png", PNG))

    assert [kind for kind, _ in seeing.tasks] == ["recognize", "search", "answer"]
    assert [p.name for p in seeing.engine.looked] == ["mine.png"]


def test_a_later_question_does_not_look_again_at_what_a_tool_returned(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), picture())

    seeing.ask()
    seeing.ask(question="And in the year before?")
    seeing.ask(("mine.png", PNG), question="And before that?")

    assert len(seeing.engine.looked) == 1


def test_a_picture_found_while_a_contradiction_is_settled_waits_beside_those_handed_in(
    bank: Callable[..., Bank],
) -> None:
    def contradict(pairings: list[Pairing]) -> list[Relation]:
        pairs = [(p.fresh, c) for p in pairings for c in p.candidates]
        return [Relation(a.id, b.id, "conflict") for a, b in pairs if "qubits" in a.text and "qubits" in b.text]

    engine = Looking(
        searches=0, find_conflicts=contradict, validate=lambda ds: [DisputeVerdict("inconclusive") for _ in ds]
    )
    seeing = bank(engine, [picture(OTHER), picture(PNG, "copy.png")])

    seeing.ask(("mine.png", PNG), documents=["Condor has 433 qubits.", "Condor has 1121 qubits."])

    assert [kind for kind, _ in seeing.tasks][:2] == ["cross_validate", "recognize"]
    assert [kind for kind, _ in seeing.tasks].count("recognize") == 1
    assert [p.name for p in seeing.engine.looked] == ["mine.png", "chart.png"]


def test_documents_that_tools_return_are_kept_and_not_planned(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), {"name": "notes.md", "data": b"It opened in 2031."})

    seeing.ask()

    assert [kind for kind, _ in seeing.tasks] == ["search", "answer"]
    assert len(seeing.store.kept()) == 1


def test_a_picture_that_a_tool_returns_is_in_no_checkpoint(bank: Callable[..., Bank]) -> None:
    seeing = bank(Looking(), picture())

    seeing.ask(interrupt_after=["execute"])

    assert base64.b64encode(PNG).decode() not in json.dumps(seeing.values, default=str)
    assert PNG.decode("latin-1") not in json.dumps(seeing.values, default=str)


def test_a_run_that_is_stopped_before_leaves_nothing_waiting(bank: Callable[..., Bank]) -> None:
    def fail(*given: Any) -> Any:
        raise EngineError("No plan is to be had.")

    planning = Looking()
    seeing = bank(planning, picture())
    seeing.ask(interrupt_after=["execute"])
    planning._judgements["plan"] = fail

    result = seeing.graph.invoke(None, CONFIG)

    assert result["status"] in ("failed", "completed_with_failures")
    assert seeing.values["waiting"] == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}},
    ],
    ids=["standard", "OpenAI"],
)
def test_a_picture_among_the_content_of_a_result_is_kept_and_recognised(
    bank: Callable[..., Bank], block: dict[str, Any]
) -> None:
    """So LangChain's tools and those behind MCP return them."""
    seeing = bank(Looking(), None, words=[{"type": "text", "text": "I drew a chart."}, block])

    seeing.ask()

    assert [(p.name, p.data) for p in seeing.engine.looked] == [("draw-2.png", PNG)]
    assert ("recognize", "success") in seeing.tasks


def test_a_block_that_is_no_picture_costs_nothing(bank: Callable[..., Bank]) -> None:
    broken = {"type": "image", "base64": "no base64 at all!", "mime_type": "image/png"}
    seeing = bank(Looking(), None, words=[{"type": "text", "text": "I drew a chart."}, broken])

    seeing.ask()

    assert seeing.engine.looked == []
    assert seeing.tasks == [("search", "success"), ("answer", "success")]
