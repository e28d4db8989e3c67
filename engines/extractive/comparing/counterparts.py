"""Figures that two documents about one thing give for one attribute, in other words: each the best match of the other.

Two documents are about one thing where they share names, dates or long numbers. Then a value of one unit stands for the
same attribute in both where its words, and words of the same concepts, come closest from either side, and where what
they share stands next to the value or is most of what is said.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights, shown
from agentic_memory_bank.engines.extractive.comparing.periods import other_period
from agentic_memory_bank.engines.extractive.comparing.sides import Side, sides_of
from agentic_memory_bank.engines.extractive.comparing.telling import OF_EVERYTHING, are_apart, dated_days
from agentic_memory_bank.engines.extractive.reading.concepts import of_chinese, of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure, are_of_other_sizes, same_figure, same_kind
from agentic_memory_bank.engines.extractive.reading.lexicon import WORD_CLASSES, stem
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese
from agentic_memory_bank.engines.extractive.reading.terms import terms_of

_LEAST_WEIGHT: Final = 2.5
"""What the words that two values share weigh at least."""
_LEAST_ALONE: Final = 1.2
"""The same of values that are the only ones of their unit in both documents, or whose words all come back."""
_FEW: Final = 2
_NAMED: Final = re.compile(r"\b[A-Z][a-z]+ $")
"""What makes a number a name ("Bay 11")."""
_LONGEST_NAME: Final = 20
_SHORT_LABEL: Final = 4
"""Terms of the label of a row, below which it names but one attribute."""
_MOST_SAID: Final = 0.5
_ALL_SAID: Final = 0.9
"""The share of the words of a date that has to come back: a date has no unit that tells what it is of."""
_CONCEPT: Final = 0.75
"""What a word of the same concept counts, where the same word counts 1."""
_CHANGED: Final = re.compile(
    r"(?<!\buntil )(?<!by )(?<!just )\bnow\b|\bafter all\b|\bhenceforth\b"
    r"|\b(?:as from|as of|with effect from|starting from)\b"
    r"|\bfrom (?:this|that|\d|next|now)[\w ]{0,20} on(?:wards)?\b|\b(?:go(?:es)?|went|gone) (?:up|down) (?:to|from)\b"
    r"|\bfrom (?:next |the |\d{1,2}(?:st|nd|rd|th)? (?:of )?)?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|month|week|year|term|season)"
    r"\b(?! ?(?:to|until|till|through|[-–—]))"
    r"|\b(?:raised|lowered|increased|reduced|extended|shortened|corrected|changed):|现(?:已|为|改)|自[^，。]{1,12}起|今后",
    re.IGNORECASE,
)
"""What says that a value holds from now on, in place of another one."""
_UNTIL: Final = re.compile(r"\b(?:until|till|by|before|no later than|at the latest) (?:about )?$|[至到前]$")
_FROM: Final = re.compile(r"\b(?:from|after|since|open(?:s|ed)? at|starts? at|begins? at) (?:about )?$|[从自]$")
_MANY: Final = 4
"""Values and states of two documents that differ, from which they are about one thing only where far more agrees."""
_RIVAL: Final = 0.8
_MOST_POSTINGS: Final = 24


def counterparts(first: Document, second: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """Values of one attribute that differ; of two documents that share a subject."""
    named = frozenset(stem(name) for name in first.names & second.names)
    left, right = list(sides_of(first, named, second)), list(sides_of(second, named, first))
    likes = _likes(left, right, weights, _only_ones(left) & _only_ones(right))
    best = [dict[int, float](), dict[int, float]()]
    for pair, (like, _) in likes.items():
        for at, side in zip(pair, best, strict=True):
            side[at] = max(side.get(at, 0.0), like)
    crowded = [dict[int, int](), dict[int, int]()]
    for (a, b), (like, _) in likes.items():
        equal = same_figure(left[a].figure, right[b].figure)
        for at, side, count in ((a, best[0], crowded[0]), (b, best[1], crowded[1])):
            if like >= _RIVAL * side[at]:
                count[at] = count.get(at, 0) + 1 + _MOST_POSTINGS * equal
    for (a, b), (like, is_sure) in likes.items():
        if is_sure and crowded[0].get(a, 0) == crowded[1].get(b, 0) == 1 and like == best[0][a] == best[1][b]:
            ours, theirs = left[a], right[b]
            values = shown(ours.statement, ours.figure), shown(theirs.statement, theirs.figure)
            kind = "number" if ours.figure.kind == "number" else "date"
            sure = round(min(1.0, 0.5 + like / 40), 4)
            yield FoundContradiction(ours.statement, theirs.statement, kind, values, None, sure)


def are_of_two_things(first: Document, second: Document, weights: Weights, found: Sequence[FoundContradiction]) -> bool:
    """Whether two documents differ in so much of what both tell that they are about two things of one kind.

    Those of one title are not.
    """
    if first.title == second.title != "":
        return False
    if len({(one.first.number, one.second.number) for one in found}) < _MANY:
        return False
    named = frozenset(stem(name) for name in first.names & second.names)
    left, right = list(sides_of(first, named, second)), list(sides_of(second, named, first))
    likes = _likes(left, right, weights, _only_ones(left) & _only_ones(right))
    agree = {a for (a, b), (_, is_sure) in likes.items() if is_sure and same_figure(left[a].figure, right[b].figure)}
    return len(agree) < 2 * len(found)


def later(first: Statement, second: Statement, says: re.Pattern[str] = _CHANGED) -> Literal[0, 1] | None:
    """Which of two statements says of itself that it is the later one, if one of them does."""
    ours, theirs = (bool(says.search(statement.text)) for statement in (first, second))
    return None if ours == theirs else 0 if ours else 1


def _only_ones(sides: list[Side]) -> frozenset[str]:
    """The units in which a document gives but one value."""
    found: dict[str, Figure] = {}
    several = set[str]()
    for side in sides:
        figure = side.figure
        if figure.value and figure.value.measured and not same_figure(found.setdefault(figure.unit, figure), figure):
            several.add(figure.unit)
    return frozenset(found.keys() - several)


def _likes(
    left: list[Side], right: list[Side], weights: Weights, only: frozenset[str]
) -> dict[tuple[int, int], tuple[float, bool]]:
    """How alike two values of one unit stand, and whether that is enough; of those that share a rarer word."""
    postings: dict[str | int, list[int]] = {}
    for at, side in enumerate(right):
        for key in _keys(side):
            postings.setdefault(key, []).append(at)
    likes: dict[tuple[int, int], tuple[float, bool]] = {}
    for at, side in enumerate(left):
        near = {b for key in _keys(side) if len(listed := postings.get(key, ())) <= _MOST_POSTINGS for b in listed}
        for b in sorted(near):
            other = right[b]
            if _comparable(side, other) and not _told_apart(side, other):
                like = _like(side, other, weights, side.figure.unit in only)
                if like[0]:
                    likes[at, b] = like
    return likes


def _keys(side: Side) -> set[str | int]:
    return {*side.words, *(concept for concepts in side.words.values() for concept in concepts)}


def _end_alike(first: Side, second: Side) -> bool | None:
    """Whether of two spans of hours the other ends agree; None where a beginning stands against an end."""
    if first.span is None or second.span is None:
        return False
    at, to = (side.span.index(side.figure) for side in (first, second) if side.span)
    return same_figure(first.span[1 - at], second.span[1 - to]) if at == to else None


def _edge(side: Side) -> str:
    """Whether a time is the one from which something holds, or up to which."""
    before = side.statement.text[max(0, side.figure.start - 16) : side.figure.start]
    if side.figure.kind != "clock":
        return ""
    return "end" if _UNTIL.search(before) else "begin" if _FROM.search(before) else ""


def _comparable(first: Side, second: Side) -> bool:
    """Whether two values are of one unit or count the same, only one of them told by somebody; dates have no unit."""
    ours, theirs = first.figure, second.figure
    if not same_kind(ours, theirs) or first.statement.place.speaker and second.statement.place.speaker:
        return False
    if (
        _end_alike(first, second) is None
        or {_edge(first), _edge(second)} == {"begin", "end"}
        or are_of_other_sizes(ours, theirs)
        or other_period(first.statement, ours, second.statement, theirs)
    ):
        return False
    return (
        ours.kind != "number"
        or _are_limits(first, second)
        or bool(ours.unit)
        and ours.unit == theirs.unit
        or _count_the_same(first, second)
    )


def _are_limits(first: Side, second: Side) -> bool:
    """Whether two numbers are the most of what is counted, the only ones so: "six birds at most", "up to four hens"."""
    values = [side.figure.value for side in (first, second)]
    if any(value is None or value.measured or value.bound != "at most" for value in values):
        return False
    return all(sum(one.kind == "number" for one in side.statement.figures) == 1 for side in (first, second))


def _count_the_same(first: Side, second: Side) -> bool:
    """Whether two numbers count one thing, as the words beside them say: "64 pitches", "the pitches: fifty-eight"."""
    if first.counted & second.counted:
        return True
    if min(side.figure.value.amount for side in (first, second) if side.figure.value) <= _FEW:
        return False  # "the two houses"
    if first.counted and second.counted:
        ours, theirs = (frozenset(c for noun in side.counted for c in _concepts(noun)) for side in (first, second))
        return bool(ours & theirs)
    return any(
        not (bare.figure.unit or bare.statement.cells)
        and not _NAMED.search(bare.statement.text[max(0, bare.figure.start - _LONGEST_NAME) : bare.figure.start])
        and bool(side.counted & bare.beside)
        and bool((first.words.keys() & second.words.keys()) - side.counted - OF_EVERYTHING)
        for bare, side in ((first, second), (second, first))
    )


def _concepts(noun: str) -> frozenset[int]:
    return of_term(noun) if noun.isascii() else frozenset(c for _, _, some in of_chinese(noun) for c in some)


def _like(first: Side, second: Side, weights: Weights, is_only: bool) -> tuple[float, bool]:
    """How much the words weigh that two values share, times the share of what is said, and whether it is enough."""
    ours, shared = _found(first.words, second.words, weights)
    theirs, back = _found(second.words, first.words, weights)
    if not ours or not theirs:
        return 0.0, False
    weight = (ours + theirs) / 2
    covers = sorted(
        got / max(0.1, weights.of(side.told | (found & frozenset(side.words))))
        for got, side, found in ((ours, first, shared), (theirs, second, back))
    )
    same = first.words.keys() & second.words.keys()
    is_general = not (first.words.keys() | second.words.keys()) - OF_EVERYTHING
    telling = same if is_general else same - OF_EVERYTHING
    is_beside = bool(telling) and bool(shared & first.beside) and bool(back & second.beside)
    if first.figure.kind != "number":
        least = _MOST_SAID if first.lead == second.lead != "" else _ALL_SAID
        enough = covers[0] >= least and len(shared) > 1
        enough = enough or bool(_end_alike(first, second)) and covers[1] >= _MOST_SAID
    else:
        is_beside = is_beside or first.lead == second.lead != "" and first.lead not in OF_EVERYTHING
        is_told = len(shared) > 2 and covers[1] >= _MOST_SAID
        enough = is_beside or is_told or _is_label(first, back) or _is_label(second, shared)
    is_named = bool(same - OF_EVERYTHING) or _is_label(first, back) or _is_label(second, shared)
    is_named = is_named or is_chinese(first.statement) != is_chinese(second.statement)
    is_measured = first.figure.value is not None and first.figure.value.measured
    is_alone = is_measured and (is_only and is_named or covers[0] >= _CONCEPT) and not _lead_apart(first, second)
    is_alone = is_alone and bool(shared - OF_EVERYTHING) and bool(back - OF_EVERYTHING)
    return weight * covers[1], weight >= _LEAST_ALONE if is_alone else enough and weight >= _LEAST_WEIGHT


def _lead_apart(first: Side, second: Side) -> bool:
    """Whether two sentences begin with subjects of which the other one does not speak ("The clerk", "The cook")."""
    if not first.lead or not second.lead or is_chinese(first.statement) or is_chinese(second.statement):
        return False
    return not any(
        side.lead in other.words or side.words.get(side.lead, frozenset()) & _concepts_of(other)
        for side, other in ((first, second), (second, first))
    )


def _concepts_of(side: Side) -> frozenset[int]:
    return frozenset(concept for some in side.words.values() for concept in some)


def _is_label(side: Side, found: frozenset[str]) -> bool:
    """Whether a value of a table is measured, and prose has its only label in other words ("Weight", "weighs")."""
    value, statement = side.figure.value, side.statement
    if not found or not statement.cells or value is None or not value.measured:
        return False
    return len(terms_of(statement.place.row)) < _SHORT_LABEL


def _found(
    words: Mapping[str, frozenset[int]], others: Mapping[str, frozenset[int]], weights: Weights
) -> tuple[float, frozenset[str]]:
    """What the words weigh that come back, or others of their concepts, and which they are."""
    concepts = frozenset(concept for some in others.values() for concept in some)
    same = frozenset(word for word in words if word in others)
    alike = frozenset(word for word, some in words.items() if word not in others and some & concepts)
    return weights.of(same) + _CONCEPT * weights.of(alike), same | alike


def _told_apart(first: Side, second: Side) -> bool:
    """Whether two values stand beside words that exclude each other ("adults", "children"; "winter", "summer")."""
    ours, theirs = _own(first, second), _own(second, first)
    classes = [frozenset(kind for word in side for kind in WORD_CLASSES.get(word, ())) for side in (ours, theirs)]
    return bool(classes[0] & classes[1]) or are_apart(ours, theirs)


def _own(side: Side, other: Side) -> frozenset[str]:
    """The words beside a value that the other one has in no language, a day of the week beside its date left out."""
    own = side.beside - other.words.keys() - dated_days(side.statement, other.statement)
    if is_chinese(side.statement) == is_chinese(other.statement):
        return own
    concepts = frozenset(concept for some in other.words.values() for concept in some)
    return frozenset(word for word in own if not side.words[word] & concepts)
