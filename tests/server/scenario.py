"""A run that asks every judgement at least once, with a scripted model, and what has to hold after any such run."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.runs.export import memory_digest
from agentic_memory_bank.testing import ChatRequest, Fault, ModelServer, Reply, ScriptedJudge
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

KINDS = ("classify", "structure", "find_conflicts", "find_related", "integrate", "plan", "validate", "answer")
"""The judgements; the roles are those of the first five, `analyze` for two of them, and `react` for the last two."""
ROLES = ("classify", "structure", "analyze", "integrate", "plan", "react")

QUESTION = "How tall is the iron tower of Paris?"
DOCUMENTS = (
    "The iron tower of Paris is 324 m tall.",
    "The iron tower of Paris is 330 m tall.",
    "Alice planted the old oak by the mill.",
    "The old oak by the mill was planted by Alice.",
    "The mill of Bern grinds wheat by day.",
    "The mill of Bern grinds wheat by night.",
)
"""Two that contradict each other, two that say the same, and two that belong together."""

Script = Callable[[ChatRequest], Reply | Fault]


def _conflicts(prompt: str) -> dict[str, Any]:
    findings: list[dict[str, Any]] = []
    for new, other, said, known in _pairs(prompt):
        heights = [re.findall(r"3\d\d m", text) for text in (said, known)]
        if all(heights) and heights[0] != heights[1]:
            words = {"kind": "number", "reason": "Two heights.", "new_claim": said, "other_claim": known}
            findings.append({"new": new, "other": other, "relation": "conflict", **words})
        if "Alice" in said and "Alice" in known:
            words = {"kind": "", "reason": "", "new_claim": "", "other_claim": ""}
            findings.append({"new": new, "other": other, "relation": "merge", **words})
    return {"findings": findings}


def _related(prompt: str) -> dict[str, Any]:
    news = {"new_context": "Bern, its mill.", "new_keywords": ["mill"], "other_context": "", "other_keywords": []}
    pairs = [pair for pair in _pairs(prompt) if "Bern" in pair[2] and "Bern" in pair[3]]
    return {"related": [{"new": new, "other": other, **news} for new, other, _, _ in pairs]}


def _holds(prompt: str) -> dict[str, Any]:
    said = {"outcome": "holds", "claim": 2, "statement": "", "explanation": "The later one.", "evidence": [1]}
    return {"verdicts": [{"dispute": int(n), **said} for n in re.findall(r'<dispute id="(\d+)">', prompt)]}


def _next(prompt: str) -> dict[str, Any]:
    if "\n- answer," in prompt:
        return {"is_done": True, "kind": "", "description": ""}
    return {"is_done": False, "kind": "answer", "description": "Answer from memory."}


def _pairs(prompt: str) -> Iterator[tuple[int, int, str, str]]:
    shown = dict(
        re.findall(r'<memory id="(\d+)">\n(?:.*?\n)?(?:text|summary): ([^\n]*)\n.*?</memory>', prompt, re.DOTALL)
    )
    for line in re.findall(r"<pairs>\n(.*?)\n</pairs>", prompt, re.DOTALL)[0].splitlines():
        new, _, others = line.partition(": ")
        for other in others.split(", "):
            yield int(new), int(other), shown[new], shown[other]


judge = ScriptedJudge(find_conflicts=_conflicts, find_related=_related, validate=_holds, plan=_next)
"""The model that judges as it should."""


@dataclass
class Ended:
    """How a run ended."""

    output: dict[str, Any]
    state: dict[str, Any]
    asked: list[ChatRequest] = field(repr=False)

    @property
    def digest(self) -> str:
        """Equal for equal memories."""
        return memory_digest(self.state)

    @property
    def kinds(self) -> Counter[str]:
        """How often each judgement was asked for."""
        return Counter(map(judge.kind_of, self.asked))

    def requests(self, kind: str) -> Counter[str]:
        """How many requests each question of a kind took."""
        return Counter(str(r.messages[1]["content"]) for r in self.asked if judge.kind_of(r) == kind)

    @property
    def text(self) -> str:
        """All that is in state and output."""
        return json.dumps([self.output, self.state], default=str, ensure_ascii=False)


def settings(**values: Any) -> dict[str, Any]:
    """Settings of a run that asks `local:test` and waits for nobody."""
    return {"model": "local:test", "longest_wait": 2.0, **{f"{role}_timeout": 60.0 for role in ROLES}, **values}


def bank(**options: Any) -> MemoryBank:
    """A memory bank whose runs are alike to the byte: at the same time, with vectors that depend on the words."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    given = {"embeddings": HashEmbeddings(), "checkpointer": InMemorySaver(), "clock": lambda: moment, **options}
    return build_memory_bank(**given)


class Model:
    """A model server whose script can be exchanged between runs, and the memory bank that asks it."""

    def __init__(self, server: ModelServer, **options: Any) -> None:
        self.server = server
        self.script: Script = judge
        self._bank = bank(**options)
        self._threads = 0

    def ask(self, script: Script = judge, documents: Sequence[str] = DOCUMENTS, **values: Any) -> Ended:
        """Run the whole scenario on a thread of its own."""
        self.script = script
        self.server.reset()
        self._threads += 1
        self._settings = settings(**values)
        return self._end({"question": QUESTION, "documents": list(documents)})

    def go_on(self, decision: str, script: Script = judge) -> Ended:
        """Resume the run that waits; only what is asked from here on is counted."""
        self.script = script
        self.server.reset()
        return self._end(Command(resume=decision))

    def _end(self, given: Any) -> Ended:
        config: Any = {"configurable": {"thread_id": str(self._threads)}}
        output = self._bank.invoke(given, config, context=self._settings)  # type: ignore[arg-type]
        state = self._bank.get_state(config).values if self._bank.checkpointer else {}
        return Ended(output, state, self.server.chats)


@contextmanager
def model(set_address: Callable[[str], None], **options: Any) -> Iterator[Model]:
    """Serve a model for as long as the block lasts."""
    made: list[Model] = []
    with ModelServer(lambda request: made[0].script(request)) as server:
        set_address(server.url)
        made.append(Model(server, **options))
        yield made[0]


def faulty(kinds: Sequence[str], fault: Callable[[ChatRequest], Reply | Fault], *, every: bool) -> Script:
    """A model that fails at some judgements: the first time it is asked for each of them, or each time."""
    left = set(kinds)

    def answer(request: ChatRequest) -> Reply | Fault:
        kind = judge.kind_of(request)
        if kind not in left:
            return judge(request)
        if not every:
            left.discard(kind)
        return fault(request)

    return answer


def assert_memory_is_sound(state: dict[str, Any]) -> None:
    """Every character is kept once, and nothing points at what is not there."""
    graph, tree, doc = state["query_graph"], state["interaction_tree"], state["insight_doc"]
    owners = Counter(
        (anchor["entry"], place)
        for node in graph["nodes"].values()
        for anchor in node["anchors"]
        for place in range(anchor["start"], anchor["end"])
    )
    assert owners == Counter((e["id"], i) for e in tree["entries"].values() for i in range(len(e["text"])))
    assert sorted(e["text"] for e in tree["entries"].values()) == sorted(DOCUMENTS)
    edges = graph.get("related", {})
    assert all(a != b and a in edges[b] and a in graph["nodes"] for a in edges for b in edges[a])
    waiting = [c for c in graph.get("conflicts", {}).values() if c["status"] != "settled"]
    assert all(node in graph["nodes"] for conflict in waiting for node in conflict["nodes"])
    assert not doc.get("current")
    assert state["status"] == "failed" or not state["fresh"]
    assert all(node["summary"].strip() for node in graph["nodes"].values())
