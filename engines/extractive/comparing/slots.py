"""Clashes between two sentences in different words, or languages, about one attribute of one subject."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.edits import Clash, other_time, value_clash
from agentic_memory_bank.engines.extractive.reading import lexicon
from agentic_memory_bank.engines.extractive.reading.concepts import forms_of
from agentic_memory_bank.engines.extractive.reading.sentence import Sentence, value_key
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable

_REACH: Final = 8
_COUNT_SHARE: Final = 0.5
_MAX_VALUES: Final = 8
_COPULAS: Final = frozenset({"is", "was", "are", "were"})
_VERBS: Final = _COPULAS | {"has", "have", "had", "will", "can", "did", "does"}
_DENIAL_SHARE: Final = 0.6
_SCOPE: Final = 5
_RELATIVE: Final = frozenset(("that", "which", "who"))
_AUXILIARIES: Final = _VERBS | {"do", "would", "could", "may", "must", "should", "need", "am", "be"}
_PRONOUNS: Final = frozenset({"it", "he", "she", "they", "its", "his", "her", "their", "the", "this"})


@dataclass(frozen=True, slots=True)
class Slot:
    """A value and the attributes it answers."""

    value: Value
    attributes: frozenset[str]


def slot_clash(first: Sentence, second: Sentence) -> Clash | None:
    """Two values of one attribute of one subject that cannot both be true."""
    if not same_subject(first, second) or _other_life(first, second):
        return None
    left, right = slots_of(first), slots_of(second)
    share = len(first.content & second.content) / (min(len(first.content), len(second.content)) or 1)
    for slot in left:
        rivals = _rivals(slot, right, share)
        if not rivals or any(agree(slot.value, other.value) for other in rivals):
            continue
        if slot.value.kind == "number" and other_time(first, second):
            continue
        if not _stated(slot, right) and not _stated(rivals[0], left):
            return value_clash(slot.value, rivals[0].value, share)
    return None


def _rivals(slot: Slot, others: tuple[Slot, ...], share: float) -> list[Slot]:
    """The other sentence's values of the same attribute; mere counts of a noun need a sentence that is alike."""
    found = [other for other in others if other.attributes & slot.attributes and comparable(slot.value, other.value)]
    return [
        other
        for other in found
        if share >= _COUNT_SHARE or not all(name.startswith("~") for name in other.attributes & slot.attributes)
    ]


def _other_life(first: Sentence, second: Sentence) -> bool:
    """Whether both birth and death differ: then two people share a name."""
    left = {name: slot.value for slot in slots_of(first) for name in slot.attributes}
    right = {name: slot.value for slot in slots_of(second) for name in slot.attributes}
    both = [name for name in ("born", "died") if name in left and name in right]
    return len(both) == 2 and not any(agree(left[name], right[name]) for name in both)


def _stated(slot: Slot, others: tuple[Slot, ...]) -> bool:
    """Whether a sentence states this very value too, for whatever attribute."""
    return any(value_key(slot.value) == value_key(other.value) for other in others)


def same_subject(first: Sentence, second: Sentence) -> bool:
    """Whether two sentences speak of one thing: by the names of their subjects, or because one leaves it unnamed."""
    if subject_names(first) and subject_names(second):
        return same_names(first, second)
    if first.names & second.names:
        return True
    return any(_unnamed(sentence) for sentence in (first, second)) and bool(first.content & second.content)


def same_names(first: Sentence, second: Sentence) -> bool:
    """Whether the subjects of two sentences share a name, and not both have one that the other lacks."""
    left, right = subject_names(first), subject_names(second)
    return bool(left & right) and not (_apart(left, right) and _apart(right, left))


def _apart(names: frozenset[str], others: frozenset[str]) -> bool:
    """Whether some name is no form of any of the others ("Chris" is one of "Christopher")."""
    return any(not any(name[:3] == other[:3] for other in others) for name in names)


def subject_names(sentence: Sentence) -> frozenset[str]:
    """The names before the first "is", "has" or the like; all of them without one."""
    names: list[str] = []
    for unit in sentence.units:
        if unit.key in _VERBS:
            break
        if unit.kind == "name" and unit.key not in lexicon.WORD_CLASSES:
            names.append(unit.key)
    return frozenset(names)


def _unnamed(sentence: Sentence) -> bool:
    return sentence.units[0].key in _PRONOUNS and not subject_names(sentence)


@lru_cache(maxsize=4096)
def slots_of(sentence: Sentence) -> tuple[Slot, ...]:
    """Every value of a sentence with the attributes named nearest to it; none in a table, where that says nothing."""
    if len(sentence.values) > _MAX_VALUES:
        return ()
    triggers = _triggers(sentence)
    lives = _lives(sentence)
    slots: list[Slot] = []
    for position, unit in enumerate(sentence.units):
        if unit.value is not None:
            attributes = _attributes(unit.value, position, sentence, triggers) | lives.get(position, frozenset())
            if attributes:
                slots.append(Slot(unit.value, attributes))
    return tuple(slots)


def _lives(sentence: Sentence) -> dict[int, frozenset[str]]:
    """Positions of the two dates of "Name (birth – death)" or of "from start to end"."""
    units = sentence.units
    dated = [position for position, unit in enumerate(units) if unit.value is not None and unit.value.kind == "date"]
    for left, right in zip(dated, dated[1:], strict=False):
        if right == left + 1 and _opens_life(sentence, left):
            return {left: frozenset({"born"}), right: frozenset({"died"})}
        if (
            right == left + 2
            and left
            and units[left - 1].key == "from"
            and units[left + 1].key in ("to", "until", "till")
        ):
            return {left: frozenset({"start"}), right: frozenset({"ended"})}
    return {}


def _opens_life(sentence: Sentence, position: int) -> bool:
    """Whether only names and a bracket stand before the first of two dates, and a dash between them."""
    before = sentence.units[:position]
    left, right = sentence.units[position], sentence.units[position + 1]
    apart = right.start - left.end
    bracketed = left.clause > 0
    named = sum(unit.kind == "name" for unit in before) >= 1 and not any(unit.key in _COPULAS for unit in before)
    return bracketed and named and 1 <= apart <= 4


def _attributes(value: Value, position: int, sentence: Sentence, triggers: list[tuple[int, str]]) -> frozenset[str]:
    found: set[str] = set()
    if value.kind == "number" and value.unit and (not value.measured or value.unit in ("people", "qubit", "seat")):
        found.add(f"~{value.unit}")
    if value.kind == "date" and _year_of_kind(sentence, position):
        found.add("edition")
    if value.kind == "date":
        found.update(_leading_word(sentence, position))
    ranks = _ranks(sentence)
    wanted = [
        (_distance(position, at, sentence, ranks), name, at)
        for at, name in triggers
        if (name in lexicon.MEASURED_ATTRIBUTES) == (value.kind == "number")
    ]
    if wanted and min(wanted)[0] <= _REACH:
        nearest = min(wanted)[0]
        found.update(
            name
            for distance, name, at in wanted
            if distance == nearest and _closest(value, position, at, sentence, ranks)
        )
    return frozenset(found)


@lru_cache(maxsize=1024)
def _ranks(sentence: Sentence) -> tuple[int, ...]:
    """For each unit, how many units that carry content stand up to it."""
    return tuple(accumulate(unit.carries for unit in sentence.units))


def _closest(value: Value, position: int, at: int, sentence: Sentence, ranks: tuple[int, ...]) -> bool:
    """Whether no other value of the kind stands nearer to the word that names the attribute."""
    own = _distance(position, at, sentence, ranks)
    return all(
        _distance(other, at, sentence, ranks) >= own
        for other, unit in enumerate(sentence.units)
        if unit.value is not None and unit.value.kind == value.kind and unit.value.unit == value.unit
    )


def _distance(position: int, at: int, sentence: Sentence, ranks: tuple[int, ...]) -> int:
    """How much content lies between a value and a word; what precedes counts as nearer than what follows."""
    return (
        abs(ranks[position] - ranks[at])
        + (at > position)
        + 2 * abs(sentence.units[position].clause - sentence.units[at].clause)
    )


def _year_of_kind(sentence: Sentence, position: int) -> bool:
    """Whether a year stands as in "is a 1992 film"."""
    keys = [unit.key for unit in sentence.units[max(0, position - 2) : position]]
    return len(keys) == 2 and keys[0] in _COPULAS and keys[1] in ("a", "an", "the")


def _leading_word(sentence: Sentence, position: int) -> set[str]:
    """The last word before a date, when only prepositions stand between ("discovered in 1935")."""
    for unit in reversed(sentence.units[max(0, position - 3) : position]):
        if unit.kind == "word":
            return {f"={unit.key}"}
        if unit.kind != "stop":
            return set()
    return set()


def _triggers(sentence: Sentence) -> list[tuple[int, str]]:
    found = [
        (position, name)
        for position, unit in enumerate(sentence.units)
        for name, (stems, _) in lexicon.ATTRIBUTES.items()
        if unit.key in stems
    ]
    return found + _chinese_triggers(sentence)


def _chinese_triggers(sentence: Sentence) -> list[tuple[int, str]]:
    text = ""
    owner: list[int] = []
    for position, unit in enumerate(sentence.units):
        piece = unit.key if unit.value is None and not unit.key.isascii() else " "
        text += piece
        owner.extend([position] * len(piece))
    found: list[tuple[int, str]] = []
    for name, (_, words) in lexicon.ATTRIBUTES.items():
        for word in words:
            at = text.find(word)
            if at >= 0:
                found.append((owner[at], name))
    return found


def denial_clash(first: Sentence, second: Sentence) -> Clash | None:
    """One sentence denies what the other states: the denied words and the subject stand in both."""
    if bool(first.denials) == bool(second.denials):
        return None
    denying, stating = (first, second) if first.denials else (second, first)
    if _twice(denying):
        return None
    shared = denying.content & stating.content
    smaller = min(len(denying.content), len(stating.content))
    if not smaller or len(shared) < _DENIAL_SHARE * smaller or not _denied(denying, stating):
        return None
    if len(shared) < 2 < max(len(denying.content), len(stating.content)):
        return None
    if first.names and second.names and not first.names & second.names:
        return None
    if other_time(first, second):
        return None
    denied, stated = _denied_span(denying, stating), _answering(denying, stating)
    spans = (denied, stated) if denying is first else (stated, denied)
    return Clash("negation", *spans, round(len(shared) / smaller, 4))


def _twice(sentence: Sentence) -> bool:
    """Whether two denials in one clause undo each other."""
    clauses = [unit.clause for unit in sentence.denials]
    return len(clauses) == 2 and clauses[0] == clauses[1] and sentence.chinese


def _denied(denying: Sentence, stating: Sentence) -> bool:
    scope = _scope(denying)
    if scope and _says_which(denying):
        return not stating.content.isdisjoint(forms_of(scope[0]))
    words = frozenset(scope)
    return bool(words) and len(words & stating.content) * 2 >= len(words)


def _scope(sentence: Sentence) -> list[str]:
    """The words that are denied, in order."""
    denial = sentence.denials[0]
    following = [
        unit.key
        for unit in sentence.units
        if unit.start >= denial.end and unit.clause == denial.clause and unit.kind in ("word", "han", "name")
    ]
    return following[:_SCOPE]


def _says_which(sentence: Sentence) -> bool:
    """Whether what is denied only says which one is meant ("a plot that is not worked", "who never pays")."""
    before = [unit.key for unit in sentence.units if unit.end <= sentence.denials[0].start][-2:]
    return before[-1:] == ["who"] or (len(before) == 2 and before[0] in _RELATIVE and before[1] in _AUXILIARIES)


def _denied_span(denying: Sentence, stating: Sentence) -> tuple[int, int]:
    """From the negating word to the first denied word that the other sentence has too."""
    denial = denying.denials[0]
    hit = next((unit for unit in denying.units if unit.start >= denial.end and unit.key in stating.content), denial)
    return denial.start, hit.end


def _answering(denying: Sentence, stating: Sentence) -> tuple[int, int]:
    """The first denied word, where the other sentence states it."""
    hit = next(
        (unit for unit in denying.units if unit.start >= denying.denials[0].end and unit.key in stating.content),
        denying.units[0],
    )
    unit = next((unit for unit in stating.units if unit.key == hit.key), stating.units[0])
    return unit.start, unit.end
