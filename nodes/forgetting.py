"""Finds what of a user's memories is to be forgotten with a subject: memories, parts of them, and their echoes.

And says how much it is and in which words, for whoever has to agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agentic_memory_bank.engines.conversation import attributed, unattributed
from agentic_memory_bank.engines.extractive.forgetting import Subject, echoes_in, parts_meant, roots_of
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction, TurnRef
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT
from agentic_memory_bank.tools.text.spans import Span

SMALL: Final = 3
"""How many memories are erased without asking back, the turns they were said in aside."""
RARE: Final = 6
"""In how many memories a word may stand that alone tells what comes near."""


def meant(records: Sequence[Record], subjects: Sequence[Subject]) -> list[str]:
    """The ids of the memories, or of the parts of memories, that speak of a subject.

    What an assistant said in the same conversations goes where it says again what goes, and nothing else says.
    """
    found = {record["id"]: spans for record in records if (spans := parts_meant(record, subjects)) is not None}
    for id, spans in _echoes(records, found):
        found[id] = [*found.get(id, ()), *spans]
    return [_named(record, found[record["id"]]) for record in records if record["id"] in found]


def near(records: Sequence[Record], subjects: Sequence[Subject]) -> list[str]:
    """The ids of what comes near where nothing is meant: it speaks of what is known of a subject, or of the rarest."""
    fewer: list[Subject] = []
    for subject in subjects:
        alone = {group: _known(records, Subject((group,))) for group in subject.groups}
        known = {group: count for group, count in alone.items() if count}
        both = Subject(tuple(known))
        if known and _known(records, both):
            fewer.append(both)
        elif known and min(known.values()) <= RARE:
            fewer.append(Subject((min(known, key=lambda group: known[group]),)))
    return meant(records, fewer) if fewer else []


def _known(records: Sequence[Record], subject: Subject) -> int:
    return sum(parts_meant(record, [subject]) is not None for record in records)


def all_records(records: RecordStore, user: str, project: str) -> Iterator[Record]:
    """All memories of a user in a project, those too that are replaced by now."""
    cursor: str | None = None
    while True:
        page = records.list(user, project=project, limit=MAX_LIMIT, cursor=cursor, replaced=True)
        yield from page.records
        cursor = page.cursor
        if cursor is None:
            return


def is_small(records: Sequence[Record]) -> bool:
    """Whether it is little that goes: the turns that memories were said in aside, and what an assistant said again."""
    facts = [record for record in records if not is_turn(record)]
    places = {place for record in facts for place in _places(record)}
    turns = (record for record in records if is_turn(record) and not is_of_assistant(record))
    return len(facts) + sum(places.isdisjoint(_places(turn)) for turn in turns) <= SMALL


def words_gone(reached: Deletion) -> list[str]:
    """The words that go, each once."""
    texts = [unattributed(record["text"])[2] for record in reached.deleted]
    for cut in reached.redacted:
        texts.append(" … ".join(_removed(cut)) if cut.remaining else unattributed(cut.record["text"])[2])
    kept: list[str] = []
    for text in sorted(filter(None, (text.strip(" \t\n,;，；") for text in texts)), key=len, reverse=True):
        if not any(text in longer for longer in kept):
            kept.append(text)
    return kept


def is_said_in(record: Record, places: Sequence[TurnRef]) -> bool:
    """Whether a memory was said in some of these turns, and in no others."""
    said_in = _places(record)
    return bool(said_in) and said_in.issubset(places)


def is_turn(record: Record) -> bool:
    """Whether a memory is a turn, word for word."""
    return record["type"] == "verbatim"


def is_of_assistant(record: Record) -> bool:
    """Whether a memory is a turn of an assistant."""
    return is_turn(record) and unattributed(record["text"])[0] == "assistant"


def _named(record: Record, spans: Sequence[Span]) -> str:
    """The id of a memory, or of a part."""
    if not is_turn(record):
        return record["id"] if (0, len(record["text"])) in spans else Redaction.of(record, spans).id
    speaker, date, _ = unattributed(record["text"])  # who spoke is no part of what conversations keep of a turn
    head = len(attributed(speaker, date, "")) if speaker else 0
    return Redaction.of(
        record, [(max(start, head), end) for start, end in spans]
    ).id  # with a whole turn go all its facts


def _echoes(records: Sequence[Record], found: Mapping[str, Sequence[Span]]) -> Iterator[tuple[str, list[Span]]]:
    """Where assistants said again what goes, in words that stand in nothing that stays."""
    told = [record for record in records if not is_of_assistant(record)]
    cuts = [Redaction.of(record, found[record["id"]]) for record in told if found.get(record["id"])]
    gone = roots_of(" ".join(_words(word) for cut in cuts for word in cut.removed)) if cuts else frozenset[str]()
    stays = [cut.remaining for cut in cuts] + [record["text"] for record in told if record["id"] not in found]
    roots = gone.difference(*(roots_of(_words(text)) for text in stays)) if gone else gone
    places = {source["conversation"] for cut in cuts for source in cut.record["sources"]}
    for record in records if roots else ():
        is_near = any(source["conversation"] in places for source in record["sources"])
        if is_near and is_of_assistant(record) and (spans := echoes_in(record["text"], roots)):
            yield record["id"], spans


def _removed(cut: Redaction) -> Iterator[str]:
    return (word.strip(" \t\n,;，；") for word in cut.removed if not word.startswith(" ["))


def _places(record: Record) -> set[TurnRef]:
    return {(source["conversation"], turn) for source in record["sources"] for turn in source["turns"]}


def _words(text: str) -> str:
    return unattributed(text)[2]
