"""Ranks texts and the parts they are divided into: each by itself, by its other half, and by what stands near it."""

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentic_memory_bank.state.interaction_tree import Anchor
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.search.passage_index import Look, PassageIndex
from agentic_memory_bank.tools.search.query import Query, Vector
from agentic_memory_bank.tools.search.scoring import Hit, Scoring
from agentic_memory_bank.tools.text.sentences import opening
from agentic_memory_bank.tools.text.terms import tokenize

PART_TOKENS: Final = 320
"""Upper size of a part of a text: a paragraph as a rule; longer ones are cut at sentence borders."""

DEPTH: Final = 200
"""How many parts, and how many texts, are looked at before the best are chosen."""

LOOKED_INTO: Final = 20
"""Of how many of the best texts all parts are ranked, also those that say little of the query by themselves."""

HALVING: Final = 300
"""Distance in tokens at which what one text of a document says for another is halved: one or two paragraphs.

It helps short pages cut from meetings and papers; pages of usual size are too far from each other. Chosen with the sets
qmsum and longdoc of `benchmarks/research_retrieval.py`."""

LEAST: Final = 1 / 32
"""Weight below which texts of a document say nothing for each other."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text, as it is searched."""

    id: str
    """Its text's id before a `#`, and what tells it from the other parts behind it."""
    text: str
    anchor: Anchor
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a text stands in what it was cut from."""

    document: Hashable
    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a query finds."""

    texts: Mapping[str, float]
    """The texts with their scores, best first."""
    parts: Sequence[Hit]
    """The parts, best first."""


@dataclass(frozen=True, slots=True)
class _Held:
    parts: tuple[str, ...]
    place: Spot


class TextIndex:
    """Texts and their parts; the owner serves one call at a time.

    A text is scored by its best part and by the whole of it, half and half. Texts cut from one document speak for each
    other, the more the nearer they stand, as a stretch that is about something is longer than a text; the best text of
    a document has as much as it would have alone. A part is scored by itself and by the whole of its text, half and
    half: a sentence is likelier meant where all around it is about what is asked. On top is what names bring (see
    `PassageIndex`): those in the query, and those in the first finds that lead on.
    """

    def __init__(self) -> None:
        self._wholes = HybridIndex()
        self._parts = PassageIndex()
        self._held: dict[str, _Held] = {}
        self._documents: defaultdict[Hashable, dict[int, str]] = defaultdict(dict)

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(
        self,
        id: str,
        title: str | None,
        parts: Sequence[TextPart],
        header: Sequence[str],
        vector: Vector | None,
        place: Spot | None = None,
    ) -> None:
        """Add a text, or replace the one of this id.

        Args:
            id: Id of the text.
            title: What it is called. None: each part may open with a title of its own.
            parts: What it is divided into.
            header: Index terms that count for the whole, besides those of its parts.
            vector: Vector of the whole, or None.
            place: Where it stands in what it was cut from; without it, it is a document of its own.

        Raises:
            EmbeddingError: A vector does not fit the others.
        """
        self.remove(id)
        origin = repr(place.document) if place else None
        place = place or Spot(id, 0, 0)
        terms = list(header)
        for part in parts:
            said = tokenize(part.text)
            self._parts.put(part.id, part.text, said, part.anchor, part.vector, title=title, origin=origin)
            terms += said
        self._wholes.put(id, terms, vector)
        self._held[id] = _Held(tuple(part.id for part in parts), place)
        self._documents[place.document].setdefault(place.number, id)

    def remove(self, id: str) -> None:
        """Take a text out. An unknown id is no error."""
        held = self._held.pop(id, None)
        if held is None:
            return
        self._wholes.remove(id)
        for part in held.parts:
            self._parts.remove(part)
        document = self._documents[held.place.document]
        if document.get(held.place.number) == id:
            del document[held.place.number]
        if not document:
            del self._documents[held.place.document]

    # --- searching -------------------------------------------------------------------------------------------------

    def holding(self, word: str, k: int) -> list[Hit]:
        """The k parts that hold a word, or words, best first, by keywords alone and without a second look."""
        return self._parts.holding(word, k)

    def alike(self, queries: Sequence[Query], k: int, sequence: Sequence[str]) -> list[list[Hit]]:
        """The k texts most like each of some others, as wholes: see `HybridIndex.search_many`."""
        return self._wholes.search_many(queries, k, sequence=sequence)

    def anchor(self, part: str) -> Anchor:
        """Where a part stands."""
        return self._parts.anchor(part)

    def ranking(
        self, query: str, vector: Vector | None, *, alpha: float, by_rank: bool = False, depth: int = DEPTH
    ) -> Ranking:
        """Rank what fits a query.

        Args:
            query: What is looked for.
            vector: Vector of the query, or None.
            alpha: Weight of keywords, from 0 to 1.
            by_rank: Whether to fuse the lanes by their ranks instead of their scores.
            depth: How many parts, and how many texts, are looked at before the best are chosen.

        Raises:
            EmbeddingError: The vector is no finite vector of the dimension of the index.
            InputError: `alpha` is out of range.
        """
        look = self._parts.look(query, vector, alpha=alpha, by_rank=by_rank)
        wholes = self._wholes.scoring(Query(tokenize(query), vector, alpha, by_rank=by_rank))
        first = look.first(depth)
        fitting = self._in_context(
            {owner(part) for part in first} | {hit.id for hit in wholes.best(depth)}, look, wholes
        )
        gains = {owner(part): gain for part, gain in sorted(look.gains.items(), key=lambda item: item[1])}
        texts = {id: score + gains.get(id, 0.0) for id, score in fitting.items()}
        order = sorted(texts, key=lambda id: (-texts[id], id))
        inside = (part for id in order[:LOOKED_INTO] for part in self._held[id].parts)
        whole = {id: hit.score for id, hit in wholes.of(texts).items()}
        parts = [
            replace(hit, score=(hit.score + whole.get(owner(hit.id), 0.0) + look.gains.get(hit.id, 0.0)) / 2)
            for hit in look.ranked({*first, *inside})
        ]
        return Ranking({id: texts[id] for id in order}, sorted(parts, key=lambda hit: (-hit.score, hit.id)))

    def _in_context(self, texts: Collection[str], look: Look, wholes: Scoring) -> dict[str, float]:
        """How well texts fit with what stands around them in their documents, names aside."""
        windows = {id: self._window(id) for id in texts}
        own = self._own({other for window in windows.values() for other in window}, look, wholes)
        scores = {
            id: math.fsum(own[other] * weight for other, weight in window.items()) / math.fsum(window.values())
            for id, window in windows.items()
        }
        return self._scaled(scores, own)

    def _scaled(self, scores: Mapping[str, float], own: Mapping[str, float]) -> dict[str, float]:
        """Give the best text of each document what the best by itself has, else documents would rank below texts."""
        alone: dict[Hashable, float] = {}
        around: dict[Hashable, float] = {}
        for id, score in scores.items():
            document = self._held[id].place.document
            alone[document] = max(own[id], alone.get(document, own[id]))
            around[document] = max(score, around.get(document, score))
        factors = {document: alone[document] / best if best > 0 else 1.0 for document, best in around.items()}
        return {id: score * factors[self._held[id].place.document] for id, score in scores.items()}

    def _own(self, texts: Iterable[str], look: Look, wholes: Scoring) -> dict[str, float]:
        """How well each text fits by itself: its best part and the whole, half and half."""
        whole = wholes.of(texts)
        parts = look.of(part for id in texts for part in self._held[id].parts)
        scores: dict[str, float] = {}
        for id in texts:
            best = max((parts[part].score for part in self._held[id].parts if part in parts), default=0.0)
            scores[id] = (best + (whole[id].score if id in whole else 0.0)) / 2
        return scores

    def _window(self, id: str) -> dict[str, float]:
        """The text and those near it in its document, each with its weight."""
        place = self._held[id].place
        document, window = self._documents[place.document], {id: 1.0}
        for step in (-1, 1):
            number, distance = place.number + step, place.tokens / 2
            while number in document and document[number] != id:
                size = self._held[document[number]].place.tokens
                weight = 0.5 ** ((distance + size / 2) / HALVING)
                if weight < LEAST:
                    break
                window[document[number]] = weight
                number, distance = number + step, distance + size
        return window


def owner(part: str) -> str:
    """The id of the text that a part belongs to."""
    return part.rsplit("#", 1)[0]


def below(title: str, texts: Sequence[str]) -> list[str]:
    """The parts of a text below its title, so that each says what it is about; turns of a dialogue stand alone.

    A single part is no dialogue, whatever it looks like: `Name: ...` may be the title of a work.
    """
    turns = sum(opening(text) == "turn" for text in texts)
    above = "" if len(texts) > 1 and 2 * turns > len(texts) else title
    return ["\n".join(filter(None, (above, text))) for text in texts]
