"""Finds passages of raw text: by keywords and meaning, by the turns around them, by names that the first hits give."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentic_memory_bank.state.interaction_tree import Anchor
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.search.names import NameIndex, discard, subject_of
from agentic_memory_bank.tools.search.query import Query, Vector
from agentic_memory_bank.tools.search.scoring import Hit, Scoring
from agentic_memory_bank.tools.text.sentences import opening
from agentic_memory_bank.tools.text.terms import tokenize

NEIGHBOUR: Final = 0.4
"""How much of the better adjacent turn's score a turn of a dialogue has on top of its own: answers follow questions."""

BEYOND: Final = 0.2
"""As much of the better one of the turns beyond these."""

ASKED: Final = 0.5
"""What a passage gains that is all there is about a name in the query.

Chosen with the multi-hop questions of `benchmarks/research_retrieval.py`, as are the five below."""

FIRST: Final = 8
"""How many of the best hits are read for names that lead on."""

ROUNDS: Final = 2
"""How often that is done, as what the first hits led to may lead on."""

LEAD: Final = 0.6
"""How much of the score of the hit that leads to it a passage gains, when the lead is sure.

Leads to what is about a name bring more than leads to what merely holds it, and both bring something."""

FADING: Final = 0.2
"""How much less, with each place, the leads of later hits count."""

UNASKED: Final = 0.7
"""What is left of the leads of a hit that is about nothing the query names, where another hit is."""

MAX_TITLE: Final = 80
"""Longest title, in characters."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is needed of a passage besides its place in the hybrid index."""

    anchor: Anchor
    is_turn: bool
    terms: frozenset[str]


class PassageIndex:
    """A hybrid index of passages that takes a second look at what it found; the owner serves one call at a time.

    *Neighbours*: a turn of a dialogue has a share of the score of the turn before or after it in the same entry.
    *Names*: a passage about something that the query names gains. So does one about, or naming, what one of the first
    hits names and the query does not: a share of that hit's score, more if it has what the query asks beyond that hit;
    so a question leads on from the bridge to the river under it. What a passage is about is said by its title (which
    also counts twice among its keywords) or by the name it opens with. The more passages share a name, the smaller the
    share.

    The ranking depends on the passages and the query alone, not on the order in which passages came and went.
    """

    def __init__(self) -> None:
        self._index = HybridIndex()
        self._names = NameIndex()
        self._kept: dict[str, _Kept] = {}
        self._starting: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._ending: defaultdict[tuple[str, int], set[str]] = defaultdict(set)

    def put(
        self,
        id: str,
        text: str,
        terms: Sequence[str],
        anchor: Anchor,
        vector: Vector | None,
        *,
        title: str | None = None,
        origin: str | None = None,
    ) -> None:
        """Add a passage, or replace the one of this id.

        Args:
            id: Id of the passage.
            text: The passage.
            terms: `tokenize(text)`.
            anchor: Where it stands. Of two neighbours in an entry, one ends where the other starts.
            vector: Vector of the text, or None.
            title: What the whole that it was cut from is called. None: its first line, if that looks like a title.
            origin: That whole, if it is more than the entry. Its passages do not lead to each other by names, except
                those with a title of their own.

        Raises:
            EmbeddingError: The vector does not fit the others; the index is unchanged.
        """
        kind, origin = kind_of(text, title), origin or anchor["entry"]
        if title is None and (title := title_of(text) if kind in ("text", "heading") else ""):
            origin = id
        self._index.put(id, [*terms, *tokenize(title)], vector)
        self._forget(id)
        kept = self._kept[id] = _Kept(anchor, kind == "turn", frozenset(terms))
        if kept.is_turn:
            self._starting[anchor["entry"], anchor["start"]].add(id)
            self._ending[anchor["entry"], anchor["end"]].add(id)
        elif kind in ("text", "heading"):
            self._names.put(id, text, subject_of(text, title), origin)

    def remove(self, id: str) -> None:
        """Take a passage out. An unknown id is no error."""
        self._index.remove(id)
        self._forget(id)

    def anchor(self, id: str) -> Anchor:
        """Where a passage stands."""
        return self._kept[id].anchor

    def holding(self, word: str, k: int) -> list[Hit]:
        """The k passages that hold a word, or words, best first, by keywords alone and without a second look."""
        return self._index.search(tokenize(word), None, k)

    def look(self, query: str, vector: Vector | None, *, alpha: float, by_rank: bool = False) -> "Look":
        """Search, to be asked for the best passages and for others. Raises as `search`.

        Args:
            query: What is looked for.
            vector: Vector of the query, or None.
            alpha: Weight of keywords, from 0 to 1.
            by_rank: Whether to fuse the lanes by their ranks instead of their scores.
        """
        scoring = self._index.scoring(Query(tokenize(query), vector, alpha, by_rank=by_rank))
        return Look(self, scoring, self._gains(query, scoring))

    def beside(self, id: str) -> set[str]:
        """The turns just before and after a turn of a dialogue; nothing for other passages."""
        kept = self._kept[id]
        if not kept.is_turn:
            return set()
        entry, start, end = kept.anchor["entry"], kept.anchor["start"], kept.anchor["end"]
        return (self._ending.get((entry, start), set()) | self._starting.get((entry, end), set())) - {id}

    def _gains(self, query: str, scoring: Scoring) -> dict[str, float]:
        """What passages gain by names in the query, and by those that lead on from the first hits."""
        asked = self._names.asked(query)
        direct = {id: ASKED * share for id, share in self._names.about(asked).items()}
        scores = {hit.id: hit.score for hit in scoring.best(FIRST)} | _scores(scoring, direct)
        gains = direct
        for _ in range(ROUNDS):
            first = sorted(scores, key=lambda id: (-scores[id] - gains.get(id, 0.0), id))[:FIRST]
            named = direct.keys() & first or first
            weights = {
                id: scores[id] / (1 + FADING * place) * (1.0 if id in named else UNASKED)
                for place, id in enumerate(first)
            }
            led = self._led(query, asked, weights)
            gains = {id: direct.get(id, 0.0) + led.get(id, 0.0) for id in {**direct, **led}}
            scores |= _scores(scoring, gains.keys() - scores.keys())
        return gains

    def _led(self, query: str, asked: Collection[str], weights: dict[str, float]) -> dict[str, float]:
        """What passages gain by the hits that lead to them, each with the weight it has."""
        rarity = {term: self._index.rarity(term) for term in dict.fromkeys(tokenize(query))}
        total = math.fsum(rarity.values()) or 1.0
        led: dict[str, float] = {}
        for id, weight in weights.items():
            open_terms = rarity.keys() - self._kept[id].terms
            for other, lead in self._names.leads(id, asked).items():
                answered = math.fsum(rarity[term] for term in open_terms & self._kept[other].terms) / total
                led[other] = max(led.get(other, 0.0), LEAD * weight * lead * (1 + answered))
        return led

    def _forget(self, id: str) -> None:
        kept = self._kept.pop(id, None)
        if kept is None:
            return
        self._names.remove(id)
        discard(self._starting, (kept.anchor["entry"], kept.anchor["start"]), id)
        discard(self._ending, (kept.anchor["entry"], kept.anchor["end"]), id)


class Look:
    """One search of a `PassageIndex`, which makes it; good until the index changes."""

    def __init__(self, index: PassageIndex, scoring: Scoring, gains: Mapping[str, float]) -> None:
        self._index, self._scoring = index, scoring
        self.gains = gains
        """What passages have on top of their own score, by names."""

    def first(self, depth: int) -> list[str]:
        """Ids of the passages that speak for themselves, at most so many, and of those that gain by names."""
        return [*(hit.id for hit in self._scoring.best(depth)), *self.gains]

    def ranked(self, ids: Collection[str]) -> list[Hit]:
        """Some passages, best first, by all that speaks for them."""
        found = {id: Hit(id, 0.0, 0.0, 0.0) for id in ids} | self.of(ids)
        bonus = {id: self._borrowed(id, found) + self.gains.get(id, 0.0) for id in found}
        ranked = [replace(hit, score=hit.score + more) if (more := bonus[id]) else hit for id, hit in found.items()]
        return sorted(ranked, key=lambda hit: (-hit.score, hit.id))

    def of(self, ids: Iterable[str]) -> dict[str, Hit]:
        """Passages with their own score alone; those that neither lane says anything of are left out."""
        return self._scoring.of(ids)

    def _borrowed(self, id: str, found: Mapping[str, Hit]) -> float:
        """What a turn gains by its neighbours."""
        gain, met, near = 0.0, {id}, {id}
        for share in (NEIGHBOUR, BEYOND):
            near = {other for one in near for other in self._index.beside(one)} - met
            gain += share * max((found[other].score for other in near if other in found), default=0.0)
            met |= near
        return gain


def _scores(scoring: Scoring, ids: Collection[str]) -> dict[str, float]:
    """The own score of each of these passages."""
    return dict.fromkeys(ids, 0.0) | {id: hit.score for id, hit in scoring.of(ids).items()}


def kind_of(text: str, title: str | None = None) -> str:
    """What a passage opens with (see `opening`); a title such as `Batman: Arkham` above what it is of is no turn.

    Args:
        text: The passage.
        title: What the whole that it was cut from is called, if that is known; else the next line says it again.
    """
    kind = opening(text)
    line, _, rest = text.partition("\n")
    if kind != "turn" or not rest:
        return kind
    named = line.partition(":")[0]
    return "text" if line == title or (named and named in rest[:MAX_TITLE]) else kind


def title_of(text: str) -> str:
    """The first line of a passage when it names what the rest is about: short, and no sentence nor part of one."""
    line, _, rest = text.partition("\n")
    line = line.lstrip("# \t").rstrip("# \t\r")
    if not line or not rest.strip() or len(line) > MAX_TITLE or line[-1] in ".,;:…。，、；：" or line[0].islower():
        return ""
    return line
