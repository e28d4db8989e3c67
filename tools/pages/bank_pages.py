"""The memories of a bank as pages to be searched: the summary is the abstract, the raw text stands below it."""

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.query_graph import MemoryNode, QueryGraph
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.library import PageLibrary
from agentic_memory_bank.tools.pages.store import PageChanges

TITLE_CHARACTERS: Final = 120
"""Longest context that serves as a title; a longer one names its source instead."""
GAP: Final = "\n\n"
"""Stands between the stretches of a memory's raw text."""


@dataclass(frozen=True, slots=True)
class PageOrigin:
    """Where words of a page come from."""

    node: str
    """The memory."""
    anchor: Anchor
    """The stretch of raw text."""


class BankPages:
    """The live memories of a bank, each a page; a source for `PageLibrary`.

    The id of a page comes from its memory and from what it says, so a memory that changed is a new page. `follow`
    brings the pages to any graph by the difference: after merges, after time travel, and for a fork. Memories without
    a word of raw text (it was forgotten) are no pages.

    Args:
        graph: The Query Graph, which holds the memories.
        tree: The Interaction Tree, which holds their raw text.
        refuted: What a validation found wrong. It is left blank, so that places stay and nothing of it is quoted.
    """

    def __init__(self, graph: QueryGraph, tree: InteractionTree, refuted: Sequence[Anchor] = ()) -> None:
        self._identity = uuid4().hex
        self._lock = threading.RLock()
        self._pages: dict[str, tuple[int, Page]] = {}
        """Each with the event with which it came."""
        self._gone: dict[str, int] = {}
        self._sequence = 0
        self.follow(graph, tree, refuted)

    @property
    def identity(self) -> str:
        """Names this very source; it stays the same whatever graph it follows."""
        return self._identity

    def follow(self, graph: QueryGraph, tree: InteractionTree, refuted: Sequence[Anchor] = ()) -> None:
        """Hold the memories of this graph and nothing else."""
        made = (_page(node, tree, refuted) for node in graph.get("nodes", {}).values())
        now = {page["id"]: page for page in made if page["text"].strip()}
        with self._lock:
            for page_id in [i for i in self._pages if i not in now]:
                del self._pages[page_id]
                self._sequence += 1
                self._gone[page_id] = self._sequence
            for page_id in [i for i in now if i not in self._pages]:
                self._sequence += 1
                self._gone.pop(page_id, None)
                self._pages[page_id] = self._sequence, now[page_id]

    def changes(self, since: int = 0, *, texts: bool = True) -> PageChanges:
        """What came and went after an event.

        Args:
            since: `PageChanges.sequence` of the last time; 0 for everything.
            texts: They come in any case.
        """
        with self._lock:
            put = [page for event, page in self._pages.values() if event > since]
            return PageChanges(self._sequence, put, [i for i, event in self._gone.items() if event > since])

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        with self._lock:
            return [self._pages[i][1] for i in dict.fromkeys(ids) if i in self._pages]

    def places(self, page_id: str, start: int = 0, end: int | None = None) -> list[PageOrigin]:
        """Where a stretch of a page's text comes from: one place for each stretch of raw text that it touches.

        Args:
            page_id: The page; one that is not there comes from nowhere.
            start: Position of the first character.
            end: Character behind the last; None for the whole page.
        """
        found: list[PageOrigin] = []
        for page in self.get([page_id]):
            offset, last = 0, len(page["text"]) if end is None else end
            for anchor in page["metadata"]["anchors"]:
                length = anchor["end"] - anchor["start"]
                low, high = max(start, offset), min(last, offset + length)
                if low < high:
                    at = anchor["start"] - offset
                    raw: Anchor = {"entry": anchor["entry"], "start": at + low, "end": at + high}
                    found.append(PageOrigin(page["metadata"]["node"], raw))
                offset += length + len(GAP)
        return found


class BankLibraries:
    """The libraries of the banks that were searched last; one that was dropped is simply made again.

    A library is lent to one search at a time, so that two runs of one thread, a fork and its original for instance,
    never look at each other's memory.

    Args:
        encoder: Makes the vectors, and keeps them: what was encoded once is not encoded again.
        size: How many libraries are kept.
    """

    def __init__(self, encoder: Encoder, size: int = 16) -> None:
        self._encoder = encoder
        self._idle: LruCache[str, tuple[BankPages, PageLibrary]] = LruCache(size)

    @contextmanager
    def lent(
        self, thread: str, graph: QueryGraph, tree: InteractionTree, refuted: Sequence[Anchor] = ()
    ) -> Iterator[tuple[BankPages, PageLibrary]]:
        """The pages of a thread's bank as it is now, ready to be searched, until the block ends."""
        kept = self._idle.pop(thread)
        if kept:
            kept[0].follow(graph, tree, refuted)
        pages, library = kept or self._made(BankPages(graph, tree, refuted))
        library.follow()
        try:
            yield pages, library
        finally:
            self._idle.put(thread, (pages, library))

    def _made(self, pages: BankPages) -> tuple[BankPages, PageLibrary]:
        return pages, PageLibrary(pages, self._encoder)


def _page(node: MemoryNode, tree: InteractionTree, refuted: Sequence[Anchor]) -> Page:
    entries = tree.get("entries", {})
    anchors = [anchor for anchor in node["anchors"] if anchor["entry"] in entries]
    text = GAP.join(_without(text_of(tree, anchor), anchor, refuted) for anchor in anchors)
    first = entries[anchors[0]["entry"]] if anchors else None
    source = ", ".join(node["provenance"]["sources"]) or (first["source"] if first else "")
    context = " ".join(node["context"].split())
    title = context if 0 < len(context) <= TITLE_CHARACTERS else source
    dates = (entries[anchor["entry"]]["metadata"].get("date") for anchor in anchors)
    date = next((str(date) for date in dates if date), "")
    metadata: dict[str, Any] = {"node": node["id"], "anchors": anchors, **({"date": date} if date else {})}
    return {
        "id": _page_id(node["id"], title, node["summary"], text, source, metadata),
        "title": title,
        "abstract": node["summary"],
        "text": text,
        "source": source,
        "metadata": metadata,
        "created_at": node["created_at"],
        "expires_at": None,
    }


def _without(text: str, anchor: Anchor, refuted: Sequence[Anchor]) -> str:
    """The text of an anchor with spaces for what was refuted."""
    for wrong in refuted:
        low, high = max(wrong["start"], anchor["start"]), min(wrong["end"], anchor["end"])
        if wrong["entry"] == anchor["entry"] and low < high:
            start, end = low - anchor["start"], high - anchor["start"]
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _page_id(*said: object) -> str:
    return "b" + hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]
