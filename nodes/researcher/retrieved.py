"""What anybody's retrievers find, as pages beside those of a memory: the run keeps them itself.

A retriever can be asked for what fits a question, never for what it found before. So the text of what it found goes
into the state, where a run that is resumed finds it again.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any, Final, NamedTuple

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.errors import GraphBubbleUp

from agentic_memory_bank.nodes.deps import timestamp
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.model_table import MOST_AT_ONCE
from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.pages.index import PageHit
from agentic_memory_bank.tools.search.text_index import PART_TOKENS
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import passages

Retriever = Runnable[str, Any] | Callable[[str], Sequence[Document]]
"""A retriever of LangChain, or a function from a question to documents, best first."""

LONGEST: Final = 200_000
"""Characters of a document that are kept."""
WHOLE: Final = 6
"""Parts up to which a document is read whole; of a longer one, as many of its parts."""

_LOG = logging.getLogger(__name__)


class Retrieval(NamedTuple):
    """What retrievers found in one round."""

    rows: list[list[PageHit]]
    """A row for each search of each retriever, best first."""
    pages: dict[str, Page]
    """What was found in this round and in those before, by their ids."""
    failures: list[str]
    """The kinds of error of those that failed."""


def checked_retrievers(given: object) -> tuple[Retriever, ...]:
    """Check the retrievers that a graph is built with.

    Raises:
        SettingsError: One of them is nothing that can be asked.
    """
    several = (given,) if isinstance(given, Runnable) or callable(given) else given
    if not isinstance(several, Sequence) or not all(isinstance(one, Runnable) or callable(one) for one in several):
        raise SettingsError("`retrievers` are LangChain retrievers, or functions from a question to documents.")
    return tuple(several)


def retrieve(
    retrievers: Sequence[Retriever],
    searches: Sequence[PageSearch],
    known: Mapping[str, Page],
    settings: Settings,
    now: datetime,
) -> Retrieval:
    """Ask each retriever for the request and the queries of each search, all at the same time.

    One that fails is left out, and the others count. Keywords are asked of none, for it may know whole sentences only.

    Args:
        known: What was found before: a search may name it, to read it whole.
    """
    asked = [
        (number, retriever, query)
        for (number, search), retriever in product(enumerate(searches), retrievers)
        for query in dict.fromkeys((search.request, *search.queries))
    ]
    together: RunnableConfig = {"max_concurrency": settings.max_concurrency or MOST_AT_ONCE}
    answers = RunnableLambda(_answer).batch([(retriever, query) for _, retriever, query in asked], together)
    pages, failures = dict(known), [answer for answer in answers if isinstance(answer, str)]
    rows = [[PageHit(id, 0.0, (), by_id=True) for id in search.pages if id in known] for search in searches]
    for (_, _, query), documents in zip(asked, answers, strict=True):
        found = [] if isinstance(documents, str) else list(_pages(documents[: settings.research_pages], now))
        pages.update((page["id"], page) for page in found)
        terms = frozenset(tokenize(query))
        rows.append([_hit(page, rank, terms) for rank, page in enumerate(found, 1)])
    return Retrieval(rows, pages, failures)


def _answer(asked: tuple[Retriever, str]) -> Sequence[Document] | str:
    """The documents that a retriever finds, or the kind of its error."""
    retriever, query = asked
    try:
        said: Any = retriever.invoke(query) if isinstance(retriever, Runnable) else retriever(query)
        return [one if isinstance(one, Document) else Document(str(one)) for one in said]
    except GraphBubbleUp:
        raise
    except Exception as error:
        _LOG.warning("A retriever failed and is left out: %s", type(error).__name__)
        return type(error).__name__


def _pages(documents: Sequence[Document], now: datetime) -> Iterator[Page]:
    """Documents as pages; the same words of the same source are the same page, whoever found them."""
    for document in documents:
        about, text = document.metadata, clean(document.page_content)[:LONGEST]
        source = clean(str(about.get("source") or document.id or ""))
        if text.strip():
            date = str(about.get("date") or "")
            yield {
                "id": "r" + hashlib.sha256(json.dumps([source, text]).encode()).hexdigest()[:16],
                "title": clean(str(about.get("title") or "")),
                "abstract": "",
                "text": text,
                "source": source,
                "metadata": {"date": clean(date)} if date else {},
                "created_at": timestamp(now),
                "expires_at": None,
            }


def _hit(page: Page, rank: int, terms: Collection[str]) -> PageHit:
    return PageHit(page["id"], 1 / rank, _best(page["text"], frozenset(terms)))


def _best(text: str, terms: frozenset[str]) -> tuple[Span, ...]:
    """Where a long text shares most words with the question; nowhere of one that is read whole."""
    spans = list(passages(text, PART_TOKENS))
    if len(spans) <= WHOLE:
        return ()
    return tuple(sorted(spans, key=lambda span: -len(terms.intersection(tokenize(text[slice(*span)]))))[:WHOLE])
