"""Plans a deletion: the memories that are named, what was derived from them, and the parts of others that go with them.

A turn or a fact of which only a part is meant is redacted. A part has an id of its own, made of its place in the text
and the hash of that text, so that nothing is deleted but what was shown.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, cast

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import MemorySource, Record
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

TurnRef = tuple[str, str]
"""A conversation, and one of its turns."""

_PART: Final = lazy_pattern(r"(?P<id>[^:]+):(?P<spans>\d{1,6}-\d{1,6}(?:,\d{1,6}-\d{1,6}){0,999}):(?P<of>[0-9a-f]{8})")
_JOINT: Final = (
    r"(?:[\s,;:，；：、—–-]|\b(?:and|but|so|because|since|while|although|though|or|plus)\b"
    r"|(?:而且|但是|但|所以|因为|然后|还有|和))"
)
_NAMED_BEFORE: Final = lazy_pattern(r"\A\([^()\n]{1,60}\) ")
"""Whom or what a fact is about, in front of words that say only "she" or "it"."""
_FIRST_JOINTS: Final = lazy_pattern(rf"[.!?。！？]*(?:{_JOINT})*", re.IGNORECASE)
_LAST_JOINTS: Final = lazy_pattern(rf"(?:{_JOINT}){{1,40}}+\Z", re.IGNORECASE)
_LONGEST_JOINTS: Final = 40
"""Characters before a seam that are looked at for what joined."""
_LONGEST_NAME: Final = 60
"""Characters of the name of a thing or a person."""
_OPENS: Final = lazy_pattern(r"(?:\A|[.!?。！？\n]|: |\()\s{0,40}+\Z")
_CLOSES: Final = lazy_pattern(r"\s*(?:\Z|[\n.!?。！？)]| \[)")
_MARKS: Final = frozenset(".!?。！？")


class RelatedRecords(Protocol):
    """The memories of a user, and which of them have to do with which: of thousands, a deletion reads a few."""

    @property
    def records(self) -> Mapping[str, Record]:
        """All of them, by id."""
        ...

    def drawn_from(self, id: str) -> Collection[str]:
        """The ids of memories that name another one as their evidence, or as what they stand for."""
        ...

    def said_in(self, turns: Iterable[TurnRef]) -> Collection[str]:
        """The ids of memories that name any of these turns as their source."""
        ...


class Redaction(NamedTuple):
    """A memory that loses parts of its text, and of its quotes what the remaining text does not hold."""

    record: Record
    spans: tuple[Span, ...]
    """The parts, in order and without overlap; none where only quotes are removed."""

    @classmethod
    def of(cls, record: Record, spans: Iterable[Span]) -> "Redaction":
        """Make one of parts in any order."""
        return cls(record, _apart(spans))

    @property
    def id(self) -> str:
        """The id of this part of the memory, to be handed to `delete`."""
        spans = ",".join(f"{start}-{end}" for start, end in self.spans or ((0, 0),))
        return f"{self.record['id']}:{spans}:{_wording(self.record)}"

    @property
    def removed(self) -> list[str]:
        """The text of each part that is removed."""
        return [self.record["text"][start:end] for start, end in self.spans]

    @property
    def remaining(self) -> str:
        """The text that stays; empty where no word of it says anything."""
        left = cut_out(self.record["text"], self.spans)
        head = _head(self.record).rstrip()
        return left if _says_something(left[len(head) :] if left.startswith(head) else left) else ""

    @property
    def sources(self) -> list[MemorySource]:
        """Where what stays was said, with the quotes that it still holds."""
        left = self.remaining
        if _is_turn(self.record):
            return [{**source, "quotes": [left[len(_head(self.record)) :]]} for source in self.record["sources"]]
        gone = self.removed
        return [
            {**source, "quotes": [rest for quote in source["quotes"] if (rest := _rest(quote, gone)) and rest in left]}
            for source in self.record["sources"]
        ]


class Deletion(NamedTuple):
    """All that a deletion takes: whole memories, and parts of others."""

    deleted: Sequence[Record]
    """Memories deleted as a whole, those that were named first."""
    redacted: Sequence[Redaction]
    """Memories that are redacted."""

    @property
    def ids(self) -> list[str]:
        """The ids to hand to `delete` so that just this is deleted."""
        return [*(record["id"] for record in self.deleted), *(cut.id for cut in self.redacted)]

    @property
    def gone_ids(self) -> list[str]:
        """The ids of all memories that are gone or changed afterwards."""
        return [record["id"] for record in self.records]

    @property
    def records(self) -> list[Record]:
        """All memories that are gone or changed afterwards, as they are."""
        return [*self.deleted, *(cut.record for cut in self.redacted)]

    @property
    def turn_words(self) -> dict[TurnRef, list[str]]:
        """The words that are removed from each turn; an empty list where all of it is."""
        found: dict[TurnRef, list[str]] = {}
        for place, words in _said(self.redacted, self.deleted):
            found.setdefault(place, []).extend(words)
        unknown = (record for record in self.deleted if _is_turn(record) or not any(_quotes(record)))
        found.update((place, []) for record in unknown for place in _places(record))
        return found


def plan_deletion(known: RelatedRecords, ids: Collection[str], *, quoting: bool = True) -> Deletion:
    """Plan the deletion of memories, or of parts of them.

    With a memory are deleted what was derived from it, the memories it was consolidated from (where some of those are
    named, these alone), and its words in the turns it was extracted from; with a whole turn the facts that quote it.
    The plan of a plan's own ids is the same.

    Args:
        ids: Ids of memories, or of parts as `Redaction.id` names them. Unknown ids are passed over.
        quoting: Whether facts go with the turns that they quote.

    Raises:
        InputError: A part is named of a memory whose text has changed since.
    """
    records = known.records
    named, spans = _named(records, ids)
    turns = [records[id] for id in named if _is_turn(records[id])]
    facts = _quoting(known, turns) if quoting else []
    touched = [id for id, some in spans.items() if some]
    whole = dict.fromkeys([*named, *facts])
    parts = _with_parts(records, whole, {*whole, *spans})
    whole = dict.fromkeys(with_derived(records, [*parts, *touched], known.drawn_from))
    whole = {id: None for id in whole if id not in spans}
    said = list(_said([Redaction.of(records[id], some) for id, some in spans.items()], [records[id] for id in whole]))
    for id, more in _held(known, said, whole):
        spans.setdefault(id, []).extend(more)
    cut = [Redaction.of(records[id], some) for id, some in spans.items() if id not in whole]
    first = sorted(whole, key=lambda id: id not in named)
    return Deletion([records[id] for id in first], cut)


def with_derived(
    records: Mapping[str, Record], ids: Collection[str], drawn_from: Callable[[str], Collection[str]]
) -> Sequence[str]:
    """The ids of memories and of all that was derived from them, over any number of steps.

    Args:
        drawn_from: As in `RelatedRecords`.
    """
    found, todo = dict[str, None](), sorted(ids)
    while todo:
        id = todo.pop()
        if id not in found:
            found[id] = None
            todo += (other for other in _in_order(records, drawn_from(id)) if _is_drawn(records, other, id))
    return list(found)


def _is_drawn(records: Mapping[str, Record], id: str, source: str) -> bool:
    """Whether a memory was derived from another one, or consolidated from it."""
    record = records[id]
    return source in record["evidence"] or (source in record["replaces"] and _is_part(records, source, id))


def _in_order(records: Mapping[str, Record], ids: Iterable[str]) -> list[str]:
    """The ids of memories that are there, in the order in which these came."""
    there = (record for id in {*ids} if (record := records.get(id)) is not None)
    return [record["id"] for record in sorted(there, key=lambda one: (one["created_at"], one["id"]))]


def cut_out(text: str, spans: Sequence[Span]) -> str:
    """Cut stretches out of a text, with the words that joined them to the rest."""
    for start, end in reversed(_apart(spans)):
        text = _joined(text[:start], text[start:end], text[end:])
    return text.strip()


def _joined(before: str, gone: str, after: str) -> str:
    """What stands before and behind something that goes, as one text."""
    mark = gone.rstrip()[-1:]
    if _OPENS.search(before[-_LONGEST_JOINTS:]):
        joints = _FIRST_JOINTS.match(after)
        return before + after[joints.end() if joints else 0 :]
    if mark in _MARKS or _CLOSES.match(after):
        last = before[-_LONGEST_JOINTS:]
        before = before[: len(before) - len(last)] + _LAST_JOINTS.sub("", last)
        space = gone[len(gone.rstrip()) :]
        return before + (mark + space if mark in _MARKS else "") + after
    return before.rstrip(" ") + after if before[-1:].isspace() and after[:1].isspace() else before + after


def find_words(text: str, words: Iterable[str]) -> list[Span]:
    """Where some words stand in a text as words of their own: "Ann" is not in "Annapolis"."""
    found: list[Span] = []
    for said in dict.fromkeys(filter(None, words)):
        start = text.find(said)
        while start >= 0:
            end = start + len(said)
            if not (_is_inside_a_word(text, start) or _is_inside_a_word(text, end)):
                found.append((start, end))
            start = text.find(said, end)
    return found


def _is_inside_a_word(text: str, place: int) -> bool:
    around = text[max(0, place - 1) : place + 1]
    return 0 < place < len(text) and around.isalnum() and not is_cjk(around)


# --- inside ----------------------------------------------------------------------------------------------------------


def _named(records: Mapping[str, Record], ids: Collection[str]) -> tuple[list[str], dict[str, list[Span]]]:
    """Whole memories, and the parts of others."""
    whole: list[str] = []
    spans: dict[str, list[Span]] = {}
    for id in dict.fromkeys(ids):
        part = _PART.fullmatch(id) if id not in records else None
        if part is None:
            whole += [id] if id in records else []
        elif (record := records.get(part["id"])) is not None:
            spans.setdefault(record["id"], []).extend(_checked(record, part))
    return whole, {id: some for id, some in spans.items() if id not in whole}


def _checked(record: Record, part: re.Match[str]) -> list[Span]:
    pairs = (one.split("-") for one in part["spans"].split(","))
    spans = [(int(start), int(end)) for start, end in pairs]
    if part["of"] != _wording(record) or any(not 0 <= a <= b <= len(record["text"]) for a, b in spans):
        raise InputError(f"The memory {record['id']} says something else by now. Look again at what would be erased.")
    return [span for span in spans if span[0] < span[1]]


def _wording(record: Record) -> str:
    return hashlib.sha256(record["text"].encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _with_parts(records: Mapping[str, Record], ids: Collection[str], named: Collection[str]) -> set[str]:
    """Memories with those that they were consolidated from; where some of these are named, with no others."""
    found, todo = set[str](), list(ids)
    while todo:
        id = todo.pop()
        if id not in found:
            found.add(id)
            parts = [old for old in records[id]["replaces"] if _is_part(records, old, id)]
            todo += [] if set(parts) & set(named) else parts
    return found


def _is_part(records: Mapping[str, Record], old: str, whole: str) -> bool:
    """Whether a memory was consolidated into another one; a turn that a fact stands for is no part of the fact."""
    record = records.get(old)
    if record is None or _is_turn(record):
        return False
    return record["replaced_by"] == whole and record["replaced_how"] == "consolidate"


def _quoting(known: RelatedRecords, turns: Sequence[Record]) -> list[str]:
    """The memories that quote one of these turns."""
    texts: dict[TurnRef, str] = {place: turn["text"] for turn in turns for place in _places(turn)}
    near = _in_order(known.records, known.said_in(texts))
    return [
        id
        for id in near
        if not _is_turn(record := known.records[id])
        for source in record["sources"]
        if any(
            quote in texts.get((source["conversation"], turn), "")
            for turn in source["turns"]
            for quote in source["quotes"]
        )
    ]


def _said(cuts: Iterable[Redaction], erased: Iterable[Record]) -> Iterator[tuple[TurnRef, list[str]]]:
    """The words that go, by the turns that they were said in."""
    for cut in cuts:
        gone = [*cut.removed, *(_NAMED_BEFORE.sub("", words) for words in cut.removed)]
        yield from ((place, list(dict.fromkeys(gone))) for place in _places(cut.record) if cut.spans)
    for record in erased:
        for source in record["sources"]:
            quotes = [quote for quote in source["quotes"] if not _is_named_before(record["text"], quote)]
            if quotes or not source["quotes"]:
                yield from (((source["conversation"], turn), quotes) for turn in source["turns"])


def _is_named_before(text: str, quote: str) -> bool:
    """Whether a quote only says what "it" is, in front of what was said: its own turn says more of it, which stays."""
    return len(quote) <= _LONGEST_NAME and f"({quote}) " in text and not quote.endswith(("?", "？"))


def _held(
    known: RelatedRecords, said: Iterable[tuple[TurnRef, list[str]]], whole: Collection[str]
) -> Iterator[tuple[str, list[Span]]]:
    """Where words that go stand in the turns they were said in; the other facts of these turns are left alone."""
    words: defaultdict[TurnRef, list[str]] = defaultdict(list)
    for place, some in said:
        words[place] += some
    for id in _in_order(known.records, known.said_in(words)):
        record = known.records[id]
        if _is_turn(record) and id not in whole:
            found = find_words(record["text"], (word for place in _places(record) for word in words.get(place, ())))
            if found:
                yield id, found


def _quotes(record: Record) -> Iterator[str]:
    return (quote for source in record["sources"] for quote in source["quotes"])


def _places(record: Record) -> list[TurnRef]:
    return [(source["conversation"], turn) for source in record["sources"] for turn in source["turns"]]


def _is_turn(record: Record) -> bool:
    return record["type"] == "verbatim"


def _head(record: Record) -> str:
    """Who said it and when, in front of the words of a turn or a fact."""
    starts = [record["text"].find(quote) for quote in _quotes(record) if quote in record["text"]]
    return record["text"][: min(starts, default=0)]


def _says_something(text: str) -> bool:
    return bool(tokenize(text))


def _rest(quote: str, gone: Iterable[str]) -> str:
    return cut_out(quote, find_words(quote, gone))


def _apart(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Stretches in order; those that touch or overlap, as one."""
    apart: list[Span] = []
    for start, end in sorted(set(spans)):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        elif start < end:
            apart.append((start, end))
    return tuple(apart)


class DeletionPreview(NamedTuple):
    """Shows what a deletion would delete; hand `ids` to `Memories.delete` to do just that."""

    matched: Sequence[Record]
    """The memories that are meant."""
    derived: Sequence[Record]
    """Memories that go with them: consolidations and insights derived from them, and what they were merged from."""
    redacted: Sequence[Redaction]
    """Memories that lose a part: `removed` is the text that goes, `remaining` what stays."""
    ids: Sequence[str]
    """Ids of all of it, those of parts included, to be handed to `Memories.delete`."""


def several(ids: object) -> Collection[str]:
    """Check that ids are a collection: a single string would be read as its letters, and nothing be deleted.

    Raises:
        InputError: They are no collection.
    """
    if isinstance(ids, str) or not isinstance(ids, Collection):
        raise InputError(f"The ids of memories come in a list, such as [{ids!r}].")
    return cast("Collection[str]", ids)


def preview_of(reached: Deletion, ids: Collection[str]) -> DeletionPreview:
    """Make the preview of a planned deletion; a turn of which nothing remains counts as deleted whole."""
    named = {id.partition(":")[0] for id in ids}
    whole = [*reached.deleted, *(cut.record for cut in reached.redacted if not cut.remaining)]
    found = [record for record in whole if record["id"] in named]
    drawn = [record for record in whole if record["id"] not in named]
    return DeletionPreview(found, drawn, [cut for cut in reached.redacted if cut.remaining], reached.ids)
