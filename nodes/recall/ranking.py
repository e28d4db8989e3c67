"""Chooses among the memories that fit: the surest and newest, each said once, as many as the token budget holds.

Of a long one the sentences that help with the message are shown, word for word, with a mark between.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from agentic_memory_bank.engines.extractive.conversation import asked_for, day_of, is_small_talk, shown_text, written
from agentic_memory_bank.engines.own_words import is_order
from agentic_memory_bank.prompts import recalled
from agentic_memory_bank.prompts.fence import escape
from agentic_memory_bank.state.conversations import RecalledMemory
from agentic_memory_bank.tools.text.attribution import USER, unattributed
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

RECENCY: Final = 0.16
"""The most that age takes from a score, as a share of it: 0.8 of yesterday is before 0.9 of two months ago."""
ALIKE: Final = 0.8
"""Share of common words from which two memories say the same, if their names and numbers are the same."""
COVERED: Final = 0.8
"""Share of the words of one memory that another one of the same turn holds, from which it need not be shown, too."""
FIRST: Final = 2
"""How many of the best memories are shown at length; of the others, hardly more than the sentence that fits best."""
AT_LENGTH: Final = 0.18
"""Share of the budget that one of the first may take with all its sentences."""
BRIEFLY: Final = 0.054
"""The same for one of the others."""
OWN_WORDS: Final = 0.05
"""What a memory gains in score that the one who is asked about said."""
SMALL_TALK: Final = 0.1
"""What a turn loses at most for saying nothing of its own."""
SUBSTANCE: Final = 8
"""Index terms of a turn from which it loses nothing."""
TIMES: Final = frozenset(("date", "weekday", "clock", "duration", "age", "frequency", "occasion"))
"""What is asked for where it matters what words of time mean (see `asked_for`)."""
SHOWN_ID: Final = 8
"""Characters that are shown of the id of a conversation."""

_WORD: Final = lazy_pattern(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_BY_NAME: Final = lazy_pattern(r",? [A-Z][\w'’-]*(?=[.!…]*$)")
"""The last word of a sentence, if it is written like a name: "Thanks, Mel!"."""
_PLAYED: Final = frozenset(("system", "developer", "human", "系统"))
_SIDES: Final = frozenset((USER, "assistant"))


@dataclass(frozen=True)
class _Reading:
    """A memory as it is compared and shown."""

    memory: RecalledMemory
    speaker: str
    day: str
    words: str

    @cached_property
    def told(self) -> str:
        """The words without sentences that only keep a talk going ("Thanks, Mel!"), where there are others."""
        said = [self.words[start:end] for start, end in sentences(self.words)]
        return " ".join(one for one in said if not _greets(one.strip())) or self.words

    @cached_property
    def parts(self) -> frozenset[str]:
        """These words, each once, however they are written."""
        return frozenset(word.casefold() for word in _WORD.findall(self.told))

    @cached_property
    def names(self) -> set[str]:
        """The names and numbers among them."""
        return names_and_numbers(self.told)


def ranked(
    found: Sequence[RecalledMemory], query: str, *, limit: int, tokens: int, now: datetime, recency_days: float
) -> list[tuple[RecalledMemory, recalled.Earlier]]:
    """The memories that are shown, best first, each as it is shown.

    Args:
        found: What passed the threshold.
        query: What was searched; of a long memory the sentences are shown that say most about it.
        limit: The most that are returned.
        tokens: Budget of the block. A memory that does not fit is left out; the next one may.
        now: What time it is.
        recency_days: In which the weight of recency halves; 0: age does not count.
    """
    wanted = frozenset(tokenize(query))
    ranked = [_weighed(memory, wanted, now, recency_days) for memory in found if not is_harmful(memory["text"])]
    ranked.sort(key=lambda memory: (-memory["score"], memory["id"]))
    shown: list[tuple[RecalledMemory, recalled.Earlier]] = []
    budget = _TokenBudget(tokens)
    readings = deduplicated([_reading(memory) for memory in ranked])
    told = wanted.difference(*(tokenize(reading.speaker) for reading in readings))  # who is addressed tells nothing
    is_of_time = not TIMES.isdisjoint(asked_for(query))
    for reading in (one for one in readings if _says_anything(one, told)):
        share = AT_LENGTH if len(shown) < FIRST else BRIEFLY
        entry = _entry(reading, told, int(tokens * share), is_of_time=is_of_time)
        if budget.takes(entry):
            shown.append((reading.memory, entry))
        if len(shown) == limit:
            break
    return shown


class _TokenBudget:
    """The tokens of a block, and what is left of them."""

    def __init__(self, tokens: int) -> None:
        self._left = tokens - estimate_tokens(recalled.FRAME)
        self._origins = set[str]()
        self._above: recalled.Earlier | None = None
        self._lines = set[tuple[str, str]]()

    def takes(self, entry: recalled.Earlier) -> bool:
        """Whether there was room for a memory that is not shown yet, which is then taken."""
        origin, line = recalled.origin(entry), recalled.earlier(entry)
        size = _size(line) + (0 if origin in self._origins else _size(recalled.origin(entry, self._above)))
        if size > self._left or (origin, line) in self._lines:
            return False
        self._left -= size
        self._lines.add((origin, line))
        if origin not in self._origins:
            self._above = entry
            self._origins.add(origin)
        return True


def _size(lines: str) -> int:
    """The most tokens that lines cost within a block."""
    return estimate_tokens(escape(lines))


def _says_anything(reading: _Reading, wanted: frozenset[str]) -> bool:
    """Whether a turn says something of its own, or at least names what is searched: "Congrats, Tim!" does neither."""
    is_turn = reading.memory["type"] == "verbatim"
    return not is_turn or not wanted.isdisjoint(tokenize(reading.words)) or substance(reading.words) > 0


def is_harmful(text: str) -> bool:
    """Whether a memory is an order to who reads it, or plays the system."""
    speaker, _, _ = unattributed(text)
    return speaker.strip().casefold() in _PLAYED or is_order(_split(text)[2])


def jaccard(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """How many of their words two texts share, from 0 to 1; 1 for two texts without words."""
    return len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0


def _weighed(memory: RecalledMemory, wanted: frozenset[str], now: datetime, recency_days: float) -> RecalledMemory:
    """A memory with a score for what it says, by whom, and when."""
    age = max(timedelta(), now - datetime.fromisoformat(memory["updated_at"])) / timedelta(days=1)
    fading = 1 - math.exp(-math.log(2) * age / recency_days) if recency_days else 0.0
    score = memory["score"] + _worth(memory, wanted)
    return {**memory, "score": round(score - abs(score) * RECENCY * fading, 6)}


def _worth(memory: RecalledMemory, wanted: frozenset[str]) -> float:
    """What a memory gains or loses: people tell of themselves, and a turn may only ask or keep a talk going."""
    speaker, _, words = _split(memory["text"])
    is_own = speaker not in _SIDES and not wanted.isdisjoint(tokenize(speaker))
    missing = max(0, SUBSTANCE - substance(words)) / SUBSTANCE if memory["type"] == "verbatim" else 0.0
    return OWN_WORDS * is_own - SMALL_TALK * missing


def _split(text: str) -> tuple[str, str, str]:
    """Who said a memory, when, and its words as they stand; the first two are empty where that is not sure."""
    speaker, date, _ = unattributed(text)
    header = f"{speaker} ({date}): " if date else f"{speaker}: "
    is_named = (date or speaker in _SIDES) and text.startswith(header)
    return (speaker, date, text.removeprefix(header)) if is_named else ("", "", text)


def _reading(memory: RecalledMemory) -> _Reading:
    speaker, date, words = _split(memory["text"])
    day = day_of(date) or datetime.fromisoformat(memory["updated_at"]).date()
    return _Reading(memory, "" if speaker == USER else speaker, written(day), words)


def _entry(reading: _Reading, wanted: frozenset[str], room: int, *, is_of_time: bool) -> recalled.Earlier:
    memory = reading.memory
    conversation = next(iter(memory["conversations"]), "")[:SHOWN_ID]
    words = excerpt(reading.words, wanted, room, is_of_time=is_of_time)
    return recalled.Earlier(words, reading.day, conversation, memory["trust"], reading.speaker)


def deduplicated(readings: Sequence[_Reading]) -> list[_Reading]:
    """Each memory once: of those that say the same, the newest wording, where the best of them stood."""
    kept: list[_Reading] = []
    for reading in readings:
        place = next((place for place, other in enumerate(kept) if _is_same(reading, other)), None)
        if place is None:
            kept.append(reading)
        elif _is_alike(reading, kept[place]) and _is_newer(reading, kept[place]):
            kept[place] = reading
    return kept


def _is_same(a: _Reading, b: _Reading) -> bool:
    if len(a.parts & b.parts) < min(ALIKE, COVERED) * min(len(a.parts), len(b.parts)):
        return False  # neither below holds, and most pairs share next to nothing
    return _is_alike(a, b) or _covers(a, b) or _is_within(a, b)


def _is_alike(a: _Reading, b: _Reading) -> bool:
    return jaccard(a.parts, b.parts) >= ALIKE and a.names == b.names


def _covers(a: _Reading, b: _Reading) -> bool:
    """Whether both are of one turn, and the longer says what the shorter does."""
    least = min(len(a.parts), len(b.parts))
    return _of_one_turn(a.memory, b.memory) and len(a.parts & b.parts) >= COVERED * least


def _is_within(later: _Reading, shown: _Reading) -> bool:
    """Whether somebody said no more than what is shown already of what they said on the same day."""
    return (later.speaker, later.day) == (shown.speaker, shown.day) and later.parts <= shown.parts


def _of_one_turn(a: RecalledMemory, b: RecalledMemory) -> bool:
    return bool({*a["turns"]} & {*b["turns"]}) and bool({*a["conversations"]} & {*b["conversations"]})


def _is_newer(a: _Reading, b: _Reading) -> bool:
    return a.memory["updated_at"] > b.memory["updated_at"]


SHORT: Final = 16
"""Tokens up to which a text is shown whole."""
LEFT_OUT: Final = "…"

CALL: Final = 2
"""Index terms of a call or thanks that say nothing of their own, whatever is searched: "Hey Mel!"."""

_ASKING: Final = ("?", "？")
_CALLING: Final = ("!", "！")


def excerpt(text: str, wanted: Collection[str], room: int, *, is_of_time: bool = True) -> str:
    """The sentences that say most about what is searched, with what their words of time mean.

    Args:
        text: A turn, word for word.
        wanted: Index terms of what is searched.
        room: Tokens of an excerpt, if the sentence that says most is not longer.
        is_of_time: Whether it is asked when something was; else the day above a memory tells enough.
    """
    body = shown_text(text)
    meant = text[len(body) :] if text.startswith(body) else ""
    said = [body[start:end].strip() for start, end in sentences(body)]
    said = [sentence for sentence in said if sentence]
    if len(said) < 2 or estimate_tokens(text) <= SHORT:
        return text.strip()
    terms = frozenset(wanted)
    worth = [_sentence_worth(sentence, terms) for sentence in said]
    kept = set[int]()
    for place in sorted(range(len(said)), key=lambda place: (-worth[place], place)):
        size = estimate_tokens(said[place])
        if not kept or (size <= room and worth[place] >= 0):
            kept.add(place)
            room -= size
    shown = _joined(said, sorted(kept))
    return f"{shown}{meant}" if is_of_time and _explains(meant, shown) else shown


def _explains(meant: str, shown: str) -> bool:
    """Whether what words of time mean, which stands behind a text, is about words that are shown of it."""
    words = (one.partition("=")[0].strip(" [") for one in meant.split(";"))
    return any(word and word.casefold() in shown.casefold() for word in words)


def _sentence_worth(sentence: str, wanted: frozenset[str]) -> float:
    """How much a sentence has to do with what is searched; below 0 for one that says nothing of its own."""
    terms = set(tokenize(sentence))
    common = len(terms & wanted)
    asks = sentence.endswith(_ASKING)
    if common and (asks or len(terms) > CALL or not _is_idle(sentence, terms)):
        return common + (0.0 if asks else 0.5)
    return -1.0 if _is_idle(sentence, terms) else min(0.4, len(terms) / 50)


def substance(text: str) -> int:
    """How many index terms stand in sentences that say something of their own; 0 for small talk and questions."""
    said = [text[start:end].strip() for start, end in sentences(text)]
    terms = [(sentence, frozenset(tokenize(sentence))) for sentence in said if sentence]
    return len(frozenset[str]().union(*(own for sentence, own in terms if not _is_idle(sentence, own))))


def _is_idle(sentence: str, terms: Collection[str]) -> bool:
    """Whether a sentence asks, greets, or only keeps a conversation going."""
    if sentence.endswith(_ASKING) or (sentence.endswith(_CALLING) and len(terms) <= CALL):
        return True
    return _greets(sentence)


def _greets(sentence: str) -> bool:
    """Whether a sentence keeps a conversation going, maybe with the name of who is spoken to, and says nothing else."""
    return is_small_talk(sentence) or is_small_talk(_BY_NAME.sub("", sentence))


def _joined(said: Sequence[str], kept: Sequence[int]) -> str:
    """The sentences that are kept, in their order."""
    parts: list[str] = []
    for number, place in enumerate(kept):
        if number and place != kept[number - 1] + 1:
            parts.append(LEFT_OUT)
        parts.append(said[place])
    return " ".join(parts)
