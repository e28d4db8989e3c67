"""Stages 2 and 3 for a conversation: what was said together is judged together, a question with its answer."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Span, TopicText
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.classify import chunk_spans, claimed, fitting
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.structure import as_memories, beginning
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, Topic
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.tokens import estimate_tokens

GAP = "\n\n"
"""Stands between messages that are judged together; it belongs to no memory."""

Piece = list[Anchor]
"""Stretches of one or several entries that are judged as one text."""


def pieces(tree: InteractionTree, turns: Sequence[Sequence[str]], settings: Settings) -> list[Piece]:
    """What was said in each turn, in pieces that fill at most a share of the judge's window."""
    limit = settings.role("classify").text_tokens(settings.window_ratio)
    return [piece for turn in turns for piece in _packed(tree, turn, limit)]


def _packed(tree: InteractionTree, turn: Sequence[str], limit: int) -> list[Piece]:
    packed: list[Piece] = []
    used = 0
    for entry_id in turn:
        text = tree["entries"][entry_id]["text"]
        for start, end in chunk_spans(text, limit):
            tokens = estimate_tokens(text[start:end])
            if not packed or used + tokens > limit:
                packed.append([])
                used = 0
            packed[-1].append({"entry": entry_id, "start": start, "end": end})
            used += tokens
    return packed


def classify_turns(
    state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps, *, said: Sequence[Piece]
) -> MemoryBankUpdate:
    """Divide turns into topics, which may reach across messages; every character belongs to exactly one."""
    texts = [_joined(state["interaction_tree"], piece) for piece in said]
    judged = contract.topics(deps.engine.classify(texts, state["insight_doc"]["goal"]), texts)
    found: list[Topic] = []
    for piece, text, topics in zip(said, texts, judged, strict=True):
        found += _placed(claimed({"entry": "", "start": 0, "end": len(text)}, topics), piece)
    return {"topics": fitting(found, state["interaction_tree"], Settings.of(runtime))}


def unclassified(said: Sequence[Piece]) -> MemoryBankUpdate:
    """Each piece as a topic of its own: the raw text stays."""
    return {"topics": [{"anchors": piece, "context": "", "keywords": []} for piece in said]}


def _placed(topics: Sequence[Topic], piece: Piece) -> list[Topic]:
    """Topics of a joined text, anchored in the entries it was joined from; what holds a gap alone is none."""
    placed: list[Topic] = []
    for topic in topics:
        spans = [(anchor["start"], anchor["end"]) for anchor in topic["anchors"]]
        anchors = [anchor for span in spans for anchor in _anchors(piece, span)]
        if anchors:
            placed.append({**topic, "anchors": anchors})
    return placed


def _anchors(piece: Piece, span: Span) -> list[Anchor]:
    found: list[Anchor] = []
    offset = 0
    for whole in piece:
        length = whole["end"] - whole["start"]
        low, high = max(span[0], offset) - offset, min(span[1], offset + length) - offset
        if low < high:
            found.append({**whole, "start": whole["start"] + low, "end": whole["start"] + high})
        offset += length + len(GAP)
    return found


def structure_turns(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Compress the topics into memories."""
    texts = _topic_texts(state)
    judged = contract.structured(deps.engine.structure(texts), texts)
    return as_memories(state, [made or beginning(topic.text) for made, topic in zip(judged, texts, strict=True)])


def unstructured(state: MemoryBankState) -> MemoryBankUpdate:
    """Memories whose summary is how their text begins."""
    return as_memories(state, [beginning(topic.text) for topic in _topic_texts(state)])


def _topic_texts(state: MemoryBankState) -> list[TopicText]:
    tree = state["interaction_tree"]
    return [TopicText(_joined(tree, t["anchors"]), t["context"], tuple(t["keywords"])) for t in state["topics"]]


def _joined(tree: InteractionTree, anchors: Piece) -> str:
    return GAP.join(text_of(tree, anchor) for anchor in anchors)
