"""Stage 3: what does each topic say, in a few sentences?"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import TopicSummary, TopicText
from agentic_memory_bank.engines.extractive.support import supported_part, unsupported
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.interaction_tree import text_of
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, Topic
from agentic_memory_bank.state.query_graph import MemoryNode, join_anchors
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.sentences import sentences

_SUMMARY_CHARACTERS = 600


def structure(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Compress topics into memories; each points at the raw text it stands for."""
    texts = topic_texts(state)
    runtime.stream_writer({"stage": "structure", "topics": len(texts)})
    judged = contract.structured(deps.engine.structure(texts), texts)
    return as_memories(state, [said or beginning(topic.text) for said, topic in zip(judged, texts, strict=True)])


def beginning(text: str) -> TopicSummary:
    """Make the memory of a topic that could not be summarised, from the beginning of its text."""
    head = ""
    for start, end in sentences(text[: _SUMMARY_CHARACTERS * 2]):
        if head and end > _SUMMARY_CHARACTERS:
            break
        head += text[start:end]
    head = head.strip()[:_SUMMARY_CHARACTERS]
    return TopicSummary(summary=head, context=head[:160], keywords=())


def topic_texts(state: MemoryBankState) -> list[TopicText]:
    """The topics of this round with their raw text."""
    tree = state["interaction_tree"]
    return [
        TopicText("".join(text_of(tree, a) for a in topic["anchors"]), topic["context"], tuple(topic["keywords"]))
        for topic in state["topics"]
    ]


def as_memories(state: MemoryBankState, structured: Sequence[TopicSummary]) -> MemoryBankUpdate:
    """Store one memory per topic. Its id comes from what it stands for, so a second run writes the same."""
    texts = topic_texts(state)
    made = zip(state["topics"], structured, texts, strict=True)
    nodes = [_memory(state, topic, said, shown.text) for topic, said, shown in made]
    return {
        "query_graph": [query_graph.put(node) for node in nodes],
        "fresh": [node["id"] for node in nodes],
        "topics": [],
    }


def _memory(state: MemoryBankState, topic: Topic, said: TopicSummary, text: str) -> MemoryNode:
    """The memory of a topic; what `classify` said of that, as far as its text bears it, stands in where it is bare."""
    anchors = join_anchors(topic["anchors"])
    raw = [state["interaction_tree"]["entries"][anchor["entry"]] for anchor in anchors]
    return {
        "id": "n" + digest(*((a["entry"], a["start"], a["end"]) for a in anchors))[:12],
        "summary": said.summary,
        "context": said.context or supported_part(topic["context"], [text]),
        "keywords": list(said.keywords) or [word for word in topic["keywords"] if not unsupported(word, [text])],
        "embedding": None,
        "created_at": state["now"],
        "anchors": anchors,
        "provenance": {
            "sources": list(dict.fromkeys(entry["source"] for entry in raw)),
            "task": next((e["metadata"].get("task") for e in raw if e["kind"] == "trajectory"), None),
            "merged_from": [],
        },
        "history": [],
    }
