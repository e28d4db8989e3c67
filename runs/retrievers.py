"""What is remembered, as LangChain's retrievers: of a user, of a memory of pages, and of a durable run.

Each document says where it stands word for word (`quote`, `source`, `position`), and why it was found (`why`).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from agentic_memory_bank.nodes.memory_bank.views import refuted_anchors
from agentic_memory_bank.runs.conversation_memory import ThresholdChoice
from agentic_memory_bank.runs.export import read_state
from agentic_memory_bank.runs.homes import home_at
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.records import RecordType
from agentic_memory_bank.state.settings import checked_settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.memories.validation import MemoryHit, checked_limit
from agentic_memory_bank.tools.pages.bank_pages import BankPages
from agentic_memory_bank.tools.pages.index import PageHit
from agentic_memory_bank.tools.pages.library import PageLibrary
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.text.cleaning import checked_text
from agentic_memory_bank.tools.text.terms import tokenize

MOST_WORDS: Final = 12
"""How many shared words `why` names."""


class _Retriever(BaseRetriever):
    """What the retrievers share: `k`, in the constructor or in `invoke`, and a thread where nothing may block."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    k: int = 5
    """How many documents at most."""

    def _found(self, query: str, k: int) -> list[Document]:
        raise NotImplementedError

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._found(checked_text(query, "query"), checked_limit(self.k if k is None else k))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        search = partial(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), k=k)
        return await asyncio.to_thread(search)


class MemoryRetriever(_Retriever):
    """Finds the memories of one user. The user is a field, which no query can change.

    Args:
        memories: The memories that are searched; whoever made them closes them.
        user: Id of the user.
        project: An empty text means the memories without a project; None all.
        types: Types of memories; None for all.
        threshold: Least cosine of a hit; None for no threshold, so that `k` are found wherever there are as many.
        k: How many documents at most.

    Example:
        >>> MemoryRetriever(memories=memories, user="ana", k=3).invoke("Where does she live?")
    """

    memories: Memories
    user: str
    project: str | None = ""
    types: Sequence[RecordType] | None = None
    threshold: ThresholdChoice = "default"

    def _found(self, query: str, k: int) -> list[Document]:
        hits = self.memories.search(
            query, user=self.user, project=self.project, types=self.types, limit=k, threshold=self.threshold
        )
        return [_of_memory(query, hit) for hit in hits]


class PageRetriever(_Retriever):
    """Finds passages of a memory of pages, which `memorizer` or `memory-bank memorize` has made.

    Args:
        memory: Name of the memory.
        user: Id of the user whose memory it is, where it was made on a server; empty where it was made here.
        home: Folder of all that is kept. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        embeddings: Any LangChain embeddings. Default: those that the environment names.
        k: How many documents at most.

    Example:
        >>> PageRetriever(memory="letters").invoke("Who paid for the mirror?")
    """

    memory: str
    user: str = ""
    home: str | Path | None = None
    embeddings: Embeddings | None = None

    def _found(self, query: str, k: int) -> list[Document]:
        settings = checked_settings(None)
        with closing(PageStores(home_at(self.home).prepare().of_pages)) as stores:
            store = stores.of(self.memory, self.user)
            with closing(Encoder(self.embeddings or default_embeddings(settings), cache=store.vectors)) as encoder:
                library = PageLibrary(store, encoder)
                library.follow()
                (hits,) = library.search([PageSearch(query)], k, settings)
                pages = {page["id"]: page for page in library.get([hit.page for hit in hits])}
        return [_of_page(query, hit, pages[hit.page]) for hit in hits if hit.page in pages]


class BankRetriever(_Retriever):
    """Finds what a kept run of `run` or `memory-bank ask` has read; what was settled as wrong is left out.

    Args:
        thread: Name of the run's thread.
        home: Folder of all that is kept. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        embeddings: Any LangChain embeddings. Default: those that the environment names.
        k: How many documents at most.

    Example:
        >>> run("How wide is the mirror?", documents=["report.txt"], thread="mirror")
        >>> BankRetriever(thread="mirror").invoke("What was built of glass?")
    """

    thread: str
    home: str | Path | None = None
    embeddings: Embeddings | None = None

    def _found(self, query: str, k: int) -> list[Document]:
        settings, state = checked_settings(None), read_state(self.thread, home=self.home)
        graph, tree = state.get("query_graph", {}), state.get("interaction_tree", {})
        pages = BankPages(graph, tree, refuted_anchors(state))
        with closing(Encoder(self.embeddings or default_embeddings(settings))) as encoder:
            library = PageLibrary(pages, encoder)
            library.follow()
            (hits,) = library.search([PageSearch(query)], k, settings)
        those = graph.get("conflicts", {}).values()
        disputed = {node for conflict in those if conflict["status"] != "settled" for node in conflict["nodes"]}
        return [self._document(query, hit, pages, tree.get("entries", {}), disputed) for hit in hits]

    def _document(
        self, query: str, hit: PageHit, pages: BankPages, entries: Mapping[str, Any], disputed: set[str]
    ) -> Document:
        (page,) = pages.get([hit.page])
        found = _of_page(query, hit, page)
        start, end = _stretch(hit, page)
        place = next(iter(pages.places(hit.page, start, end)), None)
        node = page["metadata"]["node"]
        more: dict[str, Any] = {"thread": self.thread, "node": node, "disputed": node in disputed}
        if place is not None:
            entry = entries[place.anchor["entry"]]
            quote = entry["text"][place.anchor["start"] : place.anchor["end"]]
            more |= {"source": entry["source"], "position": dict(place.anchor), "quote": quote}
        return Document(found.page_content, id=f"{self.thread} {node}", metadata={**found.metadata, **more})


def _of_memory(query: str, hit: MemoryHit) -> Document:
    record = hit.record
    sources = record["sources"]
    quotes = [quote for source in sources for quote in source["quotes"]]
    metadata: dict[str, Any] = {
        **record["metadata"],
        "quote": quotes[0] if quotes else record["text"],
        "source": sources[0]["conversation"] if sources else "",
        "position": {"turns": list(sources[0]["turns"]) if sources else []},
        "why": {**_why(query, record["text"], hit.score), "cosine": round(hit.cosine, 6), "marks": list(hit.marks)},
        "type": record["type"],
        "project": record["project"],
        "updated_at": record["updated_at"],
    }
    return Document(record["text"], id=record["id"], metadata=metadata)


def _of_page(query: str, hit: PageHit, page: Page) -> Document:
    start, end = _stretch(hit, page)
    quote = page["text"][start:end]
    metadata: dict[str, Any] = {
        **page["metadata"],
        "quote": quote,
        "source": page["source"],
        "position": {"start": start, "end": end},
        "why": _why(query, quote, hit.score),
        "page": page["id"],
        "title": page["title"],
        "abstract": page["abstract"],
    }
    return Document(quote, id=page["id"], metadata=metadata)


def _stretch(hit: PageHit, page: Page) -> tuple[int, int]:
    """Where the best part of a page stands in it; all of it where no part was found."""
    return hit.parts[0] if hit.parts else (0, len(page["text"]))


def _why(query: str, text: str, score: float) -> dict[str, Any]:
    """The score, comparable within one search, and the words that question and text share."""
    there = set(tokenize(text))
    return {"score": round(score, 6), "words": list(_shared(tokenize(query), there))[:MOST_WORDS]}


def _shared(words: Iterable[str], there: set[str]) -> Iterable[str]:
    return dict.fromkeys(word for word in words if word in there)
