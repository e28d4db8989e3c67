"""Judges, without any model, whether two memories contradict each other, say the same, or neither."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.edits import (
    Alignment,
    Clash,
    Edit,
    Kind,
    align,
    copy_clash,
    edit_clash,
    other_condition,
    other_label,
    other_thing,
    shared_classes,
    synonymous,
)
from agentic_memory_bank.engines.extractive.comparing.slots import denial_clash, same_names, slot_clash, subject_names
from agentic_memory_bank.engines.extractive.reading import lexicon
from agentic_memory_bank.engines.extractive.reading.sentence import Sentence, Unit, sentences_of, value_key
from agentic_memory_bank.engines.extractive.reading.values import comparable
from agentic_memory_bank.tools.text.cleaning import CJK_RUN, is_cjk
from agentic_memory_bank.tools.text.terms import MAX_TERM

Relation = Literal["conflict", "merge", "none"]

_NOTHING: Final = re.compile(r"\b(?:nothing|nobody|no one|none)\b|没有?人|什么(?:都|也)没", re.IGNORECASE)
_TITLES: Final = frozenset(("mr", "mrs", "ms", "dr", "prof", "sir", "miss"))
_MAX_CANDIDATES: Final = 3
_MAX_POSTINGS: Final = 40
_NEAR_COPY: Final = 0.8
_MERGE: Final = 0.8
_CONTRASTING: Final = frozenset(lexicon.WORD_CLASSES) | {word for pair in lexicon.OPPOSITES for word in pair}
_SPELLING: Final = 0.5
_SHORT_EDIT: Final = 4
_LEAD_SHARE: Final = 0.4
_LONG_TEXT: Final = 2
_MAX_COPY: Final = 600
_COPY_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two texts relate.

    Attributes:
        relation: "conflict", "merge" (they say the same) or "none".
        kind: What clashes ("number", "date", "negation", "antonym", "name", "class"), "same" for a merge, else "none".
        quote_a: Offsets in the first text of the sentence that clashes (the whole text when nothing does).
        quote_b: The same in the second text.
        values: The two values or words that clash, as written; empty strings when nothing does.
        reason: One sentence that names both, in the language of the text.
        score: How sure the judgement is, from 0 to 1.
    """

    relation: Relation
    kind: Kind
    quote_a: tuple[int, int]
    quote_b: tuple[int, int]
    values: tuple[str, str]
    reason: str
    score: float


def compare(a: str, b: str, cosine: float, *, merge_cosine: float = _MERGE, merge_share: float = 0.7) -> Comparison:
    """Judges how two texts relate; the same answer whichever comes first.

    Args:
        a: A memory, from one sentence to some pages.
        b: The memory it is compared with.
        cosine: Cosine of their vectors.
        merge_cosine: English texts below it are never merged, unless their words are the same.
        merge_share: Chinese texts that share less of their characters are never merged.
    """
    return compare_all(a, b, cosine, merge_cosine=merge_cosine, merge_share=merge_share)[0]


def compare_all(
    a: str, b: str, cosine: float, *, merge_cosine: float = _MERGE, merge_share: float = 0.7
) -> list[Comparison]:
    """Judge how two texts relate, as `compare`; where they contradict each other in several sentences, each of these.

    Returns:
        One comparison at least; the surest contradiction first, no sentence in two of them.

    Example:
        >>> lines = "The hall is 9 m long. It opens at 8.", "The hall is 7 m long. It opens at 10."
        >>> [found.values for found in compare_all(*lines, 0.9)]
        [('9 m', '7 m'), ('8', '10')]
    """
    if b < a:
        found = compare_all(b, a, cosine, merge_cosine=merge_cosine, merge_share=merge_share)
        return [_mirrored(one) for one in found]
    return _compared(a, b, cosine, merge_cosine, merge_share)


def may_say_the_same(a: str, b: str, cosine: float) -> bool:
    """Whether `compare_all` can find that two texts say the same; vectors can exclude that of any but Chinese ones."""
    return cosine >= _MERGE or any(map(CJK_RUN.search, (a, b))) or a.split() == b.split()


def _compared(a: str, b: str, cosine: float, merge_cosine: float, merge_share: float) -> list[Comparison]:
    first, second = sentences_of(a), sentences_of(b)
    if not first or not second:
        return [_nothing(a, b)]
    if a.split() == b.split():
        return [_same(a, b, 1.0)]
    if _other_bearer(first, second) and _shared(first, second) < _NEAR_COPY:
        return [_nothing(a, b)]
    pairs = list(_paired(_distinct(first), _distinct(second)))
    stated = [pair for pair in pairs if not _are_of_nothing(a, b, *pair)]
    found = _clashes(stated, _same_lead(first, second), _too_long_for_slots(first, second))
    found = found or _copy_clashes(first, second)
    if found and not _are_of_nothing(a, b, *found[0][:2]):
        return [_conflict(a, b, *one) for one in found]
    likeness = _likeness(first, second, pairs, cosine, merge_cosine, merge_share)
    return [_same(a, b, likeness) if likeness > 0 else _nothing(a, b)]


def differ(a: str, b: str) -> bool:
    """Whether something in two texts forbids to take them for the same, though they need not contradict each other.

    A value, a name, a denial, or one word in place of another is enough; that one text says more than the other is not.

    Example:
        >>> differ("The table is made of oak.", "The table is made of steel.")
        True
        >>> differ("Anna runs the shop.", "Anna runs the shop in Porto.")
        False
    """
    first, second = sentences_of(a), sentences_of(b)
    if not first or not second:
        return False
    pairs = list(_paired(_distinct(first), _distinct(second)))
    return (
        _other_bearer(first, second)
        or any(_changes(align(left, right)) or _swapped(left, right) for left, right in pairs)
        or _contrast(first, second)
        or _values_differ(first, second)
        or max((len(s.denials) for s in first), default=0) != max((len(s.denials) for s in second), default=0)
        or compare(a, b, 0.0).relation == "conflict"
    )


def _are_of_nothing(a: str, b: str, first: Sentence, second: Sentence) -> bool:
    """Whether both sentences say that there was nothing: in one year nothing, in another nothing either."""
    return all(_NOTHING.search(text[s.start : s.end]) is not None for text, s in ((a, first), (b, second)))


def _swapped(first: Sentence, second: Sentence) -> bool:
    """Whether the same names stand in another order around the same words: each in the other's part."""
    left, right = ([unit.key for unit in s.units if unit.kind in ("name", "han")] for s in (first, second))
    return first.content == second.content and left != right and sorted(left) == sorted(right)


def _too_long_for_slots(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether slots would pair up what speaks of other things; texts in two languages have little but slots."""
    one_language = any(s.chinese for s in first) == any(s.chinese for s in second)
    return one_language and min(len(first), len(second)) > _LONG_TEXT


def _distinct(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences without repetitions."""
    return list({tuple(unit.key for unit in sentence.units): sentence for sentence in reversed(sentences)}.values())[
        ::-1
    ]


def _paired(first: Sequence[Sentence], second: Sequence[Sentence]) -> Iterator[tuple[Sentence, Sentence]]:
    """Sentences that may speak of the same: for each of the first text those of the second with its rarest words."""
    if len(first) == 1 and len(second) == 1:
        yield first[0], second[0]
        return
    postings: dict[str, list[int]] = {}
    for index, sentence in enumerate(second):
        for key in sentence.content:
            postings.setdefault(key, []).append(index)
    for sentence in first:
        weights: dict[int, float] = {}
        for key in sorted(sentence.content):
            listed = postings.get(key, [])
            for index in listed if len(listed) <= _MAX_POSTINGS else ():
                weights[index] = weights.get(index, 0.0) + 1.0 / len(listed)
        for index in sorted(weights, key=lambda at: (-weights[at], at))[:_MAX_CANDIDATES]:
            yield sentence, second[index]


def _other_bearer(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether both texts open with "Name (qualifier)" and the qualifiers differ: two things that share a name."""
    left, right = first[0].qualifier, second[0].qualifier
    return bool(left and right) and left != right


def _same_lead(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether two texts open on one subject, which later sentences may leave out; a single sentence has its own."""
    left, right = first[0], second[0]
    if len(first) == len(second) == 1:
        return True
    if subject_names(left) and subject_names(right):
        return same_names(left, right)
    if not left.chinese or not right.chinese or min(len(first), len(second)) == 1:
        return True
    return len(left.content & right.content) >= _LEAD_SHARE * min(len(left.content), len(right.content))


def _clashes(
    pairs: Sequence[tuple[Sentence, Sentence]], same_lead: bool, long: bool
) -> list[tuple[Sentence, Sentence, Clash]]:
    """The sentences that clash, the surest first, each in one pair."""
    found: list[tuple[Sentence, Sentence, Clash]] = []
    for first, second in pairs:
        if (
            first.question
            or second.question
            or other_condition(first, second)
            or other_label(first, second)
            or other_thing(first, second)
            or not (same_lead or same_names(first, second))
        ):
            continue
        clash = (
            edit_clash(first, second) or denial_clash(first, second) or (None if long else slot_clash(first, second))
        )
        if clash is not None:
            found.append((first, second, clash))
    found.sort(key=lambda one: -one[2].score)
    used: set[tuple[bool, int]] = set()
    alone: list[tuple[Sentence, Sentence, Clash]] = []
    for one in found:
        places = {(False, one[0].start), (True, one[1].start)}
        if used.isdisjoint(places):
            used |= places
            alone.append(one)
    return alone


def _copy_clashes(first: Sequence[Sentence], second: Sequence[Sentence]) -> list[tuple[Sentence, Sentence, Clash]]:
    """The clash of two near-copies whose sentences are cut differently, such as a page and its table as lines."""
    left = tuple(unit for sentence in first for unit in sentence.units)
    right = tuple(unit for sentence in second for unit in sentence.units)
    if len(first) == len(second) == 1 or max(len(left), len(right)) > _MAX_COPY or _shared(first, second) < _COPY_SHARE:
        return []
    clash = copy_clash(left, right)
    return [(_holding(first, clash.first), _holding(second, clash.second), clash)] if clash else []


def _holding(sentences: Sequence[Sentence], span: tuple[int, int]) -> Sentence:
    return next(sentence for sentence in sentences if sentence.start <= span[0] and span[1] <= sentence.end)


def _likeness(
    first: Sequence[Sentence],
    second: Sequence[Sentence],
    pairs: Sequence[tuple[Sentence, Sentence]],
    cosine: float,
    merge_cosine: float,
    merge_share: float,
) -> float:
    """How sure it is that two texts say the same; 0.0 when they do not, or when a replaced word may change it."""
    if _values_differ(first, second) or _names_differ(first, second) or _denials(first) != _denials(second):
        return 0.0
    share = _shared(first, second)
    if any(sentence.chinese for sentence in (*first, *second)):
        likeness = round(share, 4) if share >= merge_share else 0.0
    elif len(first) > 1 and len(second) > 1 and share < merge_share:
        likeness = 0.0
    else:
        likeness = round(min(1.0, cosine), 4) if cosine >= merge_cosine else 0.0
    return 0.0 if likeness <= 0.0 or _may_change(first, second, pairs) else likeness


def _may_change(
    first: Sequence[Sentence], second: Sequence[Sentence], pairs: Sequence[tuple[Sentence, Sentence]]
) -> bool:
    """Whether a word of one text that stands in place of another may change what is said."""
    changed = (_changes(align(left, right)) or _swapped(left, right) for left, right in pairs)
    return any(changed) or _contrast(first, second)


def _denials(sentences: Sequence[Sentence]) -> int:
    return sum(len(sentence.denials) for sentence in sentences)


def _shared(first: Sequence[Sentence], second: Sequence[Sentence]) -> float:
    left = {unit.key for sentence in first for unit in sentence.units if unit.carries}
    right = {unit.key for sentence in second for unit in sentence.units if unit.carries}
    return 2 * len(left & right) / (len(left) + len(right)) if left or right else 0.0


def _values_differ(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether some value of one text has no equal in the other, which has another of its kind in its place."""
    left = {value_key(value): value for sentence in first for value in sentence.values}
    right = {value_key(value): value for sentence in second for value in sentence.values}
    ours = [value for key, value in left.items() if key not in right]
    theirs = [value for key, value in right.items() if key not in left]
    return any(comparable(value, other) for value in ours for other in theirs)


def _names_differ(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether both texts name somebody or something, and nothing that is spelt alike."""
    left, right = ({name for one in some for name in one.names} - _TITLES for some in (first, second))
    return bool(left and right) and not any(_alike(one, other) for one in left for other in right)


def _changes(laid: Alignment) -> bool:
    """Whether some edit may change what is said: a word of another meaning, or a lone word in place of another."""
    replaced = laid.replaced
    if any(_opposed(edit.first, edit.second) for edit in laid.edits):
        return True
    if any(_renames(edit) for edit in replaced):
        return True
    return len(replaced) == 1 and laid.share >= 0.5 and _swaps(replaced[0])


def _renames(edit: Edit) -> bool:
    """Whether names stand in place of other names, and no form of them."""
    left = [unit.key for unit in edit.first if unit.kind == "name"]
    right = [unit.key for unit in edit.second if unit.kind == "name"]
    short = len(edit.first) <= _SHORT_EDIT and len(edit.second) <= _SHORT_EDIT
    return short and bool(left and right) and not any(_alike(one, other) for one in left for other in right)


def _alike(first: str, second: str) -> bool:
    """Whether two names may be spellings of one ("Hizbullah", "Hezbollah")."""
    return SequenceMatcher(None, first[:MAX_TERM], second[:MAX_TERM], autojunk=False).ratio() > _SPELLING


def _contrast(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether what only one text says excludes what only the other says."""
    left = {unit.key: unit for sentence in first for unit in sentence.units}
    right = {unit.key: unit for sentence in second for unit in sentence.units}
    return _opposed([left[key] for key in left if key not in right], [right[key] for key in right if key not in left])


def _opposed(first: Sequence[Unit], second: Sequence[Unit]) -> bool:
    known = [unit for unit in second if unit.key in _CONTRASTING]
    return any(
        (left.key, right.key) in lexicon.OPPOSITES or shared_classes(left, right)
        for left in first
        if left.key in _CONTRASTING
        for right in known
    )


def _swaps(edit: Edit) -> bool:
    left = [unit for unit in edit.first if unit.carries]
    right = [unit for unit in edit.second if unit.carries]
    return (
        len(left) <= 2
        and len(right) <= 2
        and not any(synonymous(one.key, other.key) for one in left for other in right)
    )


def _conflict(a: str, b: str, first: Sentence, second: Sentence, clash: Clash) -> Comparison:
    values = (a[slice(*clash.first)], b[slice(*clash.second)])
    reason = told(values, (a, b))
    return Comparison(
        "conflict", clash.kind, (first.start, first.end), (second.start, second.end), values, reason, clash.score
    )


def told(values: tuple[str, str], texts: tuple[str, str]) -> str:
    """Name both values in a sentence, in the language of the texts."""
    if all(is_cjk(text) for text in texts):
        return f"一处说“{values[0]}”，另一处说“{values[1]}”。"
    return f"One says “{values[0]}”, the other “{values[1]}”."


def _same(a: str, b: str, score: float) -> Comparison:
    reason = (
        "两段文字说的是同一件事。"
        if not a.isascii() and any("\u3400" <= char <= "\u9fff" for char in a)
        else "Both texts say the same."
    )
    return Comparison("merge", "same", (0, len(a)), (0, len(b)), ("", ""), reason, score)


def _nothing(a: str, b: str) -> Comparison:
    return Comparison("none", "none", (0, len(a)), (0, len(b)), ("", ""), "", 0.0)


def _mirrored(comparison: Comparison) -> Comparison:
    values = (comparison.values[1], comparison.values[0])
    reason = comparison.reason
    if comparison.relation == "conflict":
        chinese = reason.startswith("一处")
        reason = (
            f"一处说“{values[0]}”，另一处说“{values[1]}”。"
            if chinese
            else f"One says “{values[0]}”, the other “{values[1]}”."
        )
    return replace(comparison, quote_a=comparison.quote_b, quote_b=comparison.quote_a, values=values, reason=reason)
