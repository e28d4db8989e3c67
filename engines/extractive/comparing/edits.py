"""Clashes between two sentences that are nearly the same but for a changed number, date, word or name."""

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading import lexicon
from agentic_memory_bank.engines.extractive.reading.sentence import Sentence, Unit
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable

Kind = Literal["number", "date", "negation", "antonym", "name", "class", "same", "none"]

_MIN_SHARE: Final = 0.6
_LEAST_SHARE: Final = 0.5
"""Of two sentences that differ in one place."""
_NAME_SHARE: Final = 0.7
_FRAME: Final = 2
_MAX_EDIT: Final = 6
_COPY_SCORE: Final = 0.8
_CHINESE_LINKS: Final = frozenset("是为由叫：:，")
_CLASHING_CLASSES: Final = lexicon.PROPER_CLASSES | {"colour"}


@dataclass(frozen=True, slots=True)
class Clash:
    """One place where two sentences cannot both be true.

    Attributes:
        kind: What clashes.
        first: Offsets of the clashing value or word in the first text.
        second: The same in the second text.
        score: How sure it is, from 0 to 1.
    """

    kind: Kind
    first: tuple[int, int]
    second: tuple[int, int]
    score: float


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of one sentence standing in the place of a stretch of the other; either may be empty."""

    first: tuple[Unit, ...]
    second: tuple[Unit, ...]

    @property
    def replaces(self) -> bool:
        """Whether something that carries content stands on both sides."""
        return any(unit.carries for unit in self.first) and any(unit.carries for unit in self.second)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two sentences laid side by side.

    Attributes:
        edits: Where they differ, in order.
        matched: The units of the first sentence that the second has in the same order.
        share: Content in common, from 0 to 1 (Dice, order counted).
    """

    edits: tuple[Edit, ...]
    matched: tuple[Unit, ...]
    share: float

    @property
    def replaced(self) -> tuple[Edit, ...]:
        """The edits with content on both sides."""
        return tuple(edit for edit in self.edits if edit.replaces)


@lru_cache(maxsize=512)
def align(first: Sentence, second: Sentence) -> Alignment:
    """Lays two sentences side by side by their longest common stretches."""
    left, right = first.units, second.units
    matcher = SequenceMatcher(None, [unit.key for unit in left], [unit.key for unit in right], autojunk=False)
    edits: list[Edit] = []
    matched: list[Unit] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            matched.extend(left[i:j])
        else:
            edits.append(Edit(left[i:j], right[k:m]))
    total = sum(unit.carries for unit in left) + sum(unit.carries for unit in right)
    share = 2 * sum(unit.carries for unit in matched) / total if total else 0.0
    return Alignment(tuple(edits), tuple(matched), share)


def edit_clash(first: Sentence, second: Sentence) -> Clash | None:
    """The clash of two nearly equal sentences, if what sets them apart cannot both hold."""
    if _most_in_common(first, second) < _LEAST_SHARE:
        return None
    laid = align(first, second)
    if not any(unit.carries for unit in laid.matched):
        return None
    content_edits = [edit for edit in laid.edits if any(unit.carries for unit in (*edit.first, *edit.second))]
    alone = len(content_edits) == 1 and len(laid.replaced) <= 1
    if laid.share < _MIN_SHARE and not (alone and laid.share >= _LEAST_SHARE):
        return None
    if _other_subject(laid):
        return None
    finders = (_value_clash, _opposite_clash, _class_clash, _name_clash)
    found = (finder(first, second, laid) for finder in finders)
    return next((clash for clash in found if clash is not None), None)


def _most_in_common(first: Sentence, second: Sentence) -> float:
    """What their alignment shares at most: to lay two sentences side by side takes fifty times as long."""
    left, right = ([unit.key for unit in sentence.units if unit.carries] for sentence in (first, second))
    return 2 * (Counter(left) & Counter(right)).total() / (len(left) + len(right)) if left or right else 0.0


def copy_clash(first: tuple[Unit, ...], second: tuple[Unit, ...]) -> Clash | None:
    """A number or date changed in the midst of two long stretches of text that run alike."""
    keys = [unit.key for unit in first], [unit.key for unit in second]
    codes = SequenceMatcher(None, *keys, autojunk=False).get_opcodes()
    for before, (tag, i, j, k, m), after in zip(codes, codes[1:], codes[2:], strict=False):
        framed = min(before[2] - before[1], after[2] - after[1]) >= _FRAME and max(j - i, m - k) <= _MAX_EDIT
        if tag == "replace" and framed:
            pair = clashing_values(_values(first[i:j]), _values(second[k:m]))
            if pair is not None:
                return value_clash(*pair, _COPY_SCORE)
    return None


def _other_subject(laid: Alignment) -> bool:
    """Whether a name is replaced next to another replacement: then something else is spoken of."""
    names = [edit for edit in laid.replaced if _is_name_edit(edit)]
    return bool(names) and len(laid.replaced) > 1


def _is_name_edit(edit: Edit) -> bool:
    return all(
        any(unit.kind == "name" and not _proper_class(unit) for unit in side) for side in (edit.first, edit.second)
    )


def _proper_class(unit: Unit) -> bool:
    return bool(lexicon.WORD_CLASSES.get(unit.key, frozenset()) & lexicon.PROPER_CLASSES)


def _value_clash(first: Sentence, second: Sentence, laid: Alignment) -> Clash | None:
    for edit in laid.replaced:
        pair = clashing_values(_values(edit.first), _values(edit.second))
        if pair is None or _elsewhere(pair, first, second):
            continue
        if _dated_apart(first, second, pair[0], laid):
            return None
        return value_clash(*pair, laid.share)
    return None


def _dated_apart(first: Sentence, second: Sentence, value: Value, laid: Alignment) -> bool:
    """Whether something was measured at two times; a date beside the measurement clashes only as that of an event."""
    if not other_time(first, second):
        return False
    if value.kind == "number":
        return True
    measured = [clashing_values(_numbers(edit.first), _numbers(edit.second)) for edit in laid.replaced]
    events = {
        stem
        for name, (stems, _) in lexicon.ATTRIBUTES.items()
        if name not in lexicon.MEASURED_ATTRIBUTES
        for stem in stems
    }
    return any(measured) and not any(unit.key in events for unit in laid.matched)


def _numbers(units: tuple[Unit, ...]) -> list[Value]:
    return [value for value in _values(units) if value.kind == "number"]


def value_clash(first: Value, second: Value, score: float) -> Clash:
    """The clash of two values."""
    return Clash(first.kind, (first.start, first.end), (second.start, second.end), round(min(1.0, 0.5 + score / 2), 4))


def _values(units: tuple[Unit, ...]) -> list[Value]:
    return [unit.value for unit in units if unit.value is not None]


def clashing_values(first: list[Value], second: list[Value]) -> tuple[Value, Value] | None:
    """The first two values of a kind that cannot both be true, unless some pair of that kind agrees."""
    pairs = [(left, right) for left in first for right in second if comparable(left, right)]
    if any(agree(left, right) for left, right in pairs):
        return None
    return pairs[0] if pairs else None


def _elsewhere(pair: tuple[Value, Value], first: Sentence, second: Sentence) -> bool:
    """Whether each sentence states the other's value too, in another place: then the order changed and nothing else."""
    left, right = pair
    return any(comparable(left, value) and agree(left, value) for value in second.values) and any(
        comparable(right, value) and agree(right, value) for value in first.values
    )


def other_time(first: Sentence, second: Sentence) -> bool:
    """Whether both sentences are dated, and no date of one fits a date of the other."""
    left = [value for value in first.values if value.kind == "date"]
    right = [value for value in second.values if value.kind == "date"]
    return bool(left and right) and not any(
        comparable(one, other) and agree(one, other) for one in left for other in right
    )


def other_condition(first: Sentence, second: Sentence) -> bool:
    """Whether one sentence counts something in that the other, also with a value, leaves out ("with the antenna")."""
    left, right = ({unit.key for unit in sentence.units} for sentence in (first, second))
    if not first.values or not second.values:
        return False
    return any(
        one & lexicon.EXCLUSIONS and (one | other) & lexicon.INCLUSIONS and not other & lexicon.EXCLUSIONS
        for one, other in ((left, right), (right, left))
    )


def other_label(first: Sentence, second: Sentence) -> bool:
    """Whether a numbered thing stands in both under different numbers ("room 12", "room 14"): two things, then."""
    left, right = _labels(first), _labels(second)
    return any(left[noun].isdisjoint(right[noun]) for noun in left.keys() & right.keys())


def other_thing(first: Sentence, second: Sentence) -> bool:
    """Whether two sentences of one mould open with other things and give them other values.

    "The harbour was opened in 1900, the market in 1901": nobody contradicts anybody. A number right behind the first
    noun tells things apart, too ("shelf 228 holds ...").
    """
    if first.chinese or second.chinese or not first.values or not second.values:
        return False
    laid = align(first, second)
    if len(laid.replaced) < 2:
        return False
    opening, *others = laid.replaced
    if not any(_is_value_edit(edit) for edit in others):
        return False
    before = [unit for unit in laid.matched if unit.carries and unit.end <= opening.first[0].start]
    if _is_value_edit(opening):
        return len(before) == 1 and _is_label(before[0], opening)
    return not before and _is_other_word(opening)


def _is_value_edit(edit: Edit) -> bool:
    return all(any(unit.value is not None for unit in side) for side in (edit.first, edit.second))


def _is_label(noun: Unit, edit: Edit) -> bool:
    """Whether bare numbers stand right behind a noun."""
    value = edit.first[0].value
    is_bare = value is not None and value.kind == "number" and not value.measured  # a verb behind it is no unit
    return is_bare and len(edit.first) == len(edit.second) == 1 and 0 <= edit.first[0].start - noun.end <= 1


def _is_other_word(edit: Edit) -> bool:
    """Whether one word stands in the place of another that means something else."""
    left, right = ([unit for unit in side if unit.carries] for side in (edit.first, edit.second))
    return (
        len(left) == len(right) == 1
        and left[0].kind == right[0].kind == "word"
        and not synonymous(left[0].key, right[0].key)
    )


def _labels(sentence: Sentence) -> dict[str, set[float]]:
    found: dict[str, set[float]] = {}
    for noun, number in zip(sentence.units, sentence.units[1:], strict=False):
        value = number.value
        is_bare = value is not None and value.kind == "number" and not value.unit and number.start - noun.end <= 1
        if value is not None and is_bare and noun.key in lexicon.LABELS:
            found.setdefault(noun.key, set()).add(value.amount)
    return found


def _opposite_clash(first: Sentence, second: Sentence, laid: Alignment) -> Clash | None:
    if len(first.denials) % 2 != len(second.denials) % 2 or len(laid.replaced) > 2:
        return None
    for edit in laid.edits:
        for left in edit.first:
            for right in edit.second:
                if (left.key, right.key) in lexicon.OPPOSITES and _alone(edit):
                    return Clash("antonym", (left.start, left.end), (right.start, right.end), round(laid.share, 4))
    return None


def _alone(edit: Edit) -> bool:
    return len(edit.first) <= 2 and len(edit.second) <= 2


def _class_clash(first: Sentence, second: Sentence, laid: Alignment) -> Clash | None:
    if len(laid.replaced) != 1 or len(first.denials) % 2 != len(second.denials) % 2:
        return None
    edit = laid.replaced[0]
    for left in edit.first:
        for right in edit.second:
            shared = shared_classes(left, right) & _CLASHING_CLASSES
            if shared and len(edit.first) <= 2 and len(edit.second) <= 2:
                kind: Kind = "name" if shared & lexicon.PROPER_CLASSES else "class"
                return Clash(kind, (left.start, left.end), (right.start, right.end), round(laid.share, 4))
    return None


def shared_classes(first: Unit, second: Unit) -> frozenset[str]:
    """The closed classes of which two different words are both members."""
    if first.key == second.key or synonymous(first.key, second.key):
        return frozenset()
    empty: frozenset[str] = frozenset()
    return lexicon.WORD_CLASSES.get(first.key, empty) & lexicon.WORD_CLASSES.get(second.key, empty)


def synonymous(first: str, second: str) -> bool:
    """Whether two stems stand in one group of synonyms."""
    return any(first in group and second in group for group in lexicon.SYNONYMS)


def _name_clash(first: Sentence, second: Sentence, laid: Alignment) -> Clash | None:
    """Two names after one role ("the CEO of X is …"): the role and everything else must be shared."""
    if len(laid.replaced) != 1 or (laid.share < _NAME_SHARE and not _bare_name(laid)):
        return None
    edit = laid.replaced[0]
    if _values(edit.first) or _values(edit.second) or not (_is_name_edit(edit) or _chinese_slot(edit, first, second)):
        return None
    if _roles(laid, first) and not _lists(first, edit.first) and not _lists(second, edit.second):
        return Clash("name", _span(edit.first), _span(edit.second), round(laid.share, 4))
    return None


def _bare_name(laid: Alignment) -> bool:
    edit = laid.replaced[0]
    return len(laid.edits) == 1 and len(edit.first) <= 4 and len(edit.second) <= 4


def _lists(sentence: Sentence, units: tuple[Unit, ...]) -> bool:
    """Whether the name is one of several joined by "and": such a list may be cut differently."""
    end = units[-1].end
    return any(unit.key in ("and", "or") and 0 <= unit.start - end <= 2 for unit in sentence.units)


def _roles(laid: Alignment, first: Sentence) -> bool:
    if any(unit.key in lexicon.ROLE_STEMS for unit in laid.matched):
        return True
    matched = "".join(unit.key for unit in laid.matched if unit.kind in ("han", "stop"))
    return first.chinese and any(role in matched for role in lexicon.CHINESE_ROLES)


def _chinese_slot(edit: Edit, first: Sentence, second: Sentence) -> bool:
    """Whether two short stretches of Chinese end a sentence after a linking word ("是", "为", "由")."""
    return all(_after_link(side, sentence) for side, sentence in ((edit.first, first), (edit.second, second)))


def _after_link(side: tuple[Unit, ...], sentence: Sentence) -> bool:
    position = sentence.units.index(side[0])
    before = sentence.units[position - 1].key if position else ""
    return (
        sentence.chinese
        and len(side) <= 4
        and all(unit.kind in ("han", "stop") for unit in side)
        and before[-1:] in _CHINESE_LINKS
    )


def _span(units: tuple[Unit, ...]) -> tuple[int, int]:
    return units[0].start, units[-1].end
