"""Finds pages for research: by keywords and meaning of their parts and of the whole, by their headers, by their ids."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.interaction_tree import Anchor
from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder, Told
from agentic_memory_bank.tools.embeddings.windows import mean_by_length
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.search.query import Query, Vector, alpha_for
from agentic_memory_bank.tools.search.scoring import Hit
from agentic_memory_bank.tools.search.text_index import PART_TOKENS, Ranking, Spot, TextIndex, TextPart, below, owner
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

LITERAL: Final = 0.5
"""What the page that fits a single keyword best has of the score of one that fits a query in every respect: no more
than by the keywords of a query."""

_ABSTRACT: Final = "abstract"
_NOWHERE: Final = (-1, -1)
"""Where the header of a page stands, as one of its parts."""


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that was found."""

    page: str
    """Id of the page."""
    score: float
    """How well it fits; only comparable within one search. 0 if it was asked for by its id and fits nothing else."""
    parts: tuple[Span, ...]
    """Where in its text the parts stand that were found, best first. Empty: it was found as a whole."""
    by_id: bool = False
    """Whether the search asked for it by its id."""


class PageIndex:
    """The pages of one store; derived data that can be built again from the store at any time.

    A page is a text of a `TextIndex`, which ranks it; its header is one of its parts.

    A call is safe from any thread; one at a time is served.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._headers = HybridIndex()
        self._texts = TextIndex()
        self._held: dict[str, dict[str, Span]] = {}
        """The parts of each page, and where they stand in it."""
        self._bare: dict[str, Page] = {}
        """Pages without vectors, as the model failed: they get them once it makes one for a query."""
        self._is_down = False
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, id: object) -> bool:
        return id in self._held

    @property
    def has_meaning(self) -> bool:
        """Whether pages and the last query have vectors; without the model of embeddings they have none."""
        return not self._is_down and not self._bare

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, pages: Sequence[Page], *, only: bool = False, told: Told | None = None) -> None:
        """Add pages, or replace those of the same ids.

        Pages with the same source and title whose metadata say `part` 1, 2, ... of the same number of `parts` are
        taken for one document. Where the model of embeddings fails, pages are found by keywords alone until it works.

        Args:
            pages: Pages to add to the index.
            only: Whether the encoder's file is to keep the vectors of these pages and of nothing else.
            told: Hears how far the vectors are.
        """
        cut = [(page, _parts_of(page)) for page in pages]
        texts = [text for page, spans in cut for text in _embedded(page, spans)]
        if only:
            self._encoder.retain(texts)
        vectors = self._encoder.try_vectors(texts, told)
        with self._lock:
            row = 0
            for page, spans in cut:
                end = row + 1 + len(spans)
                self.remove([page["id"]])
                self._take(page, spans, texts[row:end], None if vectors is None else vectors[row:end])
                row = end
            if vectors is None:
                self._bare.update((page["id"], page) for page in pages)

    def remove(self, ids: Iterable[str]) -> None:
        """Take pages out. An unknown id is no error."""
        with self._lock:
            for id in ids:
                self._bare.pop(id, None)
                if self._held.pop(id, None) is not None:
                    self._headers.remove(id)
                    self._texts.remove(id)

    def _take(self, page: Page, spans: Sequence[Span], texts: Sequence[str], vectors: np.ndarray | None) -> None:
        """Put a page into the indexes, given the texts of its header and its parts, and their vectors."""
        id = page["id"]
        rows: list[Vector | None] = list(vectors) if vectors is not None else [None] * len(texts)
        self._headers.put(id, header := tokenize(texts[0]), rows[0])
        standing: dict[str, Span] = {f"{id}#{number}": span for number, span in enumerate(spans)}
        if page["abstract"]:
            standing[f"{id}#{_ABSTRACT}"] = _NOWHERE
            texts, rows = [*texts, texts[0]], [*rows, rows[0]]
        parts = [
            TextPart(part, text, Anchor(entry=id, start=start, end=end), row)
            for (part, (start, end)), text, row in zip(standing.items(), texts[1:], rows[1:], strict=True)
        ]
        mean = None
        if vectors is not None and spans:
            mean = mean_by_length(vectors[1:], [end - start for start, end in spans])
        place = page["metadata"].get("part", 0)
        where = Spot(_document(page), place if isinstance(place, int) else 0, estimate_tokens(page["text"]))
        self._texts.put(id, page["title"] or None, parts, header, mean, where)
        self._held[id] = standing

    # --- searching -------------------------------------------------------------------------------------------------

    def search(self, search: PageSearch, k: int, settings: Settings) -> list[PageHit]:
        """The pages that are asked for by their ids, then the k others that fit best.

        The request and each of the queries is searched on its own, and a page has the best score it reaches; so does
        each keyword, by the word alone.

        Raises:
            EmbeddingError: The model of embeddings makes vectors of another dimension than before.
            InputError: `k` is negative.
        """
        if k < 0:
            raise InputError("A search needs a k of 0 or more.")
        with self._lock:
            asked = [id for id in dict.fromkeys(search.pages) if id in self._held]
            scores, parts = self._all(search, settings)
        ranked = sorted(scores.keys() - set(asked), key=lambda id: (-scores[id], id))[:k]
        whole = [PageHit(id, scores.get(id, 0.0), (), by_id=True) for id in asked]
        return whole + [PageHit(id, scores[id], tuple(parts.get(id, ()))) for id in ranked]

    def abstracts(self, query: str, k: int, settings: Settings) -> list[str]:
        """Ids of the k pages whose titles and abstracts fit a query best, best first. Raises as `search`."""
        with self._lock:
            return [hit.id for hit in self._headers.scoring(self._query(query, settings)).best(k)]

    def _all(self, search: PageSearch, settings: Settings) -> tuple[dict[str, float], dict[str, dict[Span, None]]]:
        """The pages that anything of a search finds with their scores, and the parts that were found, best first."""
        scores: dict[str, float] = {}
        parts: defaultdict[str, dict[Span, None]] = defaultdict(dict)
        for query in dict.fromkeys(filter(str.strip, (search.request, *search.queries))):
            found = self._ranking(query, settings)
            scores |= {id: max(score, scores.get(id, score)) for id, score in found.texts.items()}
            self._note(parts, found.parts)
        for word in dict.fromkeys(search.keywords):
            hits = self._texts.holding(word, settings.research_pages)
            for hit in hits:
                id = owner(hit.id)
                scores[id] = max(LITERAL * hit.score, scores.get(id, 0.0))
            self._note(parts, hits)
        return scores, parts

    def _note(self, parts: defaultdict[str, dict[Span, None]], hits: Iterable[Hit]) -> None:
        """Add the parts that were found to those of their pages; a header has no place in the text."""
        for hit in hits:
            page = owner(hit.id)
            if (span := self._held[page][hit.id]) != _NOWHERE:
                parts[page][span] = None

    def _ranking(self, query: str, settings: Settings) -> Ranking:
        asked = self._query(query, settings)
        return self._texts.ranking(query, asked.vector, alpha=asked.alpha, by_rank=asked.by_rank)

    def _query(self, query: str, settings: Settings) -> Query:
        alpha = alpha_for(query, settings.alpha, settings.alpha_zh)
        return Query(tokenize(query), self._vector(query), alpha, by_rank=settings.research_fusion == "rrf")

    def _vector(self, text: str) -> np.ndarray | None:
        found = self._encoder.try_vectors([text])
        self._is_down = found is None
        if found is None:
            return None
        if self._bare:
            self.put(list(self._bare.values()))
        return found[0]


def embedded_texts(page: Page) -> list[str]:
    """What a page has vectors of: its header, and each of its parts."""
    return _embedded(page, _parts_of(page))


def _embedded(page: Page, spans: Sequence[Span]) -> list[str]:
    return [_header(page), *_texts_of(page, spans)]


def _header(page: Page) -> str:
    """What a page says of itself: its title and its abstract."""
    return "\n".join(filter(None, (page["title"], page["abstract"])))


def _document(page: Page) -> tuple[object, ...]:
    """What a page was cut from: by itself, it is a document of its own."""
    return (page["source"], page["title"], str(page["metadata"].get("parts", page["id"])))


def _parts_of(page: Page) -> list[Span]:
    text = page["text"]
    return [(start, end) for start, end in passages(text, PART_TOKENS) if text[start:end].strip()]


def _texts_of(page: Page, spans: Sequence[Span]) -> list[str]:
    return below(page["title"], [page["text"][start:end].strip() for start, end in spans])
