"""Finds pages for research: by keywords and meaning of their parts and of the whole, by their headers, by their ids."""

import math
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.interaction_tree import Anchor
from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex, Query, Vector, alpha_for
from agentic_memory_bank.tools.search.passage_index import DEPTH, Look, PassageIndex
from agentic_memory_bank.tools.search.scoring import Hit, Scoring
from agentic_memory_bank.tools.text.sentences import opening
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

PART_TOKENS: Final = 320
"""Upper size of a part of a page: a paragraph as a rule; longer ones are cut at sentence borders."""

HALVING: Final = 300
"""Distance in tokens at which what one page of a document says for another is halved: one or two paragraphs.

It helps short pages cut from meetings and papers; pages of usual size are too far from each other. Chosen with the sets
qmsum and longdoc of `benchmarks/research_retrieval.py`."""

LEAST: Final = 1 / 32
"""Weight below which pages of a document say nothing for each other."""

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


@dataclass(frozen=True, slots=True)
class _Held:
    """What is kept of a page."""

    parts: dict[str, Span]
    """The ids of its parts, each with where it stands."""
    tokens: int
    document: tuple[object, ...]
    """What it was cut from."""
    place: int
    """Which part of that it is."""


class PageIndex:
    """The pages of one store; derived data that can be built again from the store at any time.

    A page is scored by its best part and by the whole of it, half and half; its header is one of the parts. Pages cut
    from one document speak for each other, the more the nearer they stand, as a stretch that is about something is
    longer than a page; the best page of a document has as much as it would have alone. On top is what names bring
    (see `PassageIndex`): those in the query, and those in the first finds that lead on.

    A call is safe from any thread; one at a time is served.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._headers = HybridIndex()
        self._wholes = HybridIndex()
        self._parts = PassageIndex()
        self._held: dict[str, _Held] = {}
        self._documents: defaultdict[tuple[object, ...], dict[int, str]] = defaultdict(dict)
        self._owners: dict[str, str] = {}
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

    def put(self, pages: Sequence[Page], *, only: bool = False) -> None:
        """Add pages, or replace those of the same ids.

        Pages with the same source and title whose metadata say `part` 1, 2, ... of the same number of `parts` are
        taken for one document. Where the model of embeddings fails, pages are found by keywords alone until it works.

        Args:
            pages: Pages to add to the index.
            only: Whether the encoder's file is to keep the vectors of these pages and of nothing else.
        """
        cut = [(page, _parts_of(page)) for page in pages]
        texts = [text for page, spans in cut for text in (_header(page), *_texts_of(page, spans))]
        if only:
            self._encoder.retain(texts)
        vectors = self._encoder.try_vectors(texts)
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
                held = self._held.pop(id, None)
                if held:
                    self._headers.remove(id)
                    self._wholes.remove(id)
                    self._leave_document(id, held)
                    for part in held.parts:
                        self._parts.remove(part)
                        del self._owners[part]

    def _take(self, page: Page, spans: Sequence[Span], texts: Sequence[str], vectors: np.ndarray | None) -> None:
        """Put a page into the indexes, given the texts of its header and its parts, and their vectors."""
        id = page["id"]
        rows: list[Vector | None] = list(vectors) if vectors is not None else [None] * len(texts)
        self._headers.put(id, tokenize(texts[0]), rows[0])
        whole = [*tokenize(texts[0]), *tokenize(page["title"]), *tokenize(page["text"])]
        self._wholes.put(id, whole, None if vectors is None else _mean(vectors[1:], spans))
        parts: dict[str, Span] = {f"{id}#{number}": span for number, span in enumerate(spans)}
        if page["abstract"]:
            parts[f"{id}#{_ABSTRACT}"] = _NOWHERE
            texts, rows = [*texts, texts[0]], [*rows, rows[0]]
        origin = repr(_document(page))
        for (part, (start, end)), text, row in zip(parts.items(), texts[1:], rows[1:], strict=True):
            anchor = Anchor(entry=id, start=start, end=end)
            self._parts.put(part, text, tokenize(text), anchor, row, title=page["title"] or None, origin=origin)
        self._hold(page, parts)

    def _hold(self, page: Page, parts: dict[str, Span]) -> None:
        id, place = page["id"], page["metadata"].get("part", 0)
        place = place if isinstance(place, int) else 0
        held = self._held[id] = _Held(parts, estimate_tokens(page["text"]), _document(page), place)
        self._documents[held.document].setdefault(place, id)
        self._owners.update(dict.fromkeys(parts, id))

    def _leave_document(self, id: str, held: _Held) -> None:
        document = self._documents[held.document]
        if document.get(held.place) == id:
            del document[held.place]
        if not document:
            del self._documents[held.document]

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
            found, hits = self._fitting(query, settings)
            scores |= {id: max(score, scores.get(id, score)) for id, score in found.items()}
            self._note(parts, hits)
        for word in dict.fromkeys(search.keywords):
            hits = self._parts.holding(word, settings.research_pages)
            for hit in hits:
                id = self._owners[hit.id]
                scores[id] = max(LITERAL * hit.score, scores.get(id, 0.0))
            self._note(parts, hits)
        return scores, parts

    def _note(self, parts: defaultdict[str, dict[Span, None]], hits: Iterable[Hit]) -> None:
        """Add the parts that were found to those of their pages; a header has no place in the text."""
        for hit in hits:
            page = self._owners[hit.id]
            if (span := self._held[page].parts[hit.id]) != _NOWHERE:
                parts[page][span] = None

    def _fitting(self, query: str, settings: Settings) -> tuple[dict[str, float], list[Hit]]:
        """The pages that fit a query, with their scores, and the parts that do, best first."""
        asked = self._query(query, settings)
        look = self._parts.look(query, asked.vector, alpha=asked.alpha, by_rank=asked.by_rank)
        wholes = self._wholes.scoring(asked)
        hits = look.best(DEPTH)
        pages = {self._owners[hit.id] for hit in hits} | {hit.id for hit in wholes.best(DEPTH)}
        scores = self._in_context(pages, look, wholes)
        gains = {self._owners[part]: gain for part, gain in sorted(look.gains.items(), key=lambda item: item[1])}
        return {id: score + gains.get(id, 0.0) for id, score in scores.items()}, hits

    def _query(self, query: str, settings: Settings) -> Query:
        alpha = alpha_for(query, settings.alpha, settings.alpha_zh)
        return Query(tokenize(query), self._vector(query), alpha, by_rank=settings.research_fusion == "rrf")

    def _in_context(self, pages: Collection[str], look: Look, wholes: Scoring) -> dict[str, float]:
        """How well pages fit with what stands around them in their documents, names aside."""
        windows = {id: self._window(id) for id in pages}
        own = self._own({other for window in windows.values() for other in window}, look, wholes)
        scores = {
            id: math.fsum(own[other] * weight for other, weight in window.items()) / math.fsum(window.values())
            for id, window in windows.items()
        }
        return self._scaled(scores, own)

    def _scaled(self, scores: Mapping[str, float], own: Mapping[str, float]) -> dict[str, float]:
        """Give the best page of each document what the best by itself has, else documents would rank below pages."""
        alone: dict[tuple[object, ...], float] = {}
        around: dict[tuple[object, ...], float] = {}
        for id, score in scores.items():
            document = self._held[id].document
            alone[document] = max(own[id], alone.get(document, own[id]))
            around[document] = max(score, around.get(document, score))
        factors = {document: alone[document] / best if best > 0 else 1.0 for document, best in around.items()}
        return {id: score * factors[self._held[id].document] for id, score in scores.items()}

    def _own(self, pages: Iterable[str], look: Look, wholes: Scoring) -> dict[str, float]:
        """How well each page fits by itself: its best part and the whole, half and half."""
        whole = wholes.of(pages)
        parts = look.of(part for id in pages for part in self._held[id].parts)
        scores: dict[str, float] = {}
        for id in pages:
            best = max((parts[part].score for part in self._held[id].parts if part in parts), default=0.0)
            scores[id] = (best + (whole[id].score if id in whole else 0.0)) / 2
        return scores

    def _window(self, id: str) -> dict[str, float]:
        """The page and those near it in its document, each with its weight."""
        held = self._held[id]
        document, window = self._documents[held.document], {id: 1.0}
        for step in (-1, 1):
            place, distance = held.place + step, held.tokens / 2
            while place in document and document[place] != id:
                size = self._held[document[place]].tokens
                weight = 0.5 ** ((distance + size / 2) / HALVING)
                if weight < LEAST:
                    break
                window[document[place]] = weight
                place, distance = place + step, distance + size
        return window

    def _vector(self, text: str) -> np.ndarray | None:
        found = self._encoder.try_vectors([text])
        self._is_down = found is None
        if found is None:
            return None
        if self._bare:
            self.put(list(self._bare.values()))
        return found[0]


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
    """The parts below the title of their page, so that each says what it is about; turns of a dialogue stand alone.

    A single part is no dialogue, whatever it looks like: `Name: ...` may be the title of a work.
    """
    texts = [page["text"][start:end].strip() for start, end in spans]
    turns = sum(opening(text) == "turn" for text in texts)
    above = "" if len(texts) > 1 and 2 * turns > len(texts) else page["title"]
    return ["\n".join(filter(None, (above, text))) for text in texts]


def _mean(vectors: np.ndarray, spans: Sequence[Span]) -> Vector | None:
    """The vector of a page: the mean of those of its parts by their lengths."""
    return np.average(vectors, axis=0, weights=[end - start for start, end in spans]) if len(spans) else None
