"""Looks for memories: within the time limit, above the threshold, the surest first."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from typing import Final, TypeVar

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.extractive.conversation import (
    MOST_READ,
    SHARE_OF_BEST,
    Judge,
    Likeness,
    MessageReading,
    Told,
    are_of_others,
    attribute_asked_for,
    event_asked_before,
    only_asks,
    past_asked,
    shown_text,
    succeeded,
    tells_of_event,
    words_replaced,
)
from agentic_memory_bank.nodes.deps import Owner, context_of, owner_of
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.messages import checked_messages, turns_of
from agentic_memory_bank.nodes.recall.overview import all_that_is_known
from agentic_memory_bank.nodes.recall.past import held_on, is_left_of, said_on, turns_told
from agentic_memory_bank.nodes.recall.thresholds import above_elbow, by_kind
from agentic_memory_bank.state.conversations import MemoryContext, RecalledMemory, RecallRequest, RecallState
from agentic_memory_bank.state.records import RecordType
from agentic_memory_bank.tools.concurrency.circuit_breaker import CircuitBreaker, circuit_breaker_of, log_fault
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.weights import MODEL
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MemoryHit, Threshold
from agentic_memory_bank.tools.text.attribution import ASSISTANT, USER, asks_the_assistant, unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.terms import tokenize

CANDIDATES: Final = 60
"""How many memories are chosen from, at least; or as many times the limit as `FOLD` says."""
READ: Final = 40
"""How many of them are read beside the message, at most."""
SHARE_OF_MANY: Final = 0.2
"""`SHARE_OF_BEST` in a talk among several, of what words alone say: reading would leave out turns beside the answer."""
FOLD: Final = 4
PREFERENCE: Final = 0.05
"""What the type that a message asks for adds to a score."""
COMMON_WORDS: Final = 0.15
"""What common words lose of their share in a score: people say the same in other words, and the same words of much
else. Chosen on LoCoMo for the local model of embeddings, which says little of Chinese: there nothing is taken away."""

_Result = TypeVar("_Result")

_HOW: Final = re.compile(
    r"\bhow (?:do|did|does|can|could|should|would|shall) (?:i|we|you|one)\b|\bhow to\b|\bsteps? (?:to|for)\b"
    r"|怎么(?:做|办|弄|用|样做)|如何|步骤",
    re.IGNORECASE,
)
_ASKED_BEFORE: Final = re.compile(
    r"\b(?:did|have|had|what) i\b[^?]{0,20}\bask|\bi (?:ever )?asked\b|我.{0,6}问过", re.IGNORECASE
)
"""A message about what was asked before."""
_WHEN: Final = re.compile(
    r"\bwhen\b|\blast (?:time|week|month|year|night)\b|\bhow long ago\b|\bwhat happened\b|\bremember the time\b"
    r"|什么时候|何时|上次|那次|哪天",
    re.IGNORECASE,
)


def find_memories(state: RecallState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> list[RecalledMemory]:
    """The memories that fit what is asked, best first, no more than are worth choosing from.

    Loading the local model of embeddings is no fault of the store: its time does not count. It is not loaded for who
    has no memories.

    Raises:
        CallFailed: The store is down, slow, or cannot embed.
        NoUserError: Nobody is named whose memories are meant.
    """
    context, owner, asked = context_of(runtime), owner_of(runtime), state["asked"]
    records, encoder = partial(deps.records, runtime), deps.stores.encoder
    as_of = date.fromisoformat(asked["as_of"]) if asked["as_of"] else past_asked(state["query"], deps.clock().date())
    limit, left = context.recall_timeout, context.recall_timeout - state.get("waited", 0.0)
    search = _TimedSearch(records, encoder, owner, asked, circuit_breaker_of(deps.stores), limit, left, as_of)
    own = _own_turns(state)
    if as_of is None and asked.get("everything"):
        return [_memory(one) for one in search.everything() if not is_said_by(one, own)]
    found = _before_event(search, state) if state["query"].strip() else []
    found = [one for one in found if not is_said_by(one, own)]
    if records().lacks_vectors(owner.user):  # whoever kept them was killed before they had any
        circuit_breaker_of(deps.stores).run_later(lambda: records().backfill_vectors(owner.user))
    if context.recall_elbow:
        found = above_elbow(found, -1.0)
    if asked["by_kind"] and MODEL in encoder.model:
        found = relevant(state["query"], found, search.read, is_of_a_day=asked["as_of"] is not None, as_of=search.as_of)
    elif not is_cjk(state["query"]):
        found = by_meaning(found)
    if context.recall_routing:
        found = _preferring(preferred(state["query"]), found)
    log_fault("found", len(found)) if found else log_fault("nothing")
    return [_memory(one) for one in found]


def _before_event(search: "_TimedSearch", state: RecallState) -> list[MemoryHit]:
    """What is found, by what was true before the event that a message names: "where did I live before the move?"."""
    found, event = search.of(_queries(state)), event_asked_before(state["query"])
    told = event and search.as_of is None and [one for one in found if tells_of_event(one.record["text"], event)]
    if not told:
        return found
    day = max(said_on(one.record) for one in told) - timedelta(days=1)
    return replace(search, as_of=day).of(_queries(state)) or found


def _own_turns(state: RecallState) -> set[str]:
    """The message itself, where its id tells which turn it is: it is kept before it is answered."""
    return {turn.id for turn in turns_of(one for one in checked_messages(state["messages"])[-1:] if one.id)}


def is_said_by(found: MemoryHit, turns: set[str]) -> bool:
    """Whether a memory was said in these turns and nowhere else."""
    said = {*turns_told(found.record)}
    return bool(said) and said <= turns


def _queries(state: RecallState) -> list[str]:
    return [state["query"], *(passage for passage in state.get("passages", []) if passage.strip())]


@dataclass(frozen=True, slots=True)
class _TimedSearch:
    """One search of one user's memories."""

    records: Callable[[], RecordStore]
    encoder: Encoder
    owner: Owner
    asked: RecallRequest
    guard: CircuitBreaker
    limit: float
    """Seconds that recalling may take."""
    left: float
    """Seconds of them that the search may take."""
    as_of: date | None = None
    """The day on which what is found was true; None for now."""
    begun: float = field(default_factory=time.monotonic)
    loading: list[float] = field(default_factory=list[float])
    """Seconds that models took to load."""

    def of(self, queries: Sequence[str]) -> list[MemoryHit]:
        """What is found for any of the queries."""
        until = time.monotonic() + self.left
        if not self.encoder.is_loaded:
            if not self._call(self._is_anything_there, until):
                return []
            begun = time.monotonic()
            self.guard.load_model(self.encoder.load)
            self.loading.append(time.monotonic() - begun)
            until += self.loading[-1]
        return self._call(partial(self._found, queries), until)

    def everything(self) -> list[MemoryHit]:
        """All that is known of the user, as far as it is shown, the latest first."""
        types, most = self.asked["types"], self.asked["limit"] + 1  # one of them may be the message itself
        until = self.begun + self.left
        known = self._call(lambda: all_that_is_known(self.records(), self.owner, types, most), until)
        return [MemoryHit(one, 1 / (1 + place), 0.0, 0.0, ()) for place, one in enumerate(known)]

    def read(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """What the default model makes of texts beside a question; None where the time is too short for that."""
        left = self.begun + self.left + sum(self.loading) - time.monotonic()
        try:
            return self.guard.run_within(partial(self.encoder.answers, question, texts), max(0.0, left))
        except TimeoutError:
            return None

    def _call(self, job: Callable[[], _Result], until: float) -> _Result:
        return self.guard.call(job, until - time.monotonic(), self.limit, self._is_busy)

    def _is_busy(self) -> bool:
        return self.records().is_busy(self.owner.user)

    def _is_anything_there(self) -> bool:
        user, project = self.owner
        return self.records().has_any(user, project, self.asked["types"])

    def _found(self, queries: Sequence[str]) -> list[MemoryHit]:
        records, asked = self.records(), self.asked
        found = as_one([self._search(records, query, asked) for query in queries])
        if self.as_of is None:
            return [self._with_replaced(records, one) for one in found]
        heirs = {one.record["id"]: records.get(self.owner.user, one.record["replaced_by"] or "") for one in found}
        held = [one for one in found if held_on(self.as_of, one.record, heirs[one.record["id"]])]
        whole = [one.record for one in held if heirs[one.record["id"]]]
        return [one for one in held if not any(is_left_of(one.record, other) for other in whole)]

    def _with_replaced(self, records: RecordStore, found: MemoryHit) -> MemoryHit:
        """A memory with what it has taken the place of: in other words, only that says what it is about."""
        ids = found.record["replaces"]
        olds = [one for id in ids if (one := records.get(self.owner.user, id)) and one["replaced_how"] == "supersede"]
        words = unattributed(found.record["text"])[2][:MOST_READ]
        gone = " ".join(words_replaced(words, unattributed(one["text"])[2][:MOST_READ]) for one in olds)
        return found._replace(before=gone.strip()[:MOST_READ])

    def _threshold(self, query: str) -> Threshold:
        if not self.asked["by_kind"]:
            return self.asked["threshold"]
        return None if MODEL in self.encoder.model else by_kind(query, self.encoder.model)

    def _search(self, records: RecordStore, query: str, asked: RecallRequest) -> Sequence[MemoryHit]:
        return records.search(
            self.owner.user,
            query,
            project=self.owner.project,
            types=asked["types"],
            limit=max(CANDIDATES, FOLD * asked["limit"]),
            threshold=self._threshold(query),
            replaced=self.as_of is not None,
        )


def as_one(searches: Sequence[Sequence[MemoryHit]]) -> list[MemoryHit]:
    """What several searches found, each memory once, by its best; a cosine stays what it is."""
    best: dict[str, MemoryHit] = {}
    for one in (found for search in searches for found in search):
        known = best.get(one.record["id"], one)
        best[one.record["id"]] = one._replace(
            score=max(one.score, known.score),
            cosine=max(one.cosine, known.cosine),
            keyword=max(one.keyword, known.keyword),
            marks=tuple(sorted({*one.marks, *known.marks})),
            coverage=max(one.coverage, known.coverage),
            rarest=max(one.rarest, known.rarest),
        )
    return _ordered(best.values())


def relevant(
    query: str, found: Sequence[MemoryHit], judge: Judge, *, is_of_a_day: bool = False, as_of: date | None = None
) -> list[MemoryHit]:
    """Those that help with a message and still hold, the likeliest first; where it needs none, wishes about it alone.

    Args:
        query: The message.
        found: What was found for it.
        judge: Reads texts beside a question.
        is_of_a_day: Whether the caller named the day on which something was true: then it is asked for in any case.
        as_of: The day that is asked about, by the caller or in the words of the message; None for now.
    """
    found = worth_reading(query, found)
    reading = MessageReading(query, likenesses(query, found), judge)
    speakers = {name for one in found if (name := _named_speaker(one))}
    asked = attribute_asked_for(query)
    stated = [asked is not None and one.record["attribute"] == asked for one in found]
    is_needed = is_of_a_day or reading.helps or any(stated)
    is_named = _names_one_of(speakers, query)
    if not found or not (is_needed or is_named):
        return [found[place] for place in sorted(reading.applying)]
    if is_named or len(speakers) > 1:
        least = SHARE_OF_MANY * max(reading.chances_by_words)
        return by_meaning(one for one, chance in zip(found, reading.chances_by_words, strict=True) if chance >= least)
    told, best = [as_told(one) for one in found], max(reading.chances)
    sure = reading.applying.union(place for place, is_stated in enumerate(stated) if is_stated)
    chances = [best if place in sure else chance for place, chance in enumerate(reading.chances)]
    until = as_of.isoformat() if as_of else ""
    chances, replaced = succeeded(query, told, chances, SHARE_OF_BEST, until=until)
    least = SHARE_OF_BEST * max(chances)
    return _ordered(
        one._replace(score=chance)
        for place, (one, chance) in enumerate(zip(found, chances, strict=True))
        if chance >= least and place not in replaced - reading.applying
    )


def _names_one_of(speakers: Iterable[str], query: str) -> bool:
    """Whether a message names one of the people who spoke: it asks for what they said, in a talk among several."""
    asked = {*tokenize(query)}
    return any(asked & {*tokenize(name)} for name in speakers)


def worth_reading(query: str, found: Sequence[MemoryHit]) -> list[MemoryHit]:
    """Those that were found best.

    Left out is what the assistant said where nobody asks for it, as mostly it only echoes, what the user only asked
    earlier, which is most like the same question and answers nothing, and what they told of others.
    """
    if not asks_the_assistant(query):
        found = [one for one in found if one.record["type"] != "verbatim" or _speaker(one) != ASSISTANT]
    if not _ASKED_BEFORE.search(query):
        found = [one for one in found if not _only_asks(one)]
    found = found[:READ]
    others = are_of_others(query, [unattributed(one.record["text"])[2][:MOST_READ] for one in found])
    return [one for one, is_other in zip(found, others, strict=True) if not is_other or _named_speaker(one)]


def _only_asks(found: MemoryHit) -> bool:
    """Whether a memory is a turn of the user that states nothing."""
    speaker, _, words = unattributed(found.record["text"])
    return found.record["type"] == "verbatim" and speaker == USER and only_asks(words[:MOST_READ])


def likenesses(query: str, found: Sequence[MemoryHit]) -> list[Likeness]:
    """What the memories that were found have in common with a message."""
    best = max((one.score for one in found), default=0.0) or 1.0
    days = [said_on(one.record) for one in found]
    each = sorted(set(days))
    return [
        Likeness(
            text=f"{unattributed(one.record['text'])[2]} {one.before}".strip(),
            speaker=_named_speaker(one),
            cosine=one.cosine,
            coverage=one.coverage,
            rarest=one.rarest,
            found=max(0.0, one.score) / best,
            is_marked=bool(one.marks),
            is_turn=one.record["type"] == "verbatim",
            by_assistant=_speaker(one) == ASSISTANT,
            recent=(each.index(day) + 1) / len(each),
        )
        for one, day in zip(found, days, strict=True)
    ]


def as_told(found: MemoryHit) -> Told:
    """A memory, as it is compared with those that were told earlier and later."""
    record = found.record
    return Told(
        text=shown_text(unattributed(record["text"])[2][:MOST_READ]),
        speaker=_speaker(found),
        said=(said_on(record).isoformat(), record["created_at"]),
        turns=frozenset(turns_told(record)),
        is_turn=record["type"] == "verbatim",
    )


def _speaker(found: MemoryHit) -> str:
    return unattributed(found.record["text"])[0]


def _named_speaker(found: MemoryHit) -> str:
    """The name of who said a memory; empty for the user, the assistant, or whom nobody knows."""
    speaker = _speaker(found)
    return "" if speaker in (USER, ASSISTANT) else speaker


def by_meaning(found: Iterable[MemoryHit]) -> list[MemoryHit]:
    """What was found, ordered anew: less by words in common, more by meaning and by what was said beside it.

    What shares a rare name or number with the message loses nothing: there the word is what counts.
    """
    return _ordered(one if one.marks else one._replace(score=one.score - COMMON_WORDS * one.keyword) for one in found)


def _ordered(found: Iterable[MemoryHit]) -> list[MemoryHit]:
    return sorted(found, key=lambda one: (-one.score, one.record["id"]))


def preferred(query: str) -> Sequence[RecordType]:
    """The types of memories that a message asks for: ways of doing, what happened, or else facts."""
    if _HOW.search(query):
        return ("procedural",)
    return ("episodic", "verbatim") if _WHEN.search(query) else ("semantic",)


def _preferring(types: Sequence[RecordType], found: Sequence[MemoryHit]) -> list[MemoryHit]:
    """A preference among hits that are nearly alike; a much better hit stays before them."""
    return _ordered(one._replace(score=one.score + PREFERENCE * (one.record["type"] in types)) for one in found)


def _memory(found: MemoryHit) -> RecalledMemory:
    record = found.record
    return {
        "id": record["id"],
        "type": record["type"],
        "text": record["text"],
        "cosine": round(found.cosine, 6),
        "score": round(found.score, 6),
        "shared": list(found.marks),
        "trust": record["trust"],
        "created_at": record["created_at"],
        "updated_at": record["updated_at"],
        "conversations": _once(source["conversation"] for source in record["sources"]),
        "turns": _once(turns_told(record)),
        "contradicts": record["contradicts"],
    }


def _once(names: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(name for name in names if name)]
