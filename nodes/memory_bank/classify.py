"""Stage 2: which topics does the new raw text hold?"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Span, TopicSpans
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, Topic
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages


def classify(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Divide the incoming entries into topics: spans, never copies. Text over the window is judged in chunks."""
    chunks = incoming_chunks(state, Settings.of(runtime))
    entries = state["interaction_tree"]["entries"]
    texts = [entries[a["entry"]]["text"][a["start"] : a["end"]] for a in chunks]
    runtime.stream_writer({"stage": "classify", "chunks": len(chunks), "characters": sum(map(len, texts))})
    judged = contract.topics(deps.engine.classify(texts, state["insight_doc"]["goal"]), texts)
    found = [t for chunk, topics in zip(chunks, judged, strict=True) for t in claimed(chunk, topics)]
    return {"topics": fitting(found, state["interaction_tree"], Settings.of(runtime)), "incoming": []}


def incoming_chunks(state: MemoryBankState, settings: Settings) -> list[Anchor]:
    """The incoming text in chunks that fill at most a share of the judge's window, cut at paragraph borders.

    Chunks of one entry follow each other without a gap (window times ratio).
    """
    limit = settings.role("classify").text_tokens(settings.window_ratio)
    entries = state["interaction_tree"]["entries"]
    return [
        {"entry": entry_id, "start": start, "end": end}
        for entry_id in state["incoming"]
        for start, end in chunk_spans(entries[entry_id]["text"], limit)
    ]


def chunk_spans(text: str, limit: int) -> list[Span]:
    """Cut a text into as few chunks of at most `limit` estimated tokens as whole passages allow."""
    chunks: list[Span] = []
    used = 0
    for start, end in passages(text, limit):
        tokens = estimate_tokens(text[start:end])
        if chunks and used + tokens <= limit:
            chunks[-1], used = (chunks[-1][0], end), used + tokens
        else:
            chunks.append((start, end))
            used = tokens
    return chunks


def claimed(chunk: Anchor, topics: Sequence[TopicSpans]) -> list[Topic]:
    """Turn spans of a chunk into topics; every character ends up in exactly one.

    A character two topics claim goes to the first; what none claims goes to a rest topic of its own.
    """
    length = chunk["end"] - chunk["start"]
    free: list[Span] = [(0, length)] if length else []
    found: list[Topic] = []
    for topic in topics:
        anchors: list[Anchor] = []
        for span in topic.spans:
            taken, free = _take(span, free)
            anchors += [_shift(chunk, piece) for piece in taken]
        if anchors:
            found.append({"anchors": anchors, "context": topic.context, "keywords": list(topic.keywords)})
    return found + rest(chunk, free)


def rest(chunk: Anchor, free: Sequence[Span]) -> list[Topic]:
    """The rest topic: what no topic claims is kept all the same."""
    if not free:
        return []
    return [{"anchors": [_shift(chunk, span) for span in free], "context": "", "keywords": []}]


def fitting(topics: Sequence[Topic], tree: InteractionTree, settings: Settings) -> list[Topic]:
    """The topics, those cut that are too long to be summarised in one call; with equal windows none is."""
    limit = settings.role("structure").text_tokens(settings.window_ratio)
    if limit >= settings.role("classify").text_tokens(settings.window_ratio):
        return list(topics)
    return [part for topic in topics for part in _cut(topic, tree, limit)]


def _cut(topic: Topic, tree: InteractionTree, limit: int) -> list[Topic]:
    parts: list[Topic] = []
    used = limit + 1
    for anchor in topic["anchors"]:
        text = text_of(tree, anchor)
        for start, end in chunk_spans(text, limit):
            tokens = estimate_tokens(text[start:end])
            if used + tokens > limit:
                parts.append({**topic, "anchors": []})
                used = 0
            parts[-1]["anchors"].append(_shift(anchor, (start, end)))
            used += tokens
    return parts


def _take(span: Span, free: list[Span]) -> tuple[list[Span], list[Span]]:
    taken: list[Span] = []
    left: list[Span] = []
    for start, end in free:
        low, high = max(start, span[0]), min(end, span[1])
        if low >= high:
            left.append((start, end))
            continue
        taken.append((low, high))
        left += [piece for piece in ((start, low), (high, end)) if piece[0] < piece[1]]
    return taken, left


def _shift(chunk: Anchor, span: Span) -> Anchor:
    return {"entry": chunk["entry"], "start": chunk["start"] + span[0], "end": chunk["start"] + span[1]}
