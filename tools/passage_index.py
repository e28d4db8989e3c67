"""Finds passages of raw text: by keywords and meaning, by the turns around them, by names that the first hits give."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from agentic_memory_bank.state.interaction_tree import Anchor
from agentic_memory_bank.tools.retrieval import Hit, HybridIndex, Vector
from agentic_memory_bank.tools.text import STOP_WORDS, opening, tokenize

DEPTH: Final = 200
"""How many hits are looked at before the best are chosen."""

NEIGHBOUR: Final = 0.4
"""How much of the better adjacent turn's score a turn of a dialogue has on top of its own: answers follow questions."""

FIRST: Final = 3
"""How many of the best hits are read for names that lead on."""

BRIDGE: Final = 0.4
"""How much of the score of the hit that names it a passage has on top of its own."""

MAX_TITLE: Final = 60
"""Longest title, in characters."""

MAX_NAME: Final = 8
"""Longest name, in words."""

_Key = TypeVar("_Key")
_WORD = re.compile(r"[^\W_]+")
_IN_BRACKETS = re.compile(r"[ \t]*[(（][^()（）]*[)）]\s*$")
_LEADING_NAME = re.compile(
    r"(?:(?:The|A|An) )?([A-Z][\w.'’-]*(?: (?:(?:of|the|and|for|in|de|von|van|la|&) ){0,2}[A-Z0-9][\w.'’-]*)+)"
)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is needed of a passage besides its place in the hybrid index."""

    text: str
    anchor: Anchor
    is_turn: bool
    subjects: tuple[str, ...]


class PassageIndex:
    """A hybrid index of passages that takes a second look at what it found; the owner serves one call at a time.

    *Neighbours*: a turn of a dialogue has a share of the score of the turn before or after it in the same entry.
    *Bridges*: a passage about something that one of the first hits names, and the query does not, has a share of that
    hit's score, so that a question leads on from the bridge to the river under it. What a passage is about is said by
    its title (the short line above its text, which also counts twice among its keywords) or by the name it opens with.
    The more passages are about the same, the smaller the share.

    The ranking depends on the passages and the query alone, not on the order in which passages came and went.
    """

    def __init__(self) -> None:
        self._index = HybridIndex()
        self._kept: dict[str, _Kept] = {}
        self._starting: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._ending: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._about: defaultdict[str, set[str]] = defaultdict(set)

    def put(self, id: str, text: str, terms: Sequence[str], anchor: Anchor, vector: Vector | None) -> None:
        """Add a passage, or replace the one of this id.

        Args:
            id: Names the passage.
            text: The passage.
            terms: `tokenize(text)`.
            anchor: Where it stands. Of two neighbours in an entry, one ends where the other starts.
            vector: Of the text, or None.

        Raises:
            EmbeddingError: The vector does not fit the others; the index is unchanged.
        """
        kind = opening(text)
        title = _title(text) if kind in ("text", "heading") else ""
        self._index.put(id, [*terms, *tokenize(title)], vector)
        self._forget(id)
        kept = _Kept(text, anchor, kind == "turn", _subjects(text, title) if kind in ("text", "heading") else ())
        self._kept[id] = kept
        if kept.is_turn:
            self._starting[anchor["entry"], anchor["start"]].add(id)
            self._ending[anchor["entry"], anchor["end"]].add(id)
        for subject in kept.subjects:
            self._about[subject].add(id)

    def remove(self, id: str) -> None:
        """Take a passage out. An unknown id is no error."""
        self._index.remove(id)
        self._forget(id)

    def anchor(self, id: str) -> Anchor:
        """Where a passage stands."""
        return self._kept[id].anchor

    def search(self, query: str, vector: Vector | None, k: int, *, alpha: float) -> list[Hit]:
        """Find the k passages that fit a query best, best first; a score is at most 1 + NEIGHBOUR + BRIDGE times that.

        Raises:
            EmbeddingError: The vector is no finite vector of the dimension of the index.
            InputError: `alpha` or `k` is out of range.
        """
        depth = max(k, DEPTH)
        hits = self._index.search(tokenize(query), vector, depth, alpha=alpha)
        found = {hit.id: hit for hit in hits}
        least = hits[-1].score if len(hits) == depth else 0.0
        bridged = self._bridged(query, hits[:FIRST])
        for id in bridged.keys() - found.keys():
            found[id] = Hit(id, least, 0.0, 0.0)
        ranked = [
            Hit(id, hit.score + self._borrowed(id, found) + bridged.get(id, 0.0), hit.keyword, hit.cosine)
            for id, hit in found.items()
        ]
        return sorted(ranked, key=lambda hit: (-hit.score, hit.id))[:k]

    def _borrowed(self, id: str, found: dict[str, Hit]) -> float:
        """What a turn gains by its neighbours."""
        kept = self._kept[id]
        if not kept.is_turn:
            return 0.0
        entry, start, end = kept.anchor["entry"], kept.anchor["start"], kept.anchor["end"]
        near = self._ending.get((entry, start), set()) | self._starting.get((entry, end), set())
        return NEIGHBOUR * max((found[other].score for other in near if other in found and other != id), default=0.0)

    def _bridged(self, query: str, first: Sequence[Hit]) -> dict[str, float]:
        """The passages about what the first hits name, each with what it gains."""
        asked = set(self._named(query))
        gains: dict[str, float] = {}
        for hit in first:
            kept = self._kept[hit.id]
            for name in set(self._named(kept.text)) - asked - {*kept.subjects}:
                gain = BRIDGE * hit.score / math.sqrt(len(self._about[name]))
                gains.update((id, max(gain, gains.get(id, 0.0))) for id in self._about[name] if id != hit.id)
        return gains

    def _named(self, text: str) -> Iterator[str]:
        """The subjects of passages that a text names, the longest at each word that is not written small."""
        words = _WORD.findall(text)
        folded = [word.casefold() for word in words]
        for position, word in enumerate(words):
            if word[0].islower():
                continue
            for end in range(min(len(words), position + MAX_NAME), position, -1):
                name = " ".join(folded[position:end])
                if name in self._about:
                    yield name
                    break

    def _forget(self, id: str) -> None:
        kept = self._kept.pop(id, None)
        if kept is None:
            return
        _discard(self._starting, (kept.anchor["entry"], kept.anchor["start"]), id)
        _discard(self._ending, (kept.anchor["entry"], kept.anchor["end"]), id)
        for subject in kept.subjects:
            _discard(self._about, subject, id)


def _discard(sets: defaultdict[_Key, set[str]], key: _Key, id: str) -> None:
    if key in sets:
        sets[key].discard(id)
        if not sets[key]:
            del sets[key]


def _title(text: str) -> str:
    """The first line of a passage when it names what the rest is about: short, and no sentence nor part of one."""
    line, _, rest = text.partition("\n")
    line = line.lstrip("# \t").rstrip("# \t\r")
    if not line or not rest.strip() or len(line) > MAX_TITLE or line[-1] in ".,;:…。，、；：" or line[0].islower():
        return ""
    return line


def _subjects(text: str, title: str) -> tuple[str, ...]:
    """What a passage is about, in normal form: its title or else the name of several words that it opens with."""
    leading = _LEADING_NAME.match(text)
    name = _IN_BRACKETS.sub("", title) or (leading[1] if leading else "")
    words = [word.casefold() for word in _WORD.findall(name)]
    return () if len(words) > MAX_NAME or STOP_WORDS.issuperset(words) else (" ".join(words),)
