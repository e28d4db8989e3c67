"""What a server sends and shows of a run over texts: a line for each entry and memory, and never the texts."""

import json
from typing import Any

import pytest
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Overwrite

from agentic_memory_bank import memorizer, memory_bank
from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.state import interaction_tree
from agentic_memory_bank.state import memorizer as memorizer_state
from agentic_memory_bank.state.memory_bank import LINES, WHOLE
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores

CONFIG: Any = {"configurable": {"thread_id": "t"}}
QUESTION = "How wide is the mirror?"
SECRET = "The canteen of the harbour serves fish soup on Fridays"
"""Deep inside of a document, on another subject."""
LONG = (
    "The mirror is 8.2 metres wide. "
    + " ".join(f"Part {n} of the hull was painted in the year {1800 + n}." for n in range(100))
    + f" {SECRET}. "
    + " ".join(f"Sailor {n} came from the village number {n}." for n in range(100))
)
GIVEN: Any = {"question": QUESTION, "documents": [{"text": LONG, "source": "leaflet.txt"}]}


class Thread:
    """One thread, whose checkpoints a brief graph and one that shows everything read alike."""

    def __init__(self) -> None:
        options: Any = {"embeddings": HashEmbeddings(), "checkpointer": InMemorySaver(), "clock": TickingClock()}
        self.brief = build_memory_bank(**options, brief=True)
        self.whole = build_memory_bank(**options)

    def lines(self) -> dict[str, dict[str, str]]:
        """What is shown in place of the layers."""
        return {name: self.brief.get_state(CONFIG).values[name] for name in LINES}

    def tree(self) -> dict[str, Any]:
        """The Interaction Tree."""
        return self.whole.get_state(CONFIG).values["interaction_tree"]


@pytest.fixture
def asked() -> Thread:
    thread = Thread()
    thread.brief.invoke(GIVEN, CONFIG)
    return thread


def test_no_text_is_in_what_is_streamed() -> None:
    modes: Any = ["values", "updates", "custom", "checkpoints"]

    sent = [str(event) for event in Thread().brief.stream(GIVEN, CONFIG, stream_mode=modes)]

    assert sent
    assert not [event[:200] for event in sent if SECRET in event]
    assert max(map(len, sent)) < len(LONG) / 2


class Recorder(BaseTracer):
    """Records what tracers, such as LangSmith's, are told of each stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[str] = []

    def _persist_run(self, run: Run) -> None:
        self.stages = [f"{one.name} {one.inputs} {one.outputs}" for one in run.child_runs]


def test_no_text_is_in_what_is_traced_of_a_stage() -> None:
    recorder = Recorder()

    Thread().brief.invoke(GIVEN, {**CONFIG, "callbacks": [recorder]})

    assert {stage.split()[0] for stage in recorder.stages} >= {"adapter_in", "classify", "embed", "execute"}
    assert not [stage[:200] for stage in recorder.stages if SECRET in stage]


def test_no_text_is_in_the_state_and_its_history(asked: Thread) -> None:
    shown = [asked.brief.get_state(CONFIG), *asked.brief.get_state_history(CONFIG)]

    assert not [str(snapshot)[:200] for snapshot in shown if SECRET in str(snapshot)]
    assert not [name for snapshot in shown for name in snapshot.values if name in WHOLE]


def test_entries_and_memories_have_a_line_each(asked: Thread) -> None:
    entries, memories = asked.lines()["entries"], asked.lines()["memories"]

    state = asked.whole.get_state(CONFIG).values
    assert entries.keys() == state["interaction_tree"]["entries"].keys()
    assert memories.keys() == state["query_graph"]["nodes"].keys()
    (line,) = entries.values()
    assert line.startswith(f"leaflet.txt, {len(LONG):,} characters: The mirror is 8.2 metres wide.")
    assert all(0 < len(said) <= 81 for said in memories.values())


def test_a_text_without_spaces_has_its_first_words_shown() -> None:
    thread = Thread()

    thread.brief.invoke({"question": "镜子有多宽？", "documents": ["镜子宽8.2米。" * 40]}, CONFIG)

    (line,) = thread.lines()["entries"].values()
    assert "镜子宽8.2米。镜子宽8.2米。" in line
    assert line.endswith("…")


def test_the_next_question_is_answered_from_what_is_not_shown(asked: Thread) -> None:
    answer = asked.brief.invoke({"question": "What does the canteen of the harbour serve?"}, CONFIG)

    assert SECRET in answer["answer"]
    assert answer["sources"][0]["quote"] == f"{SECRET}."


def test_a_run_goes_on_from_any_of_its_checkpoints(asked: Thread) -> None:
    ended = asked.whole.get_state(CONFIG).values["query_graph"]

    for snapshot in list(asked.brief.get_state_history(CONFIG)):
        again = asked.brief.invoke(None, snapshot.config)

        assert again["status"] == "completed", snapshot.next
        assert asked.whole.get_state(CONFIG).values["query_graph"]["nodes"].keys() == ended["nodes"].keys()


def test_a_thread_from_before_there_were_lines_gets_them_with_its_next_question(asked: Thread) -> None:
    nothing: Any = {name: Overwrite({}) for name in LINES}
    asked.whole.update_state(CONFIG, nothing, as_node="adapter_out")

    asked.brief.invoke({"question": QUESTION}, CONFIG)

    assert asked.lines()["entries"].keys() == asked.tree()["entries"].keys()
    assert asked.lines()["memories"]


def test_the_line_of_a_forgotten_entry_goes(asked: Thread) -> None:
    (first,) = asked.tree()["entries"]
    forgotten: Any = {"interaction_tree": [interaction_tree.forget_entries([first])]}
    asked.whole.update_state(CONFIG, forgotten, as_node="adapter_out")

    asked.brief.invoke({"question": QUESTION, "documents": ["A second text, on masts."]}, CONFIG)

    assert first not in asked.lines()["entries"]
    assert asked.lines()["entries"].keys() == asked.tree()["entries"].keys()


def test_in_code_the_layers_are_shown_and_no_lines(asked: Thread) -> None:
    shown = asked.whole.get_state(CONFIG).values

    assert SECRET in json.dumps(shown["interaction_tree"])
    assert not LINES & shown.keys()


def test_the_memorizer_streams_no_text() -> None:
    modes: Any = ["values", "updates", "custom", "checkpoints"]
    saver = InMemorySaver()
    built = build_memorizer(
        embeddings=HashEmbeddings(), stores=PageStores(in_memory=True), checkpointer=saver, brief=True
    )

    sent = list(built.stream({"texts": [LONG], "memory": "m"}, CONFIG, stream_mode=modes))

    shown = [*map(str, sent), *map(str, built.get_state_history(CONFIG))]
    assert not [one[:200] for one in shown if SECRET in one]
    assert built.get_state(CONFIG).values["pages"]


def test_the_graphs_that_langgraph_json_serves_are_brief() -> None:
    shown = set(memory_bank.stream_channels_list)
    assert not WHOLE & shown
    assert shown >= LINES
    assert not memorizer_state.WHOLE & set(memorizer.stream_channels_list)
