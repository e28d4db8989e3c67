"""Finds what a request to forget means: memories and parts that hold its words, their echoes, or what comes near."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from agentic_memory_bank.engines.extractive.conversation import MessageReading
from agentic_memory_bank.engines.extractive.forgetting import (
    JUST_BEFORE,
    LOOKED_BACK,
    Subject,
    Telling,
    antecedent,
    echoes_in,
    have_in_common,
    held_of,
    in_other_words,
    only_asks,
    parts_like,
    parts_meant,
    people_meant,
    roots_of,
    shared_words,
    subjects_of,
    with_whom,
)
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.recall.memory_search import likenesses
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction, TurnRef, find_words
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT, MemoryHit
from agentic_memory_bank.tools.text.attribution import attributed, unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

Fits = Callable[[Sequence[str]], Sequence[float] | None]
"""Tells of each text how likely it is about something, as the logarithm of the odds; or None, where nothing can."""

SMALL: Final = 3
"""How many memories are erased without asking back, the turns they were said in aside."""
CANDIDATES: Final = 40
"""How many memories are read where no memory holds the words of what is to be forgotten."""
SHARE: Final = 0.75
"""Share of the likeliest memory's probability from which another one comes near, too."""
ALIKE: Final = 0.25
"""Cosine, by the default model, of what a wish that is only guessed may mean though the two share no word."""
BESIDE: Final = 0.2
"""Cosine, by the default model, from which a turn right beside one that is meant goes on about it."""
RARE: Final = 6
"""In how many turns a word is said that tells a matter from others."""
LIKELY: Final = 0.15
"""Least probability of what comes near where somebody plainly tells to forget."""
SURELY: Final = 0.3
"""The same where they may have."""
FITTING: Final = -2.0
"""Least log-odds, by the model that reads both, of what comes near though it shares no word with what is named."""


def meant(records: Sequence[Record], subjects: Sequence[Subject], *, is_wide: bool = False) -> list[str]:
    """The ids of the memories, or of the parts of memories, that speak of a subject.

    What an assistant said in the same conversations goes where it says again what goes, and nothing else says. Where
    nothing but questions speaks of it, nothing does: whoever asked "What's Luka allergic to?" told nothing of it.

    Args:
        records: All memories of a user.
        subjects: What is to be forgotten.
        is_wide: Whether with the clauses that may go on about it.
    """
    before = _said_before(records)
    found = {
        record["id"]: spans
        for record in records
        if (spans := parts_meant(record, subjects, before.get(record["id"], ()), is_wide=is_wide)) is not None
    }
    if all(_only_asks(record) for record in records if record["id"] in found):
        return []
    found.update(_with_facts(records, _orphans(records, found), found))
    for id, spans in _echoes(records, found):
        found[id] = [*found.get(id, ()), *spans]
    return [_named(record, found[record["id"]]) for record in records if record["id"] in found]


def meant_of_people(records: Sequence[Record], wish: str) -> list[str]:
    """The ids of what is told of whom a wish is about, where all of it is meant: by name, by what they are, as "her".

    Args:
        wish: The words of the wish.
    """
    told = [_words(one["text"]) for one in records if not is_of_assistant(one)]
    people = people_meant(wish, told)
    return meant(records, people) if people else []


def _said_before(records: Sequence[Record]) -> dict[str, list[str]]:
    """What the user said just before each of their turns, and before what was drawn from it, in one conversation.

    Before what a conversation opens with stands what the one before it ended with, far enough off that only a person
    is found there: "She went home on Saturday".
    """
    earlier, before = list[str](), dict[TurnRef, list[str]]()
    for turns in _turns_told(records).values():
        said = [_words(one["text"]) for one in turns]
        for place, record in enumerate(turns):
            opening = [*earlier[-LOOKED_BACK:], *_FAR] if place < JUST_BEFORE and earlier else []
            for one in _places(record):
                before[one] = [*opening, *said[max(0, place - LOOKED_BACK) : place]]
        earlier += said
    return {record["id"]: before[said] for record in records for said in _places(record) if said in before}


def _turns_told(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The user's turns in each conversation, in order."""
    told: defaultdict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record["created_at"]):
        if is_turn(record) and not is_of_assistant(record):
            for conversation in {source["conversation"] for source in record["sources"]}:
                told[conversation].append(record)
    return told


_FRAME: Final = lazy_pattern(r"\A\([^()]{1,60}\) ")
"""What a fact is said to be about, of which its own words only say "she"."""
_FAR: Final = ("",) * (JUST_BEFORE + 1)
"""What parts a conversation from the one before it: whatever "it" is stands nearer."""


def _orphans(records: Sequence[Record], found: Mapping[str, Sequence[Span]]) -> Iterator[tuple[str, list[Span]]]:
    """The user's turns that speak of "it" or "him" where only what goes says what or who that is."""
    told = [one for one in records if not is_of_assistant(one)]
    left = (_words(Redaction.of(one, found.get(one["id"], ())).remaining) for one in told)
    stays = roots_of("\n".join(_FRAME.sub("", words) for words in left))
    for turns in _turns_told(records).values():
        for place, record in enumerate(turns):
            before = turns[max(0, place - JUST_BEFORE) : place]
            if record["id"] in found or found.keys().isdisjoint(one["id"] for one in before):
                continue
            said = [_words(one["text"]) for one in before]
            thing = antecedent(_words(record["text"]), said, has_value=False)
            named = said[thing[0]][slice(*thing[1])] if thing and before[thing[0]]["id"] in found else ""
            if named and not roots_of(named) <= stays:
                yield record["id"], [(0, len(record["text"]))]


def _with_facts(
    records: Sequence[Record], turns: Iterable[tuple[str, list[Span]]], found: Collection[str]
) -> Iterator[tuple[str, list[Span]]]:
    """Whole turns with what was drawn from them, and from what was found, which says whom they mean."""
    ids = dict(turns)
    said = {one["id"]: _places(one) for one in records if is_turn(one)}
    places = set[TurnRef]().union(*(said[id] for id in ids if id in said))
    known = places.union(*(said[id] for id in found if id in said))
    drawn = (one for one in records if not is_turn(one) and is_said_in(one, known))
    drawn = (one for one in drawn if not places.isdisjoint(_places(one)))
    yield from ids.items()
    yield from ((one["id"], [(0, len(one["text"]))]) for one in drawn)


def near(
    records: RecordStore, owner: Owner, about: str, wish: Telling, words: str = "", fits: Fits | None = None
) -> list[str]:
    """The ids of what comes near where no memory holds the words: what `recall` would find likeliest for them.

    Of a memory that shares words with what is to be forgotten only the clauses with these are named. Nothing comes near
    that is unlikely, least of all where nobody said plainly that something is to be forgotten; but what shares a rare
    name, or a rare word with the likeliest, is of the same matter.

    Args:
        about: What is to be forgotten.
        words: The words of a wish that may be none.
        fits: Reads memories beside what is to be forgotten: a sister is not near to "my brother".
    """
    everything = list(all_records(records, *owner))
    found = records.search(owner.user, about, project=owner.project, limit=CANDIDATES, replaced=True)
    told = [one for one in found if not _is_idle(one.record)][:CANDIDATES]
    facts = {place for one in told if not is_turn(one.record) for place in _places(one.record)}
    told = [one for one in told if not is_turn(one.record) or facts.isdisjoint(_places(one.record))]
    if is_cjk(about):  # the default model is blind to Chinese
        shared = [held_of(about, _words(one.record["text"])) for one in told]
        most = max(shared, default=0.0)
        told = [one for one, share in zip(told, shared, strict=True) if share and share == most]
    elif wish.is_guessed:
        told = [one for one in told if one.cosine >= ALIKE or have_in_common(about, _words(one.record["text"]))]
    if fits is not None and not is_cjk(about):
        told = _fitting(told, about, fits)
    chances = MessageReading(about, likenesses(about, told)).chances if told else []
    least = max(SHARE * max(chances, default=0.0), LIKELY if wish.is_sure else SURELY)
    likely = sorted(zip(chances, told, strict=True), key=lambda one: -one[0])[:SMALL]
    subjects = subjects_of(about)
    spans = {one.record["id"]: _spans_of(one.record, subjects, about) for chance, one in likely if chance >= least}
    for id, more in _same_matter(everything, about, spans):
        spans[id] = [*spans.get(id, ()), *more]
    spans.update(
        _with_facts(
            everything, [*_alike(records, owner, words, everything, spans), *_orphans(everything, spans)], spans
        )
    )
    for id, more in _echoes(everything, spans):
        spans[id] = [*spans.get(id, ()), *more]
    return [_named(record, spans[record["id"]]) for record in everything if record["id"] in spans]


def _fitting(told: Sequence[MemoryHit], about: str, fits: Fits) -> Sequence[MemoryHit]:
    """Those that share a word with what is to be forgotten, or are about it by a model that reads both."""
    others = [one for one in told if not have_in_common(about, _words(one.record["text"]))]
    read = fits([_words(one.record["text"]) for one in others]) if others else None
    unfit = {one.record["id"] for one, odds in zip(others, read or (), strict=False) if odds < FITTING}
    return [one for one in told if one.record["id"] not in unfit]


def _alike(
    records: RecordStore, owner: Owner, words: str, everything: Sequence[Record], spans: Mapping[str, Sequence[Span]]
) -> Iterator[tuple[str, list[Span]]]:
    """Of the user's turns right before or after one that was found those that are like the words of the wish."""
    if not (words and spans) or is_cjk(words):
        return
    meant_in = set[TurnRef]().union(*(_places(one) for one in everything if one["id"] in spans))
    beside = set[TurnRef]()
    for turns in _turns_told(everything).values():
        for place, record in enumerate(turns):
            if not meant_in.isdisjoint(_places(record)):
                beside = beside.union(*map(_places, turns[max(0, place - 1) : place + 2]))
    for one in records.search(owner.user, words, project=owner.project, limit=CANDIDATES, replaced=True):
        is_like = one.cosine >= BESIDE and not _is_idle(one.record)
        if is_like and one.record["id"] not in spans and not beside.isdisjoint(_places(one.record)):
            yield one.record["id"], [(0, len(one.record["text"]))]


def said_with(records: Sequence[Record], ids: Sequence[str], others: Sequence[str]) -> list[str]:
    """Of some other ids those of what was said in the same turns as what some ids name."""
    of = {record["id"]: _places(record) for record in records}
    places = set[TurnRef]().union(*(of[id.partition(":")[0]] for id in ids))
    return [id for id in others if not places.isdisjoint(of[id.partition(":")[0]])]


def _same_matter(
    records: Sequence[Record], about: str, found: Mapping[str, Sequence[Span]]
) -> Iterator[tuple[str, list[Span]]]:
    """Where the user's memories hold a rare word that what is to be forgotten shares with what was found, or a name."""
    told = [one for one in records if not (is_of_assistant(one) or _only_asks(one))]
    words = shared_words(about, [_words(one["text"]) for one in told if one["id"] in found or not found])
    for word in words:
        matter = Subject((frozenset((word,)),))
        held = [(one, some) for one in told if (some := parts_meant(one, [matter])) is not None]
        spans = [(one["id"], with_whom(one["text"], some) if some else some) for one, some in held]
        places = {place for one in told for place in _places(one) if one["id"] in {id for id, _ in spans}}
        if len(places) <= RARE:
            yield from spans


def _spans_of(record: Record, subjects: Sequence[Subject], about: str) -> list[Span]:
    """The clauses of a memory that hold a word of what is to be forgotten, or one near it; all of it without."""
    alone = [Subject((group,)) for subject in subjects for group in subject.groups]
    others = in_other_words(subjects)
    spans = parts_meant(record, alone, is_wide=True) or parts_meant(record, others, is_wide=True)
    spans = spans or (parts_like(record["text"], about) if is_cjk(about) else [])
    return with_whom(record["text"], spans) if spans else [(0, len(record["text"]))]


def _is_idle(record: Record) -> bool:
    """Whether a memory tells nothing: what an assistant said, and questions."""
    return is_of_assistant(record) or _only_asks(record)


def _only_asks(record: Record) -> bool:
    return is_turn(record) and only_asks(_words(record["text"]))


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
    for text in sorted(filter(None, (text.strip(" \t\n,;.，；。") for text in texts)), key=len, reverse=True):
        if not any(text in longer for longer in kept):
            kept.append(text)
    return kept


def parts_said(records: Sequence[Record], place: TurnRef, words: Sequence[str]) -> list[str]:
    """The ids of what was kept of some words of a turn: of the turn itself its part, and the facts that quote them."""
    said = [record for record in records if place in _places(record)]
    turns = [Redaction.of(record, find_words(record["text"], words)).id for record in said if is_turn(record)]
    return [*turns, *(record["id"] for record in said if not is_turn(record) and _quotes_any(record, words))]


def _quotes_any(record: Record, words: Sequence[str]) -> bool:
    quotes = [quote for source in record["sources"] for quote in source["quotes"]]
    return any(word in quote or quote in word for quote in quotes for word in words)


def is_said_in(record: Record, places: Collection[TurnRef]) -> bool:
    """Whether a memory was said in some of these turns, and in no others."""
    said_in = _places(record)
    return bool(said_in) and said_in <= {*places}


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
    return (word.strip(" \t\n,;.，；。") for word in cut.removed if not word.startswith(" ["))


def _places(record: Record) -> set[TurnRef]:
    return {(source["conversation"], turn) for source in record["sources"] for turn in source["turns"]}


def _words(text: str) -> str:
    return unattributed(text)[2]
