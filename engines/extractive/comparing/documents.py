"""Where two documents contradict each other: statements about one thing whose values exclude each other.

What a text announces as changed or corrected is looked up in the other document and decides; otherwise two asserted
statements have to be about the same attribute of the same subject, in places that do not tell them apart.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.announced import announced
from agentic_memory_bank.engines.extractive.comparing.counterparts import are_of_two_things, counterparts, later
from agentic_memory_bank.engines.extractive.comparing.edits import Kind
from agentic_memory_bank.engines.extractive.comparing.events import dated_apart
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights, shown
from agentic_memory_bank.engines.extractive.comparing.labelled import labelled
from agentic_memory_bank.engines.extractive.comparing.meant import labelled_apart, meant_apart
from agentic_memory_bank.engines.extractive.comparing.noticed import noticed
from agentic_memory_bank.engines.extractive.comparing.opposed import opposed
from agentic_memory_bank.engines.extractive.comparing.periods import other_period
from agentic_memory_bank.engines.extractive.comparing.precedence import precedence
from agentic_memory_bank.engines.extractive.comparing.required import required_versions
from agentic_memory_bank.engines.extractive.comparing.roles import other_holders
from agentic_memory_bank.engines.extractive.comparing.sides import (
    cell_of,
    column_of,
    counted_apart,
    figures_given,
    is_listed,
)
from agentic_memory_bank.engines.extractive.comparing.subjects import (
    SALUTES,
    are_counted,
    are_to_others,
    share_subject,
    speak_apart,
)
from agentic_memory_bank.engines.extractive.comparing.successors import successors
from agentic_memory_bank.engines.extractive.comparing.telling import (
    OF_EVERYTHING,
    dated_days,
    numbered_apart,
    stand_apart,
)
from agentic_memory_bank.engines.extractive.comparing.turned import turned
from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure, same_figure, same_kind
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.marks import OF_THE_DOCUMENT
from agentic_memory_bank.engines.extractive.reading.revisions import announces, is_notice
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese, read
from agentic_memory_bank.engines.extractive.reading.terms import distinct, terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_LIKE: Final = 0.5
_LIKE_EVENT: Final = 0.7
_LIKE_COUNTED: Final = 0.64
_ALIKE: Final = 0.6
_NEAR: Final = 12
"""How far from the label of a row a figure of prose may stand, in characters."""
_FEW_CLASHES: Final = 2
_FEW_CHANGES: Final = 3
_LEAST_SHARED: Final = 4
"""Statements that copies of a document share for each one that was changed."""
_FORMS: Final = 0.5
_LEAST_FORMS: Final = 4
_LEAST_PARTS: Final = 3
"""Headings and labels that two documents share whose titles name different things."""
_MOST_POSTINGS: Final = 12
_MOST_TEXT: Final = 300
_MOST_FIGURES: Final = 6
_SUBJECT: Final = lazy_pattern(
    r"\W{0,4}(?:the|our|an?|each|every) (?P<noun>[a-z]{2,20}) (?=[a-z]{1,20}s |is |are |was |were )", re.IGNORECASE
)
_EVENT: Final = lazy_pattern(
    r"(?<!\bto be )\b([a-z]{3,20}ed|built|born|began|sold|won|held|died)\s+(?:in|on|since|until)\s+(?:the\s+)?$"
)
_YOU: Final = lazy_pattern(r"\b(?:you|yours?)\b|[您你]", re.IGNORECASE)


@lru_cache(maxsize=256)
def contradictions(first: tuple[str, str], second: tuple[str, str]) -> tuple[FoundContradiction, ...]:
    """Every contradiction between two documents, each given as its name and its text."""
    if second < first:
        return tuple([one.mirrored() for one in contradictions(second, first)])
    left, right = read(first[1], first[0]), read(second[1], second[0])
    weights, copies = Weights(left, right), _are_copies(left, right)
    twins = _are_twins(left, right) and not copies
    about_one = True if copies else share_subject(left, right)
    apart = twins or about_one is False
    found = [*announced(left, right, weights, about_one, twins)]
    found += [one.mirrored() for one in announced(right, left, weights, about_one, twins)]
    notices = is_notice(left), is_notice(right)
    if not apart and not all(notices):
        looked_up = [one for by in (noticed, turned, successors) if notices[0] for one in by(left, right, weights)]
        of_right = [one for by in (noticed, turned, successors) if notices[1] for one in by(right, left, weights)]
        looked_up += [one.mirrored() for one in of_right]
        found += [one for one in looked_up if weights.tell_by_more_than_chance(one.first, one.second)]
    if copies or not apart and not _are_alike(left, right):
        clashes = _plain(left, right, weights, bool(about_one))
        if about_one:
            others = [*counterparts(left, right, weights), *opposed(left, right, weights)]
            others += [*dated_apart(left, right), *labelled(left, right)]
            clashes += [*_not_told_apart(left, right, others), *required_versions(left, right)]
        if about_one or notices[0] != notices[1]:
            clashes += other_holders(left, right)
        clashes = [one for one in clashes if weights.tell_by_more_than_chance(one.first, one.second)]
        clashes = clashes if copies or not are_of_two_things(left, right, weights, clashes) else []
        found += [one if one.holds is not None else replace(one, holds=later(one.first, one.second)) for one in clashes]
        found = [one if one.holds is not None else replace(one, holds=_revised(one)) for one in found]
        prevails = precedence(left, right) if any(one.holds is None for one in found) else None
        if prevails is None and notices[0] != notices[1]:
            prevails = 0 if notices[0] else 1
        found = [one if one.holds is not None else replace(one, holds=prevails) for one in found]
    found.sort(key=lambda one: one.kind in ("negation", "class"))  # of two of one pair, values say more
    unique = {(one.first.number, one.second.number): one for one in reversed(found) if not one.says_nothing}
    return tuple(reversed(unique.values()))


def _revised(found: FoundContradiction) -> Literal[0, 1] | None:
    """Which of two statements announces a change of what the other one says, if one of them does."""
    ours, theirs = (announces(one, v) for one, v in zip((found.first, found.second), found.values, strict=True))
    return None if ours == theirs else 0 if ours else 1


# --- what is stated twice ------------------------------------------------------------------------------------------


def _are_copies(first: Document, second: Document) -> bool:
    """Whether two documents are one, but for figures: a few statements differ, and each of those has some.

    A form that is filled in twice differs in names, dates or labels, too.
    """
    if first.labels != second.labels:
        return False
    said = [{statement.text for statement in one.statements} for one in (first, second)]
    pairs = (first, said[1]), (second, said[0])
    ours, theirs = ([one for one in document.statements if one.text not in other] for document, other in pairs)
    if not 0 < len(ours) == len(theirs) <= _FEW_CHANGES or _LEAST_SHARED * len(ours) > len(said[0] & said[1]):
        return False
    return all(
        _is_side(a) and _is_side(b) and a.terms == b.terms and a.place.kind == b.place.kind != "header"
        for a, b in zip(ours, theirs, strict=True)
    )


def _are_twins(first: Document, second: Document) -> bool:
    """Whether two documents are of one kind and about different things.

    Then a label of their names differs ("report-2021", "report-2022"), or one form is filled in twice.
    """
    for left, right, ours, theirs in _named(first, second):
        if left and left == right and ours != theirs:
            return True
    shared, fewer = first.forms & second.forms, min(len(first.forms), len(second.forms))
    is_form = len(shared) >= _LEAST_FORMS and len(shared) >= _FORMS * fewer
    return is_form or len(shared) >= _LEAST_PARTS and _are_titled_apart(first, second)


def _are_titled_apart(first: Document, second: Document) -> bool:
    """Whether each title names what the other document never speaks of ("Bramble", "Tansy")."""
    return speak_apart(first, terms_of(first.title), second, terms_of(second.title))


def _are_alike(first: Document, second: Document) -> bool:
    """Whether names or titles of one pattern hold different labels ("Path No. 1: Herons", "Path No. 2: Otters")."""
    return any(x and y and x.isdisjoint(y) and _similar(a, b) for a, b, x, y in _named(first, second))


def _named(first: Document, second: Document) -> list[tuple[str, str, frozenset[str], frozenset[str]]]:
    """The moulds and labels of two names, unless these only count the files, and of two titles."""
    return [*zip(first.mould, second.mould, first.labels, second.labels, strict=True)][are_counted(first, second) :]


def _similar(first: str, second: str) -> bool:
    """Whether two names are cut to one pattern."""
    return bool(first and second) and SequenceMatcher(None, first[:80], second[:80], autojunk=False).ratio() >= _ALIKE


def _plain(first: Document, second: Document, weights: Weights, about_one: bool) -> list[FoundContradiction]:
    """What both documents state of one subject: they share it, one names the title of the other, or figures agree."""
    titles = distinct(terms_of(first.title)), distinct(terms_of(second.title))
    subjects = titles[0] & second.vocabulary | titles[1] & first.vocabulary
    if titles[0] == titles[1] and first.names and second.names and first.names.isdisjoint(second.names):
        subjects = frozenset()  # "To whom it may concern"
    found: list[FoundContradiction] = []
    agreeing, to_others = 0, are_to_others(first, second)
    for statement, others in _neighbours(first, second):
        compared = [
            _clash(statement, other, weights) for other in others if not (to_others and _say_you(statement, other))
        ]
        agreeing += any(one == "agrees" for one in compared)
        clashes = [one for one in compared if isinstance(one, FoundContradiction)]
        if clashes:
            found.append(max(clashes, key=lambda one: one.score))
    about_one = about_one or bool(subjects) or agreeing > 0
    return found if about_one and len(found) <= _FEW_CLASHES + 2 * agreeing else []


def _not_told_apart(
    first: Document, second: Document, found: Iterable[FoundContradiction]
) -> Iterator[FoundContradiction]:
    """Those of which neither a name, nor a place, nor whom it is written to tells the sides apart."""
    to_others = are_to_others(first, second)
    for one in found:
        if _told_apart(one.first, one.second) or to_others and _say_you(one.first, one.second):
            continue
        if one.kind != "number" or not _are_of_two(one.first, one.second):
            yield one


def _say_you(*statements: Statement) -> bool:
    return any(_YOU.search(statement.text) for statement in statements)


def _neighbours(first: Document, second: Document) -> Iterator[tuple[Statement, list[Statement]]]:
    """Asserted statements with a figure, each with those of the other document that share a rarer word with it."""
    postings: dict[str, list[Statement]] = {}
    for statement in second.statements:
        if _is_side(statement):
            for term in statement.terms:
                postings.setdefault(term, []).append(statement)
    for statement in first.statements:
        if _is_side(statement):
            listed = [postings.get(term, []) for term in sorted(statement.terms)]
            near = {other.number: other for some in listed if len(some) <= _MOST_POSTINGS for other in some}
            yield statement, list(near.values())


def _is_side(statement: Statement) -> bool:
    """Whether a statement asserts a few figures, and is no list of them."""
    return (
        statement.mode == "asserted"
        and len(statement.text) <= _MOST_TEXT
        and not SALUTES.match(statement.text)
        and 0 < len(statement.figures) <= _MOST_FIGURES
    )


def _clash(first: Statement, second: Statement, weights: Weights) -> FoundContradiction | Literal["agrees"] | None:
    """Two figures of one attribute that exclude each other, where nothing tells the statements apart."""
    if _told_apart(first, second) or _are_of_two(first, second):
        return None
    best: FoundContradiction | None = None
    differing: set[int] = set()
    agrees = False
    theirs = figures_given(second)
    for figure in figures_given(first):
        equal = [other for other in second.figures if same_kind(figure, other) and same_figure(figure, other)]
        if equal:
            agrees = agrees or any(_like(figure, other, first, second, weights) >= _LIKE for other in equal)
            continue
        for other in theirs:
            if (
                not same_kind(figure, other)
                or counted_apart(figure, first, other, second)
                or is_listed(figure, first) != is_listed(other, second)
            ):
                continue
            like = _like(figure, other, first, second, weights)
            if like < _LIKE:
                continue
            differing.add(figure.start)
            if best is None or like > best.score:
                values = shown(first, figure), shown(second, other)
                kind: Kind = "number" if figure.kind == "number" else "date"
                best = FoundContradiction(first, second, kind, values, None, round(min(1.0, like), 4))
    if len(differing) < 2 and best is not None:
        return best  # where all that is said differs, it is said of something else
    return "agrees" if agrees else None


def _like(figure: Figure, other: Figure, first: Statement, second: Statement, weights: Weights) -> float:
    """How far two figures stand among the same words, from 0 to 1."""
    left, right = _around(figure, first), _around(other, second)
    if _is_row_of(figure, first, other, second) or _is_row_of(other, second, figure, first):
        return 1.0
    bare = figure.kind == "number" and not (figure.unit and figure.unit == other.unit)
    event = _event(figure, first)
    if (
        event
        and event == _event(other, second)
        and distinct((first.terms | first.about) & (second.terms | second.about)) - terms_of(event) - weights.names
    ):
        return _LIKE_EVENT
    if other_period(first, figure, second, other) or labelled_apart(first, figure, second, other):
        return 0.0
    if not (_is_counting(figure) and _is_counting(other)) or (bare and figure.unit and other.unit):
        return 0.0
    if not (_names_column(figure, first, right) and _names_column(other, second, left)):
        return 0.0
    if not left or not right:
        return 0.0
    if is_chinese(first) and is_chinese(second):  # pairs of characters that come once are seldom words
        left, right, bare = weights.known(left), weights.known(right), False
    elif is_chinese(first) != is_chinese(second):
        return _like_across(left, right, weights)
    shared = left & right
    if (
        not distinct(shared) - OF_EVERYTHING - (weights.names if figure.kind == "date" else frozenset())
        or len(distinct(shared)) < 2 + bare
        or weights.of(shared) < 4
    ):
        return 0.0
    ratios = sorted((weights.of(shared) / weights.of(left), weights.of(shared) / weights.of(right)))
    like = sum(ratios) / 2 if first.cells or second.cells else ratios[1]
    counted = figure.value is not None and figure.kind == "number" and not figure.value.measured
    return like if like >= _LIKE_COUNTED or not counted else 0.0


def _event(figure: Figure, statement: Statement) -> str:
    """What happened on a date: the word before it, but for prepositions ("founded in 1987")."""
    found = _EVENT.search(statement.text[max(0, figure.start - 40) : figure.start]) if figure.kind == "date" else None
    return stem(found[1]) if found else ""


def _is_counting(figure: Figure) -> bool:
    """Whether a number that measures nothing is more than an article ("one of them", "the two")."""
    return figure.value is None or figure.kind == "date" or figure.value.measured or figure.value.amount > 2


def _names_column(figure: Figure, row: Statement, other: frozenset[str]) -> bool:
    """Whether, of a table with several columns, what is said elsewhere names that of a figure."""
    labels = row.place.columns
    if len(labels) < 3:
        return True
    label = terms_of(labels[min(cell_of(row, figure) or 0, len(labels) - 1)])
    return not label or bool(label & other)


def _like_across(left: frozenset[str], right: frozenset[str], weights: Weights) -> float:
    """The same for two languages: by the topics that both have words for, and the names written alike."""
    topics = [{term for term in terms if term.startswith("@")} for terms in (left, right)]
    shared = topics[0] & topics[1]
    return len(shared) / min(map(len, topics)) if len(shared) > 1 and 2 * weights.of(frozenset(shared)) >= 4 else 0.0


def _is_row_of(figure: Figure, row: Statement, other: Figure, said: Statement) -> bool:
    """Whether prose names the row of a figure, word for word, with another of its unit: the only one of the row."""
    label = row.place.row.casefold()
    if figure.kind == other.kind == "date" and row.cells and not said.cells:
        named = terms_of(label)
        return (
            len(named - OF_EVERYTHING - {"@when"}) > 1
            and named <= terms_of(said.text)
            and sum(f.kind == "date" for f in row.figures) == 1
        )
    alone = sum(f.kind == figure.kind and f.unit == figure.unit for f in row.figures) == 1
    if not row.cells or said.cells or len(label) < 2 or not alone or not figure.unit or figure.unit != other.unit:
        return False
    at = said.text.casefold().find(label)
    return at >= 0 and abs(other.start - at - len(label)) <= _NEAR


def _around(figure: Figure, statement: Statement) -> frozenset[str]:
    """The terms a figure stands among: its clause; of a row, its label and that of the column."""
    if not statement.cells:
        return figure.near
    return terms_of(f"{statement.place.row} {column_of(statement, figure)}") | statement.terms


def _told_apart(first: Statement, second: Statement) -> bool:
    """Whether the places or words of two statements name different things."""
    if stand_apart(first, second) or meant_apart(first, second) or _logged_apart(first, second):
        return True
    if OF_THE_DOCUMENT.match(first.text) and OF_THE_DOCUMENT.match(second.text):
        return True
    if numbered_apart(first, second):
        return True
    left, right = (s.sentence.names if s.sentence else frozenset[str]() for s in (first, second))
    left, right = left - dated_days(first, second), right - dated_days(second, first)
    around = [s.terms | s.about for s in (first, second)]
    return bool(left and right) and left.isdisjoint(right | around[1]) and right.isdisjoint(around[0])


def _are_of_two(first: Statement, second: Statement) -> bool:
    """Whether two sentences open with nouns of which the other one does not speak ("The clerk", "The cook")."""
    opened = _SUBJECT.match(first.text), _SUBJECT.match(second.text)
    ours, theirs = (terms_of(found["noun"]) if found else frozenset[str]() for found in opened)
    if not ours or not theirs or ours & second.terms or theirs & first.terms:
        return False
    concepts = [frozenset(one for term in terms for one in of_term(term)) for terms in (ours, theirs)]
    return concepts[0].isdisjoint(concepts[1])


def _logged_apart(first: Statement, second: Statement) -> bool:
    """Whether both are entries of a log, of other days: a date, and behind it what was counted."""
    days = [statement.figures[0] for statement in (first, second) if _is_entry(statement)]
    return len(days) == 2 and not same_figure(*days)


def _is_entry(statement: Statement) -> bool:
    """Whether a line opens with a date, and gives numbers behind it."""
    figures = statement.figures
    opens = bool(figures) and figures[0].kind == "date" and not statement.text[: figures[0].start].strip("-* ")
    return opens and not statement.cells and any(figure.kind == "number" for figure in figures[1:])
