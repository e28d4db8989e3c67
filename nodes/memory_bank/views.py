"""Looks at the layers the way engines do: memories with their words, and back from words to anchors."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from agentic_memory_bank.engines.base import MemoryView, SourcePart, Span
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, Entry, InteractionTree, text_of
from agentic_memory_bank.state.memory_bank import AnswerSource, MemoryBankState, MemoryBankUpdate, Recalled
from agentic_memory_bank.state.query_graph import ContradictingClaim, MemoryNode
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.place import Placed
from agentic_memory_bank.tools.text.places import sentences_of
from agentic_memory_bank.tools.text.sentences import sentences

_GAP = "\n"
"""Stands between the stretches of a memory's raw text."""
_NUMBERED = lazy_pattern(r"document \d+")
"""What a document without a name is called, by its place in a list."""
LINE = 80
"""How many characters of a text stand for it where it is only named."""
_UNNAMED = frozenset(("input", "executor"))


def document_name(source: str) -> str:
    """What a document is called; empty where its source says nothing of what it is about."""
    return "" if source in _UNNAMED or _NUMBERED.fullmatch(source) else source


def raw_text(node: MemoryNode, tree: InteractionTree) -> str:
    """The stretches of raw text that a memory was made of, one below the other."""
    return _GAP.join(text_of(tree, anchor) for anchor in node["anchors"])


def memory_view(node: MemoryNode, tree: InteractionTree) -> MemoryView:
    """A memory as an engine sees it, with its raw text."""
    parts: list[SourcePart] = []
    offset = 0
    for anchor in node["anchors"]:
        if entry := tree.get("entries", {}).get(anchor["entry"]):
            name = document_name(entry["source"])
            parts.append(SourcePart(name, entry["text"], (anchor["start"], anchor["end"]), offset))
        offset += anchor["end"] - anchor["start"] + len(_GAP)
    return MemoryView(
        id=node["id"],
        summary=node["summary"],
        context=node["context"],
        keywords=tuple(node["keywords"]),
        text=raw_text(node, tree),
        sources=tuple(node["provenance"]["sources"]),
        created_at=node["created_at"],
        parts=tuple(parts),
    )


def memory_views(state: MemoryBankState, ids: Iterable[str]) -> tuple[MemoryView, ...]:
    """Several memories; ids that are not live are left out, and what a validation refuted is blank."""
    nodes, tree = state.get("query_graph", {}).get("nodes", {}), state.get("interaction_tree", {})
    wrong = refuted_anchors(state)
    return tuple(_without(memory_view(nodes[i], tree), nodes[i], wrong) for i in ids if i in nodes)


def _without(shown: MemoryView, node: MemoryNode, wrong: Sequence[Anchor]) -> MemoryView:
    """A memory whose refuted stretches are spaces, so that places stay and no settled dispute comes up again."""
    text = shown.text
    for anchor in wrong:
        for own in node["anchors"]:
            low, high = max(own["start"], anchor["start"]), min(own["end"], anchor["end"])
            if own["entry"] == anchor["entry"] and low < high:
                span = span_of(node, {"entry": own["entry"], "start": low, "end": high})
                if span:
                    text = text[: span[0]] + " " * (span[1] - span[0]) + text[span[1] :]
    return replace(shown, text=text) if text != shown.text else shown


def lines(state: MemoryBankState, new: Sequence[Entry] = ()) -> MemoryBankUpdate:
    """Name what the layers hold in a line each, for whom the state is sent to; only what is not named yet."""
    entries = {**state.get("interaction_tree", {}).get("entries", {}), **{entry["id"]: entry for entry in new}}
    nodes = state.get("query_graph", {}).get("nodes", {})
    known, named = state.get("entries", {}), state.get("memories", {})
    update: MemoryBankUpdate = {}
    if known.keys() != entries.keys():
        update["entries"] = dict.fromkeys(known.keys() - entries.keys()) | {
            id: f"{entry['source']}, {len(entry['text']):,} characters: {first_words(entry['text'])}"
            for id, entry in entries.items()
            if id not in known
        }
    if named.keys() != nodes.keys():
        update["memories"] = dict.fromkeys(named.keys() - nodes.keys()) | {
            id: first_words(node["summary"]) for id, node in nodes.items() if id not in named
        }
    return update


def first_words(text: str) -> str:
    """How a text begins, on one line."""
    head = " ".join(text[: LINE * 4].split())
    return head if len(head) <= LINE else head[:LINE].rstrip() + "\u2026"


def anchor_of(node: MemoryNode, span: Span) -> Anchor:
    """Where a stretch of a memory's raw text stands; cut to the entry in which it begins."""
    offset = 0
    for anchor in node["anchors"]:
        length = anchor["end"] - anchor["start"]
        if span[0] < offset + length:
            start = anchor["start"] + max(0, span[0] - offset)
            return {"entry": anchor["entry"], "start": start, "end": min(anchor["end"], start + span[1] - span[0])}
        offset += length + len(_GAP)
    return {**node["anchors"][-1], "start": node["anchors"][-1]["end"]}


def span_of(node: MemoryNode, anchor: Anchor) -> Span | None:
    """The reverse: where an anchor stands in the memory's raw text, None when it is not part of it."""
    offset = 0
    for own in node["anchors"]:
        if own["entry"] == anchor["entry"] and own["start"] <= anchor["start"] and anchor["end"] <= own["end"]:
            start = offset + anchor["start"] - own["start"]
            return start, start + anchor["end"] - anchor["start"]
        offset += own["end"] - own["start"] + len(_GAP)
    return None


def citation(state: MemoryBankState, anchor: Anchor, node: str | None = None) -> AnswerSource:
    """A quote with everything a reader needs to find it; white space around the quote is left out."""
    entry = state["interaction_tree"].get("entries", {}).get(anchor["entry"])
    if entry is None:
        return {"quote": "", "source": "forgotten", "entry": anchor["entry"], "start": 0, "end": 0}
    raw = entry["text"][anchor["start"] : anchor["end"]]
    start = anchor["start"] + len(raw) - len(raw.lstrip())
    quote = raw.strip()
    cited: AnswerSource = {
        "quote": quote,
        "source": entry["source"],
        "entry": entry["id"],
        "start": start,
        "end": start + len(quote),
    }
    page = entry["metadata"].get("page")
    if isinstance(page, int) and not isinstance(page, bool):
        cited["page"] = page
    if node:
        cited["node"] = node
    return cited


def overlap(a: Anchor | AnswerSource, b: Anchor | AnswerSource) -> bool:
    """Whether two stretches of raw text have a character in common."""
    return a["entry"] == b["entry"] and a["start"] < b["end"] and b["start"] < a["end"]


def refuted_anchors(state: MemoryBankState) -> list[Anchor]:
    """The claims that a validation found wrong: still in the tree, no longer to be quoted as true."""
    return [
        claim["anchor"]
        for conflict in state.get("query_graph", {}).get("conflicts", {}).values()
        for contradiction in conflict["contradictions"]
        for claim in losers(contradiction.get("outcome"), contradiction.get("winner"), contradiction["claims"])
    ]


def losers(outcome: str | None, winner: int | None, claims: Sequence[ContradictingClaim]) -> list[ContradictingClaim]:
    """The claims that do not hold under an outcome."""
    if outcome == "neither":
        return list(claims)
    if outcome == "holds":
        return [claim for position, claim in enumerate(claims) if position != winner]
    return []


def pair_key(a: MemoryNode, b: MemoryNode) -> str:
    """Names a judged pair by the hashes of the summaries: a refresh of context or keywords does not reopen it."""
    return "|".join(sorted((digest(a["summary"])[:12], digest(b["summary"])[:12])))


def digest(*parts: object) -> str:
    """A hash for ids that come from content and position, so that a stage that runs again writes the same."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def entry_id(raw: Mapping[str, Any], position: int, task: Task) -> str:
    """The id of an entry that a step brings, known before it is in the tree; an agent may have named it already."""
    return (
        raw.get("id")
        or "e" + digest(task["id"], position, str(raw.get("source", "executor")), clean(str(raw["text"])))[:12]
    )


def groups(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Union-find: the connected groups of pairs, in order of first appearance."""
    heads: dict[str, str] = {}

    def head(node_id: str) -> str:
        while heads.setdefault(node_id, node_id) != node_id:
            node_id = heads[node_id]
        return node_id

    for a, b in pairs:
        first, second = head(a), head(b)
        if first != second:
            heads[second] = first
    found: dict[str, list[str]] = {}
    for node_id in heads:
        found.setdefault(head(node_id), []).append(node_id)
    return list(found.values())


_DOCUMENTS = 64
"""How many documents are remembered as they were read."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A stretch of raw text to read.

    Attributes:
        anchor: Where it stands.
        score: How well the best of what it was joined from was found.
        placed: Its sentences with their places; offsets count from its beginning.
        recalled: What it was joined from: memories and their stretches.
    """

    anchor: Anchor
    score: float
    placed: tuple[Placed, ...]
    recalled: tuple[tuple[Recalled, Anchor], ...]

    def owner(self, place: Anchor) -> str | None:
        """The memory that a stretch of it belongs to."""
        return next((item["node"] for item, anchor in self.recalled if overlap(anchor, place)), None) or None


def joined(tree: InteractionTree, recalled: Sequence[tuple[Recalled, Anchor]]) -> list[Readable]:
    """Join what was recalled of each document, and read it; the best found first.

    A sentence that is cut by the border of a recalled stretch is read whole. What was forgotten is left out.
    """
    by_entry: dict[str, list[tuple[Recalled, Anchor]]] = {}
    for item, anchor in recalled:
        by_entry.setdefault(anchor["entry"], []).append((item, anchor))
    found = [one for entry, parts in by_entry.items() for one in _stretches(tree, entry, parts)]
    return sorted(found, key=lambda one: -one.score)


def _stretches(tree: InteractionTree, id: str, recalled: Sequence[tuple[Recalled, Anchor]]) -> list[Readable]:
    entry = tree.get("entries", {}).get(id)
    if entry is None or not entry["text"].strip():
        return []
    sentences = _read(entry["text"], document_name(entry["source"]))
    groups: list[list[Placed]] = []
    last = -2
    for number, one in enumerate(sentences):
        if any(anchor["start"] < one.end and one.start < anchor["end"] for _, anchor in recalled):
            if number != last + 1:
                groups.append([])
            groups[-1].append(one)
            last = number
    return [_stretch(id, group, recalled) for group in groups]


def _stretch(id: str, group: Sequence[Placed], recalled: Sequence[tuple[Recalled, Anchor]]) -> Readable:
    start, end = group[0].start, group[-1].end
    anchor: Anchor = {"entry": id, "start": start, "end": end}
    own = tuple((item, part) for item, part in recalled if overlap(part, anchor))
    return Readable(anchor, max(item["score"] for item, _ in own), tuple(_shifted(one, start) for one in group), own)


def _shifted(one: Placed, by: int) -> Placed:
    cells = tuple((start - by, end - by) for start, end in one.cells)
    return replace(one, start=one.start - by, end=one.end - by, cells=cells)


@lru_cache(maxsize=_DOCUMENTS)
def _read(text: str, name: str) -> tuple[Placed, ...]:
    return sentences_of(text, name)


MOST_SOURCES = 5
MOST_CHARACTERS = 200_000
"""How much of what tools brought is looked through; longer results are cut."""


def supporting(
    state: MemoryBankState, answer: str, task: Task, brought: Sequence[Mapping[str, Any]]
) -> list[AnswerSource]:
    """The sentences that hold the names and numbers of an answer, as few as hold them all.

    Args:
        state: Holds the memories that were recalled for the step.
        brought: New entries of the step; what tools brought is looked at before memory.
    """
    candidates = [(source, names_and_numbers(source["quote"])) for source in _sentences(state, task, brought)]
    left, found = names_and_numbers(answer), list[AnswerSource]()
    while left and candidates and len(found) < MOST_SOURCES:
        source, held = max(candidates, key=lambda one: len(one[1] & left))
        if not held & left:
            break
        found.append(source)
        left -= held
    return found


def _sentences(state: MemoryBankState, task: Task, brought: Sequence[Mapping[str, Any]]) -> Iterator[AnswerSource]:
    for position, raw in enumerate(brought):
        if raw.get("kind") == "tool_result":
            text, entry = clean(str(raw["text"]))[:MOST_CHARACTERS], entry_id(raw, position, task)
            for start, end in _stripped(text, sentences(text)):
                source = clean(str(raw.get("source", "executor")))
                yield {"quote": text[start:end], "source": source, "entry": entry, "start": start, "end": end}
    tree, wrong = state["interaction_tree"], refuted_anchors(state)
    for item in state.get("recalled", []):
        for anchor in item["passages"]:
            text = text_of(tree, anchor)
            for start, end in _stripped(text, sentences(text)):
                place: Anchor = {**anchor, "start": anchor["start"] + start, "end": anchor["start"] + end}
                if not any(overlap(place, other) for other in wrong):
                    yield citation(state, place, item["node"])


def _stripped(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        said = text[start:end]
        if said.strip():
            yield start + len(said) - len(said.lstrip()), start + len(said.rstrip())
