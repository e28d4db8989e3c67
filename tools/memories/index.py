"""The index of one user's memories: folds their events and searches them; a function of the events alone."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.record_events import RecordEvent, fold_record, is_event, mentions
from agentic_memory_bank.state.records import Record, RecordFilter, is_expired, normalized
from agentic_memory_bank.tools.memories.record_tables import RecordTables, content_key, discard, without_vector
from agentic_memory_bank.tools.memories.turns import AskedOf, speaker_terms
from agentic_memory_bank.tools.memories.validation import MemoryHit, RecordThreshold, Threshold
from agentic_memory_bank.tools.memories.vectors import decode_vector
from agentic_memory_bank.tools.search.query import Query
from agentic_memory_bank.tools.search.scoring import Hit, Scoring
from agentic_memory_bank.tools.search.text_index import DEPTH
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.terms import tokenize

RARE: Final = 3
"""A name or number is rare if no more memories of the user than this hold it, or no more than a share of them."""
RARE_SHARE: Final = 0.05
"""The share."""

HELD: Final = 0.5
"""Share of a query's words that a memory without a vector must hold to be found."""

_NEVER: Final = "9999"


class RecordIndex(RecordTables):
    """Follows the events of one user; the owner serves one call at a time. Its arguments are those of its tables."""

    # --- following -------------------------------------------------------------------------------------------------

    def apply(self, events: Mapping[str, RecordEvent | None]) -> list[str]:
        """Apply events that were added, changed or deleted.

        Returns:
            The keys of events that are still there of memories that are forgotten: somebody wrote them who had not
            heard of it yet. They have to be erased.
        """
        touched: dict[str, None] = {}
        for key, event in events.items():
            touched.update(dict.fromkeys(self._drop(key)))
            if event is not None and self._is_ours(event):
                touched.update(dict.fromkeys(self._take(key, event)))
        groups = [group for id in touched for group in self._refold(id)]
        self._rank_alike(groups)
        return [key for id in touched if id in self.deleted for key in self.keys_of(id)]

    def _is_ours(self, event: RecordEvent) -> bool:
        return is_event(event) and event.get("user", self._owner) == self._owner

    def _drop(self, key: str) -> list[str]:
        event = self._events.pop(key, None)
        self._vectors.pop(key, None)
        ids = mentions(event) if event else []
        for id in ids:
            self._keys.own(id, set[str]).discard(key)
        return ids

    def _take(self, key: str, event: RecordEvent) -> list[str]:
        ids = mentions(event)
        vector = event.get("vector")
        if isinstance(vector, str) and vector:
            self._vectors[key] = vector
        self._events[key] = without_vector(event)
        for id in ids:
            self._keys.own(id, set[str]).add(key)
        return ids

    def _refold(self, id: str) -> list[str]:
        """Bring one memory up to date; the groups of memories that say the same and have to be ranked again."""
        keys = self._keys.get(id, set[str]())
        record = fold_record(id, {key: self._events[key] for key in keys})
        before = self.records.pop(id, None)
        if before and record and record["version"] not in self._vectors and _differs_in_uses(before, record):
            self.records[id] = record
            return []
        groups = [content_key(r) for r in (before, record) if r is not None]
        if before is not None:
            self.unplace(before)
        self._note_forgotten(id, keys)
        if record is None:
            self._unindex(id)
        else:
            self.records[id] = record
            self.place(record)
            self._reindex(record, keys)
        if not keys:
            self._keys.pop(id, None)
        return groups

    def _note_forgotten(self, id: str, keys: Collection[str]) -> None:
        gone = [
            self._events[k]["at"] for k in keys if self._events[k]["op"] == "forget" and self._events[k]["id"] == id
        ]
        if gone:
            self.deleted[id] = min(gone)
            self._drop_vectors(id, keys)
        else:
            self.deleted.pop(id, None)

    def _rank_alike(self, groups: Iterable[str]) -> None:
        """Of memories that say the same, written by two at a time, one stands for all: the one that stays longest."""
        for group in dict.fromkeys(groups):
            alike = self._alike.get(group, set[str]())
            current = [r for id in alike if (r := self.records[id])["replaced_by"] is None]
            current.sort(key=lambda r: (r["created_at"], r["id"]))
            first = max(current, key=lambda r: _NEVER if r["pinned_at"] else r["expires_at"] or _NEVER, default=None)
            for id in alike:
                (self._idle.discard if first and id == first["id"] else self._idle.add)(id)

    # --- the index -------------------------------------------------------------------------------------------------

    def _reindex(self, record: Record, keys: Collection[str]) -> None:
        id, version = record["id"], record["version"]
        held = self._indexed.get(id)
        if held is not None and held[0] == version and version not in self._vectors:
            return
        vector = self._usable(id, self._vectors.get(version), self._events[version].get("model", ""))
        self._drop_vectors(id, keys)
        self._index.put(id, tokenize(record["text"]), vector)
        marks = _marks(self._events[version], record["text"])
        self._mark(id, marks)
        self._indexed[id] = version, sorted(marks)
        self._speakers.pop(id, None)
        if speaker := speaker_terms(record["text"]):
            self._speakers[id] = set(speaker)

    def _drop_vectors(self, id: str, keys: Collection[str]) -> None:
        for key in keys:
            if self._events[key]["id"] == id:  # the beginning of another memory may name this one
                self._vectors.pop(key, None)

    def _unindex(self, id: str) -> None:
        self._index.remove(id)
        self._speakers.pop(id, None)
        self._mark(id, frozenset())
        self._indexed.pop(id, None)
        self.other_model.pop(id, None)
        self.unembedded.discard(id)

    def _usable(self, id: str, vector: str | None, model: str) -> NDArray[np.float32] | None:
        self.other_model.pop(id, None)
        self.unembedded.discard(id)
        values = decode_vector(vector or "")
        if values is None:
            self.unembedded.add(id)
            return None
        if model != self._model or len(values) != (self.dimension or len(values)):
            self.other_model[id] = f"{model}, {len(values)} numbers"
            return None
        self.dimension = len(values)
        return values

    def _mark(self, id: str, marks: frozenset[str]) -> None:
        _, before = self._indexed.get(id, ("", []))
        for mark in before:
            if mark not in marks:
                discard(self._holders, mark, id)
        for mark in marks.difference(before):
            self._holders.own(mark, set[str]).add(id)

    # --- looking ---------------------------------------------------------------------------------------------------

    def is_current(self, id: str, now: str) -> bool:
        """Ask whether a memory is current: stored, not replaced and not expired."""
        return id in self.records and id not in self._idle and not self.is_over(id, now)

    def is_over(self, id: str, now: str) -> bool:
        """Ask whether a memory has expired."""
        return id in self._ending and is_expired(self.records[id], now)

    def same_text(self, project: str, type: str, text: str, now: str) -> str | None:
        """The id of the current memory that says just this."""
        group = self._alike.get(json.dumps([project, type, normalized(text)]), set[str]())
        return next((id for id in sorted(group) if self.is_current(id, now)), None)

    def same_source(self, fields: Mapping[str, Any]) -> str | None:
        """The id of the memory, current or replaced, that has just this text from just this source."""
        told = json.dumps([fields["project_name"], fields["type"], normalized(fields["text"])])
        group = self._alike.get(told, set[str]())
        return next((id for id in sorted(group) if fields["source"] in self.records[id]["sources"]), None)

    def ids(self, wanted: RecordFilter, now: str, *, include_replaced: bool = False) -> list[str]:
        """List the ids of the memories that a filter means; with `all_of_them`, also replaced and expired ones."""
        within = self._within(wanted)
        inside = [id for id in self.records if within is None or id in within]
        return inside if include_replaced else [id for id in inside if self.is_current(id, now)]

    def search(
        self,
        query: str,
        vector: NDArray[np.float32] | None,
        wanted: RecordFilter,
        now: str,
        *,
        limit: int,
        threshold: Threshold,
        alpha: float,
        replaced: bool = False,
    ) -> list[MemoryHit]:
        """Search the memories that a filter means, best first.

        Args:
            wanted: Filter by project, type and others.
            threshold: Least raw cosine, of a hit or of what it stands for, where it shares no rare name or number with
                the query; None: no threshold.
            alpha: Weight of keywords, from 0 to 1.
            replaced: Whether to find also what is replaced by now.
        """
        over = {id for id in self._ending if is_expired(self.records[id], now)}
        hidden = over if replaced else over | self._idle
        parts = set[str]() if replaced else self._parts - over
        words = tokenize(query)
        within, without = self._narrowed(wanted)
        asked = Query(words, vector, alpha, exclude=(hidden - parts) | without, within=within)
        scoring, holders = self._index.scoring(asked), self._rare(names_and_numbers(query))
        rarity = {word: self._index.rarity(word) for word in words}
        spared = set[str]().union(*holders.values(), self.unembedded)
        least = threshold.least if isinstance(threshold, RecordThreshold) else threshold
        looked_at = max(limit, DEPTH)
        while True:
            hits = scoring.best(looked_at, least, spared)
            ranked = self._ranked(hits, scoring, hidden, wanted, query)
            read = ((self._found(hit, holders, rarity), near) for hit, near in ranked)
            found = list(islice((one for one, near in read if self._passes(one, near, threshold, words)), limit))
            if len(found) == limit or len(hits) < looked_at:
                return found
            looked_at *= 4

    def _ranked(
        self,
        hits: Sequence[Hit],
        scoring: Scoring,
        hidden: Collection[str],
        wanted: RecordFilter,
        query: str,
    ) -> Iterator[tuple[Hit, float]]:
        """What was found, best first: a memory also for what it stands for, by what was said beside it, and by whom.

        Whoever asks where somebody lives is closer to "I live in Berlin" than to "I moved to Lisbon last month", which
        has taken its place. With each hit comes the best cosine of all that it was found for.
        """
        asked = AskedOf(query)
        beside = {hit.id: self._turns.beside(self.records[hit.id]) for hit in hits}
        own = {hit.id: hit for hit in hits}
        own |= scoring.of({id for both in beside.values() for some in both for id in some} - own.keys())
        scores: dict[str, float] = {}
        cosines: dict[str, float] = {}
        for hit in hits:
            id, (near, beyond) = hit.id, beside[hit.id]
            score = hit.score + asked.gain(self._speakers.get(id), _best(own, near), _best(own, beyond))
            if id in hidden:
                id = self._heir_of(id)
                if id in hidden or not wanted.matches(self.records[id]):
                    continue
            scores[id] = max(score, scores.get(id, score))
            if self.records[hit.id]["type"] == self.records[id]["type"]:  # a turn may say other things besides
                cosines[id] = max(hit.cosine, cosines.get(id, hit.cosine))
        own |= scoring.of(scores.keys() - own.keys())
        for score, id in sorted((-score, id) for id, score in scores.items()):
            hit = replace(own.get(id, Hit(id, 0.0, 0.0, 0.0)), score=-score)
            yield hit, max(hit.cosine, cosines.get(id, hit.cosine))

    def _heir_of(self, id: str) -> str:
        """The memory that stands for one that was consolidated or superseded; itself where none does."""
        met = {id}
        while id in self._parts and (by := self.records[id]["replaced_by"] or "") in self.records and by not in met:
            id = by
            met.add(id)
        return id

    def _narrowed(self, wanted: RecordFilter) -> tuple[set[str] | None, set[str]]:
        """The memories that a filter means, or None and those that it does not: whichever are fewer to go through."""
        if wanted == RecordFilter():
            return None, set()
        inside, outside = list[set[str]](), list[set[str]]()
        for place, ids in self._places.items():
            (inside if _is_in(json.loads(place), wanted) else outside).append(ids)
        if sum(map(len, outside)) < sum(map(len, inside)):
            return None, set[str]().union(*outside)
        return set[str]().union(*inside), set()

    def _within(self, wanted: RecordFilter) -> set[str] | None:
        if wanted == RecordFilter():
            return None
        places = [ids for place, ids in self._places.items() if _is_in(json.loads(place), wanted)]
        return set[str]().union(*places)

    def _rare(self, marks: Iterable[str]) -> dict[str, set[str]]:
        """Which of these names and numbers are rare, and the memories that hold them."""
        most = max(RARE, int(RARE_SHARE * len(self.records)))
        return {mark: ids for mark in marks if 0 < len(ids := self._holders.get(mark, set[str]())) <= most}

    def _passes(self, found: MemoryHit, cosine: float, threshold: Threshold, words: Sequence[str]) -> bool:
        if threshold is None or found.marks:
            return True
        if found.record["id"] in self.unembedded and _holds(found.record["text"], words):
            return True
        return cosine >= (threshold.of(found.record) if isinstance(threshold, RecordThreshold) else threshold)

    def _found(self, hit: Hit, holders: Mapping[str, Collection[str]], rarity: Mapping[str, float]) -> MemoryHit:
        marks = tuple(sorted(mark for mark, ids in holders.items() if hit.id in ids))
        record = self.records[hit.id]
        shared = [rarity[word] for word in rarity.keys() & set(tokenize(record["text"]))]
        most = math.log1p(max(1.0, len(self.records) - 0.5) / 1.5)  # of a word that one memory holds, or none
        total = math.fsum(value or most for value in rarity.values()) or 1.0
        rarest = min(1.0, max(shared, default=0.0) / most)
        return MemoryHit(record, hit.score, hit.cosine, hit.keyword, marks, math.fsum(shared) / total, rarest)


def _differs_in_uses(before: Record, after: Record) -> bool:
    """Whether a memory was used and is what it was: nearly all that is written, and no table tells of it."""
    used: Record = {**before, "access_count": after["access_count"], "used_at": after["used_at"]}
    return used != before and used == after


def _best(hits: Mapping[str, Hit], ids: Iterable[str]) -> float:
    return max([0.0, *(hits[id].score for id in ids if id in hits)])


def _marks(event: RecordEvent, text: str) -> frozenset[str]:
    """The names and numbers of a text, which its event names unless it is older than that."""
    named = event.get("marks")
    return frozenset(named if isinstance(named, list) else names_and_numbers(text))


def _holds(text: str, words: Sequence[str]) -> bool:
    """Whether a text holds enough of the words of a query, where nothing else can tell that it fits."""
    wanted = set(words)
    return bool(wanted) and len(wanted.intersection(tokenize(text))) >= HELD * len(wanted)


def _is_in(place: list[str], wanted: RecordFilter) -> bool:
    project, type = place
    return wanted.project in (None, project) and (wanted.types is None or type in wanted.types)
