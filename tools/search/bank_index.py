"""Finds memories and the stretches of raw text behind them: two indexes that follow the Query Graph."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of
from agentic_memory_bank.state.memory_bank import Recalled
from agentic_memory_bank.state.query_graph import MemoryNode, QueryGraph, covers, memory_text
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.long_work import with_progress
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.windows import Vectors, mean_by_length
from agentic_memory_bank.tools.search.passage_index import kind_of, title_of
from agentic_memory_bank.tools.search.query import Query, alpha_for
from agentic_memory_bank.tools.search.scoring import Hit
from agentic_memory_bank.tools.search.text_index import DEPTH, PART_TOKENS, Ranking, TextIndex, TextPart, owner
from agentic_memory_bank.tools.text.sentences import opening
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import each_passage, estimate_tokens, passages

SHOWN_TOKENS = 2 * PART_TOKENS
"""Upper size of what is shown for a passage that was found: its whole paragraph, up to here."""
AROUND = 4_000
"""How far around a passage its paragraph is looked for, in characters."""
HEADER_TOKENS = 40
"""What the lines of a memory cost in a prompt besides its own words: id, time, labels."""
PLACE_TOKENS = 20
"""What it costs to say where a passage stands."""
NEIGHBOUR_SHARE = 0.1
"""Share of the budget that passages leave to neighbours."""


@dataclass(frozen=True, slots=True)
class _IndexedMemory:
    """What the indexes hold of one memory."""

    says: str
    texts: "_Texts"
    has_vectors: bool
    """Whether they were to be had."""
    vector: Vectors | None
    """Its own; None also where it says nothing."""


class MemoryIndex:
    """The index of one thread's memory: a function of the graph, never a second truth.

    `follow` brings it to any graph by the difference, so it is right after merges, time travel and in a new process.
    A memory is a text of a `TextIndex`, which ranks it and its passages; without vectors, by keywords alone.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._texts = TextIndex()
        self._known: dict[str, _IndexedMemory] = {}
        self._seen: dict[str, MemoryNode | None] = {}
        """The memories as they were met last; None for one without vectors, which is looked at each time."""
        self._entries: set[str] = set()
        """The entries whose raw text the memories have, or had."""
        self._lock = threading.RLock()

    def follow(self, graph: QueryGraph, tree: InteractionTree) -> None:
        """Make the indexes hold the memories of this graph and nothing else."""
        nodes = graph.get("nodes", {})
        with self._lock:
            self._forget(tree.get("entries", {}))
            seen = self._seen.get  # memories are replaced, never changed, so the same object is the same memory
            others = [(i, n) for i, n in nodes.items() if seen(i) is not n]
            added = sum(i not in self._seen for i, _ in others)
            if len(nodes) - added < len(self._seen):
                for node_id in [i for i in self._seen if i not in nodes]:
                    self._drop(node_id)
                    del self._seen[node_id]
            met = [(node, _Texts.of(node, tree)) for _, node in others]
            if changed := [(node, said) for node, said in met if self._is_new(node, said)]:
                self._take(changed)
            self._seen.update((i, n if self._known[i].has_vectors else None) for i, n in others)

    def similar(
        self,
        graph: QueryGraph,
        tree: InteractionTree,
        wanted: Sequence[tuple[str, Collection[str]]],
        settings: Settings,
        *,
        in_turn: bool = False,
    ) -> list[list[Hit]]:
        """For each (memory, memories to leave out), the k memories most like it, best first.

        With `in_turn`, a memory of `wanted` is found only for those behind it, so that each pair comes up once.
        """
        with self._lock:
            self.follow(graph, tree)
            texts = [memory_text(graph["nodes"][node_id]) for node_id, _ in wanted]
            queries = [
                Query(
                    tokenize(text),
                    self._known[node_id].vector,
                    alpha=alpha_for(text, settings.alpha, settings.alpha_zh),
                    exclude={*exclude, node_id},
                    meets=position if in_turn else None,
                )
                for position, (text, (node_id, exclude)) in enumerate(zip(texts, wanted, strict=True))
            ]
            return self._texts.alike(queries, settings.k, [node_id for node_id, _ in wanted])

    def cosines(
        self, graph: QueryGraph, tree: InteractionTree, pairs: Mapping[str, Sequence[str]]
    ) -> dict[str, tuple[float, ...]]:
        """Compare memories of the graph with others of it; zeros where there are no vectors to be had."""
        with self._lock:
            self.follow(graph, tree)
            return {first: tuple(self._cosine(first, other) for other in others) for first, others in pairs.items()}

    def recall(self, graph: QueryGraph, tree: InteractionTree, query: str, settings: Settings) -> list[Recalled]:
        """Choose what a prompt shows: the k best memories, the best passages whosever they are, and some neighbours.

        Passages are taken in their own order, so a prompt holds what a search of the raw text alone would bring.

        Returns:
            Best first; rendering shows them newest first.
        """
        with self._lock:
            self.follow(graph, tree)
            found = self._ranking(query, settings)
            paragraphs = ((owner(hit.id), _paragraph(self._texts.anchor(hit.id), tree)) for hit in found.parts)
            return _Choice(graph, tree, found.texts, settings).of(paragraphs)

    def search_memories(self, query: str, k: int, settings: Settings) -> list[tuple[str, float]]:
        """The k memories that fit a query best, best first, each with its score."""
        with self._lock:
            return list(self._ranking(query, settings).texts.items())[:k]

    def evidence(
        self, graph: QueryGraph, tree: InteractionTree, quotes: Sequence[str], k: int, settings: Settings
    ) -> list[Anchor]:
        """Search the k passages that fit each quote best: evidence for or against it."""
        with self._lock:
            self.follow(graph, tree)
            return [anchor for quote in quotes for _, _, anchor in self.search_passages(quote, k, settings)]

    def search_passages(self, query: str, k: int, settings: Settings) -> list[tuple[Hit, str, Anchor]]:
        """The k passages of raw text that fit a query best, each with its memory and where it stands."""
        with self._lock:
            hits = self._ranking(query, settings, max(k, DEPTH)).parts[:k]
            return [(hit, owner(hit.id), self._texts.anchor(hit.id)) for hit in hits]

    def _ranking(self, query: str, settings: Settings, depth: int = DEPTH) -> Ranking:
        alpha = alpha_for(query, settings.alpha, settings.alpha_zh)
        return self._texts.ranking(query, self._vector(query), alpha=alpha, depth=depth)

    def _forget(self, entries: Collection[str]) -> None:
        """Have memories looked at again whose raw text is there no more."""
        if gone := {entry for entry in self._entries if entry not in entries}:
            self._entries -= gone
            for node_id, known in self._known.items():
                if any(anchor["entry"] in gone for anchor in known.texts.anchors):
                    self._seen[node_id] = None

    def _cosine(self, first: str, second: str) -> float:
        one, other = self._known[first].vector, self._known[second].vector
        return 0.0 if one is None or other is None else float(one @ other)

    def _is_new(self, node: MemoryNode, said: "_Texts") -> bool:
        known = self._known.get(node["id"])
        return known is None or not known.has_vectors or (known.says, known.texts) != (memory_text(node), said)

    def _take(self, changed: Sequence[tuple[MemoryNode, "_Texts"]]) -> None:
        vectors = self._encoder.try_vectors([text for _, said in changed for text in said.embedded])
        first = 0
        for node, said in with_progress(changed, "indexed"):
            own, embedded = node["id"], said.embedded
            rows = None if vectors is None else vectors[first : first + len(embedded)]
            first += len(embedded)
            parts = [
                TextPart(f"{own}#{number}", text, anchor, None if rows is None else rows[number])
                for number, (text, anchor) in enumerate(zip(said.parts, said.anchors, strict=True))
            ]
            whole = mean_by_length(rows, [*map(len, embedded)]) if rows is not None and embedded else None
            self._seen[own] = None  # whatever becomes of the others
            self._entries.update(anchor["entry"] for anchor in said.anchors)
            says = memory_text(node)
            self._texts.put(own, None, parts, tokenize(says), whole)
            self._known[own] = _IndexedMemory(says, said, vectors is not None, whole)

    def _drop(self, node_id: str) -> None:
        self._known.pop(node_id, None)
        self._texts.remove(node_id)

    def _vector(self, text: str) -> np.ndarray | None:
        found = self._encoder.try_vectors([text])
        return None if found is None else found[0]


class IndexPool:
    """The indexes of the threads that were active last; one that was dropped is simply built again."""

    def __init__(self, make: Callable[[], MemoryIndex], size: int = 16) -> None:
        self._make = make
        self._indexes: LruCache[str, MemoryIndex] = LruCache(size)

    def of(self, thread: str) -> MemoryIndex:
        """The index of a thread."""
        return self._indexes.get(thread, self._make)


def embedded_texts(node: MemoryNode, tree: InteractionTree) -> list[str]:
    """What a memory has vectors of, whose mean by their lengths is its own, as that of a page is.

    These are the passages of its raw text, and what it says in other words: a model's summary, for one, and nothing
    where it only quotes.
    """
    return _Texts.of(node, tree).embedded


class _Texts(NamedTuple):
    """The texts of a memory."""

    parts: Sequence[str]
    """The passages of its raw text; one that stands there twice counts once."""
    anchors: Sequence[Anchor]
    """Where each of them stands."""
    own: str
    """What it says in other words."""

    @property
    def embedded(self) -> list[str]:
        """Those that are embedded."""
        return [*self.parts, self.own] if self.own else [*self.parts]

    @classmethod
    def of(cls, node: MemoryNode, tree: InteractionTree) -> "_Texts":
        """Read the texts of a memory."""
        cut: dict[str, Anchor] = {}
        for anchor in node["anchors"]:
            text = text_of(tree, anchor)
            for start, end in passages(text, PART_TOKENS):
                if part := text[start:end].strip():
                    begin = anchor["start"] + start
                    cut.setdefault(part, {"entry": anchor["entry"], "start": begin, "end": anchor["start"] + end})
        return cls(_below_title([*cut]), [*cut.values()], _own_words(node, cut))


def _own_words(node: MemoryNode, parts: Iterable[str]) -> str:
    """What a memory says that its passages do not."""
    if not (raw := "\n".join(parts)):
        return memory_text(node).strip()
    words = frozenset(raw.split())
    lines = dict.fromkeys([node["summary"], node["context"], *node["keywords"]])
    if not (left := [line for line in lines if line not in raw and not words.issuperset(line.split())]):
        return ""
    known = frozenset(tokenize(raw))
    return "\n".join(line for line in left if not known.issuperset(tokenize(line)))


def _below_title(texts: Sequence[str]) -> list[str]:
    """The passages of a memory, each with the title that the first opens with above it, if it has none of its own."""
    title = title_of(texts[0]) if texts and kind_of(texts[0]) in ("text", "heading") else ""
    return [
        text if not (title and n) or opening(text) != "text" else f"{title}\n{text}" for n, text in enumerate(texts)
    ]


def _paragraph(part: Anchor, tree: InteractionTree) -> Anchor:
    """The paragraph that a passage was cut from, if it is not too long to be shown whole; else the passage."""
    entry = tree.get("entries", {}).get(part["entry"])
    text = entry["text"] if entry else ""
    low = max(0, part["start"] - AROUND)
    for start, end in each_passage(text[low : part["end"] + AROUND], SHOWN_TOKENS):
        if low + start <= part["start"] and part["end"] <= low + end:
            return {"entry": part["entry"], "start": low + start, "end": low + end}
    return part


class _Choice:
    """Fills the token budget of a prompt: hits, then passages in their order, with room kept for a few neighbours."""

    def __init__(
        self, graph: QueryGraph, tree: InteractionTree, scores: Mapping[str, float], settings: Settings
    ) -> None:
        self._graph, self._tree, self._scores = graph, tree, scores
        self._k, self._per_hit = settings.k, settings.neighbours_per_hit
        self._left = settings.memory_tokens
        self._hits: list[str] = []
        self._shown: dict[str, list[Anchor]] = {}

    def of(self, found: Iterable[tuple[str, Anchor]]) -> list[Recalled]:
        """What is shown, given the passages found, best first; no more of them are looked at than there is room."""
        for node_id in list(self._scores)[: self._k]:
            if not self._take(self._cost(node_id)) and self._hits:
                break
            self._hits.append(node_id)
            self._shown[node_id] = []
        kept_back = int(self._left * NEIGHBOUR_SHARE)
        self._left -= kept_back
        self._add_passages(found)
        self._left += kept_back
        self._add_neighbours()
        return [
            {"node": i, "score": round(self._scores.get(i, 0.0), 6), "hit": i in self._hits, "passages": anchors}
            for i, anchors in sorted(self._shown.items(), key=self._order)
        ]

    def _add_passages(self, found: Iterable[tuple[str, Anchor]]) -> None:
        for node_id, anchor in found:
            cost = estimate_tokens(text_of(self._tree, anchor)) + PLACE_TOKENS
            if node_id not in self._shown:
                cost += HEADER_TOKENS
            if any(anchor in shown for shown in self._shown.values()):
                continue  # two parts of one paragraph were found
            if not self._take(cost) and any(self._shown.values()):
                return  # the best memory and the best passage are shown even if they are over the budget
            self._shown.setdefault(node_id, []).append(anchor)
            node = self._graph["nodes"][node_id]
            if node_id in self._hits and covers(self._shown[node_id], node["anchors"]):
                self._left += estimate_tokens(node["summary"])  # what is shown whole needs no summary

    def _add_neighbours(self) -> None:
        """A few related ones of each hit, the more relevant first; capped, so that no hub floods in."""
        for hit in self._hits:
            others = [n for n in self._graph.get("related", {}).get(hit, []) if n not in self._shown]
            others.sort(key=lambda n: -self._scores.get(n, 0.0))
            for node_id in others[: self._per_hit]:
                if not self._take(self._cost(node_id)):
                    return
                self._shown[node_id] = []

    def _take(self, tokens: int) -> bool:
        """Whether there was room, which is then taken."""
        if tokens > self._left:
            return False
        self._left -= tokens
        return True

    def _cost(self, node_id: str) -> int:
        """What a memory costs in a prompt, passages aside: its id, time and sources with what it says."""
        node = self._graph["nodes"][node_id]
        said = "\n".join([node["summary"], node["context"], *node["keywords"], *node["provenance"]["sources"]])
        return estimate_tokens(said) + HEADER_TOKENS

    def _order(self, shown: tuple[str, list[Anchor]]) -> tuple[bool, float, str]:
        return shown[0] not in self._hits, -self._scores.get(shown[0], 0.0), shown[0]
