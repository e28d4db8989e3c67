"""What one document announces as changed, corrected or ended, looked up in another one."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Pair, Weights, shown
from agentic_memory_bank.engines.extractive.comparing.meant import limited_apart
from agentic_memory_bank.engines.extractive.comparing.replaced import (
    counter,
    distance,
    in_cell,
    is_telling,
    new_value,
    with_unit,
    word_before,
)
from agentic_memory_bank.engines.extractive.comparing.sides import PART
from agentic_memory_bank.engines.extractive.reading.concepts import of_word
from agentic_memory_bank.engines.extractive.reading.figures import (
    Figure,
    are_of_other_sizes,
    figures_of,
    same_kind,
    same_written,
)
from agentic_memory_bank.engines.extractive.reading.marks import OF_THE_DOCUMENT
from agentic_memory_bank.engines.extractive.reading.revisions import AnnouncedRevision, named_in, revisions_of
from agentic_memory_bank.engines.extractive.reading.sentence import sentences_of
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese
from agentic_memory_bank.engines.extractive.reading.terms import distinct, terms_of, without_values

_OF_DOCUMENTS: Final = terms_of(
    "paragraph passage section clause item table line page label sheet leaflet letter list report notice note manual "
    "version programme brochure article book figure number word name say state read print give old new please this "
    "these that those replace change"
)
"""Words by which a text speaks of another one, and not of what that one is about."""
_ALIKE: Final = 0.75
"""What a word of the same concept counts, where the same word counts 1."""
_COVERED: Final = 0.6
_COVERED_CHINESE: Final = 0.3
_COUNTED_ALIKE: Final = 4.5
"""What the words in common weigh where the same is counted, and nothing else has to be covered."""
_SAME_UNIT: Final = 2.0
"""What it adds to the words in common that something is counted or measured alike."""
_NAMED_OLD: Final = 3.0
"""What the words in common weigh at least where the old value is named, and found again."""
_TOPICAL: Final = 5.0
"""What the words in common weigh where nothing else tells that two documents are about one thing."""
_COVERED_OLD: Final = 0.3
"""The share of the words of a subject that comes back where a word ("oak") is to give way to another."""
_DENIED: Final = 3.0
"""What it adds that one of two statements denies, where something is taken back."""
_LEAST_INHERITED: Final = 2.5
"""What the words in common weigh at least with a section that the sentences before speak of."""
_MOST_TARGETS: Final = 40
_SHORT: Final = 3
"""Words of something that stands in another text, up to which it is known by them alone."""
_HEAD: Final = 4
"""Statements of a document among which its letterhead stands."""
_BY: Final = re.compile(r"\bby $|(?:推迟|延后|顺延|推后|提早)$")
"""What makes a number the difference of two values ("postponed by an hour")."""
_EFFECTIVE: Final = re.compile(r" ?起(?:正式)?(?:执行|施行|生效|实施)")
"""What makes a date the one from which on an announcement holds."""
_CLAUSE: Final = re.compile(r"[^,;，。；;]+")
_FOLLOWING: Final = re.compile(r"\b(?:following|below|these changes)\b|如下|下列|以下", re.IGNORECASE)
_NEEDS: Final = re.compile(r"\b(?:need\w*|requir\w+|must|ha(?:ve|s) to|necessary)\b|必须|需要|须", re.IGNORECASE)


def announced(
    revising: Document, other: Document, weights: Weights, about_one: bool | None, twins: bool
) -> Iterator[FoundContradiction]:
    """What one document announces as changed, with the statement of the other that it changes.

    Args:
        about_one: Whether the documents share a subject, as far as one can see.
        twins: Whether they are of one kind and about different things.
    """
    apart = twins or about_one is False
    postings: dict[str, list[Statement]] = {}
    for statement in other.statements:
        for term in (*statement.terms, *statement.about, *(f"#{number}" for number in statement.place.numbers)):
            postings.setdefault(term, []).append(statement)
    found: list[tuple[bool, FoundContradiction]] = []
    for revision in revisions_of(revising):
        best: tuple[float, bool, FoundContradiction] | None = None
        called = _called(revision, other)
        wanted = (
            *sorted(revision.subject | revision.statement.terms),
            *(f"#{number}" for number in revision.references | revision.inherited),
            *(term for name in revision.named for term in terms_of(name)),
        )
        listed = [postings.get(term, []) for term in wanted] if called is not False else []
        near = {target.number: target for some in listed if len(some) <= _MOST_TARGETS for target in some}
        for target in near.values():
            is_named = bool(revision.references & set(target.place.numbers))
            if not is_named and not weights.tell_by_more_than_chance(revision.statement, target):
                continue
            revised = _Revised(revision, target, weights, bool(called))
            clash = revised.found(apart)
            if clash and (best is None or clash[0] > best[0]):
                best = clash[0], bool(called) or revised.is_topical, clash[1]
        if best:
            found.append(best[1:])
    if about_one or _calls(revising, other) or any(is_topical for is_topical, _ in found):
        told = {(clash.second.number, clash.kind, clash.values[1]): clash for _, clash in found}  # the last says most
        yield from told.values()


_DOCUMENTS: Final = frozenset({"@website", "@brochure", "@catalogue"})


def _called(revision: AnnouncedRevision, other: Document) -> bool | None:
    """Whether an announcement names the other document ("the brochure"); False where it names another one."""
    said = terms_of(named_in(revision)) & _DOCUMENTS
    called = terms_of(f"{other.name.rsplit('.', 1)[0]} {other.title}") & _DOCUMENTS
    return bool(said & called) if said else None


def _calls(revising: Document, other: Document) -> bool:
    """Whether a title says of what text it changes something ("Changes to the handbook"), or there is nothing else."""
    called = terms_of(revising.title) & terms_of(f"{other.name.rsplit('.', 1)[0]} {other.title}")
    return bool(called) or revising.is_note


_GENERAL: Final = frozenset({"@when", "@place", "@fee"})
"""Topics that many things have."""
_PLACE: Final = frozenset({"@place"})
_WHOLLY: Final = 0.95
_GENERAL_WORDS: Final = ("time", "hour", "date", "day", "place", "price", "时间", "日期", "地点", "价格")


@cache
def _general_concepts() -> frozenset[int]:
    """The concepts of what many things have."""
    return frozenset(one for word in _GENERAL_WORDS for one in of_word(word))


class _Revised:
    """Whether a statement is what a revision revises."""

    def __init__(self, revision: AnnouncedRevision, target: Statement, weights: Weights, named: bool) -> None:
        self._revision, self._target, self._named, self._weights = revision, target, named, weights
        about = target.terms | target.about
        said = terms_of(revision.context) if revision.context != revision.statement.text else revision.statement.terms
        shared = (said & about) - _OF_DOCUMENTS
        self._referred = bool(revision.references & set(target.place.numbers))
        self._weight = weights.of(shared & target.terms) + 0.5 * weights.of(shared - target.terms)
        self._ended = _ended(revision)
        self._inherited = bool(revision.inherited & set(target.place.numbers))
        if self._inherited:
            self._referred = weights.of(shared & target.terms) >= _LEAST_INHERITED
        subjects = [distinct(revision.subject) - _OF_DOCUMENTS]
        if not subjects[0] and not is_chinese(target):
            subjects = [distinct(terms_of(without_values(revision.new))) - _OF_DOCUMENTS]
        if revision.announcing and revision.sure:
            titles = [distinct(terms_of(title)) for title in revision.statement.place.headings[-1:]]
            subjects += [title for title in titles if len(title) > 1]
        if is_chinese(target):
            subjects = [weights.known(subject) for subject in subjects]
        subjects += [distinct(subjects[0] | self._ended)]
        covers = [_covered(subject, target, weights) for subject in subjects]
        self._cover = max(covers)
        subject = subjects[covers.index(self._cover)]
        row = terms_of(target.place.row)
        self._is_cell = bool(row) and row <= said and (len(target.place.columns) < 3 or self._column() is not None)
        self._topical = bool({term for term in shared if term.startswith("@")})
        specific = {
            term
            for term in subject
            if term not in _GENERAL and (term in about or of_word(term) & target.concepts - _general_concepts())
        }
        self._covered = bool(specific) and self._cover >= (_COVERED_CHINESE if is_chinese(target) else _COVERED)
        if not specific and subject == _PLACE and revision.sure and revision.announcing and self._cover >= _WHOLLY:
            self._covered = not figures_of(revision.new)  # "the venue is now the hall", of a text that tells one venue

    @property
    def is_topical(self) -> bool:
        """Whether the words in common tell by themselves that a statement is about what is revised."""
        return self._weight >= _TOPICAL

    def found(self, apart: bool) -> tuple[float, FoundContradiction] | None:
        """The contradiction with its score; None where the statement is another one."""
        revision, target = self._revision, self._target
        if target.place.kind in ("heading", "header", "code") or target.mode in ("none", "asked", "template"):
            return None
        if target.place.speaker or not (self._referred or self._is_on_topic()):
            return None
        if (
            target.place.kind == "row"
            and not target.place.columns
            and not target.place.headings
            and target.number < _HEAD
        ):
            return None  # a letterhead
        if not self._referred and OF_THE_DOCUMENT.match(target.text):
            return None
        old = self._old() or self._named_before()
        pair = old or (None if apart and not self._referred else self._replaced() or self._reversed())
        if pair is None or not (old or self._is_meant(pair) and not limited_apart(revision.statement, target)):
            return None
        kind, new, was = pair
        values = (new or revision.statement.text[:80], was or target.text[:80])
        score = self._weight + 6 * self._referred + 4 * bool(old) + 4 * self._cover
        if revision.kind in ("cancel", "end"):  # what is taken back differs from what holds
            score += _DENIED * (_has_denial(revision.statement) != _has_denial(target))
        sure = round(min(1.0, 0.5 + score / 40), 4)
        return score, FoundContradiction(revision.statement, target, kind, values, 0, sure)

    def _is_meant(self, pair: Pair) -> bool:
        if self._referred or (self._is_cell and self._column() is not None):
            return True
        if self._named and self._revision.sure:
            return self._topical or self._covered or self._weight >= 5
        if not (self._covered or self._is_cell):
            return False
        if not self._revision.announcing and self._cover < 0.75:
            return False
        least = 2.5 if self._revision.sure and (pair[1] or self._cover > 0.95) else 4.0 if self._revision.sure else 7.0
        return self._weight >= least

    def _is_on_topic(self) -> bool:
        """Whether the target has a word of what the announcement says it is about ("About the tours: ...")."""
        for heading in self._revision.statement.place.headings[-1:]:
            if any(f"{heading}{colon}" in self._revision.context for colon in (":", "：", " :")):
                topic = self._weights.known(terms_of(heading))
                return not topic or bool(topic & (self._target.terms | self._target.about))
        return True

    def _named_before(self) -> Pair | None:
        """A name of which the sentences before the announcement speak, and something else is put in the place of."""
        revision, target = self._revision, self._target
        for name in revision.named:
            own = terms_of(name)
            is_there = re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", target.text)
            if revision.new == revision.statement.text and _has_denial(target):  # it says itself that it is gone
                continue
            others = (revision.above | revision.statement.terms) - own
            is_told = revision.announcing and len(name.split()) > 1
            if is_there and (is_told or others & (target.terms | target.about) - own):
                return "name", " ".join(revision.statement.text.split())[:60], name
        old = terms_of(revision.old)
        is_short = 0 < len(old) <= _SHORT and not figures_of(revision.old)
        is_there = is_short and old <= target.terms and self._weights.of(old) >= _NAMED_OLD
        if revision.kind in ("correct", "replace") and is_there:
            quoted = any(f"{mark}{revision.old}" in revision.context for mark in '"“「《')
            told = self._named or revision.announcing and (len(old) > 1 or self._cover >= _COVERED_OLD)
            if quoted or told and revision.old.split()[0].islower():
                return "name", revision.new[:60], revision.old
        return None

    def _old(self) -> Pair | None:
        """The old value, where the announcement names it and the target has it."""
        revision, target = self._revision, self._target
        contrasted = revision.kind == "correct" and not (
            revision.announcing
            or (self._cover >= 0.5 and self._weight >= 8)
            or (revision.old and self._cover >= _COVERED_CHINESE and self._weight >= _NAMED_OLD)
        )
        taken_back = revision.kind in ("cancel", "end") and self._cover < _COVERED
        least = 0.1 if revision.announcing else 0.25 if revision.kind == "replace" and figures_of(revision.old) else 0.5
        if not self._referred and (self._weight < 2 or self._cover < least or contrasted or taken_back):
            return None
        named = with_unit(revision) or (revision.before if revision.kind in ("cancel", "end") else "")
        for figure in figures_of(named):
            for own in target.figures:
                telling = (
                    is_telling(figure, own)
                    or word_before(named, figure) == word_before(target.text, own) != ""
                    or counter(named, figure) == counter(target.text, own) != ""
                )
                if same_kind(figure, own) and same_written(figure, own) and telling:
                    return (
                        own.kind if own.kind in ("number", "date") else "date",
                        new_value(revision, own),
                        shown(target, own),
                    )
        is_quoted = any(f"{mark}{revision.old}" in revision.context for mark in '"“')
        is_name = len(revision.old) > 1 and (revision.old[0].isupper() or not revision.old.isascii() or is_quoted)
        if is_name and not figures_of(revision.old) and revision.old.casefold() in target.text.casefold():
            return "name", revision.new[:60], revision.old
        return None

    def _replaced(self) -> Pair | None:
        """A new value of the kind of which the target has another."""
        written, owned = self._revision.new, self._owned()
        given = (figure for figure in figures_of(written) if not _BY.search(written[: figure.start]))
        new = [figure for figure in given if not _EFFECTIVE.match(written, figure.end)]
        in_cell = self._is_cell and self._column() is not None
        for figure in new:
            rivals = [
                own
                for own in owned
                if same_kind(figure, own)
                and (figure.kind != "number" or figure.unit and figure.unit == own.unit or in_cell and not own.unit)
                and (self._referred or not are_of_other_sizes(figure, own))
            ]
            if rivals and not any(same_written(one, own) for one in new for own in rivals if same_kind(one, own)):
                self._weight += _SAME_UNIT * bool(figure.unit)
                is_counted = figure.value is not None and bool(figure.unit) and not figure.value.measured
                is_counted = is_counted and not PART.search(self._revision.new[: figure.start])
                self._covered = self._covered or is_counted and self._weight >= _COUNTED_ALIKE
                new_value = self._revision.new[figure.start : figure.end].strip()
                nearest = min(rivals, key=lambda own: distance(figure, own))
                return "number" if figure.kind == "number" else "date", new_value, shown(self._target, nearest)
        return None

    def _reversed(self) -> Pair | None:
        """What the target says and the announcement takes back, or puts something else in the place of."""
        revision, target = self._revision, self._target
        if not revision.sure or self._inherited:
            return None
        if revision.kind not in ("cancel", "end") and self._says_the_same():
            return None
        shared = revision.statement.terms & target.terms
        denies = _denies(target, shared)
        if not (self._referred or revision.announcing or (revision.kind == "end" and self._cover >= 0.75)):
            return None
        if revision.kind in ("cancel", "end") and not self._referred:
            ends = self._says_what_ends()
            alone = len(revision.subject) < 2 and not (ends if revision.kind == "end" else _NEEDS.search(target.text))
            return None if denies and not self._named or alone or not ends else ("negation", "", "")
        if revision.kind == "correct" and not self._referred:
            return ("negation", "", "") if _denies(revision.statement, shared) != denies else None
        if self._referred:
            return "class", "", ""
        # a new date or number takes the place of another one, and "the following" of what it follows
        new = figures_of(revision.new)
        is_another = bool(new) and not any(same_kind(one, own) for one in new for own in target.figures)
        is_told = is_another or _FOLLOWING.search(revision.new) or not terms_of(revision.new)
        return ("class", "", "") if self._cover >= _COVERED and not is_told else None

    def _says_the_same(self) -> bool:
        """Whether the target has a new value already; of what ends, its value is what is taken back."""
        new, owned = figures_of(self._revision.new), self._owned()
        same = [own for own in owned if any(same_kind(one, own) and same_written(one, own) for one in new)]
        return len(same) == len(owned) > 0 if self._referred else bool(same)

    def _says_what_ends(self) -> bool:
        """Whether the target says what is "no longer" so: half of the words behind, or that something is needed."""
        if self._revision.kind != "end" or is_chinese(self._target) or _NEEDS.search(self._target.text):
            return True
        shared = self._ended & (self._target.terms | self._target.about)
        return 2 * self._weights.of(shared) >= self._weights.of(distinct(self._ended))

    def _column(self) -> int | None:
        """The one column of a table that the announcement names."""
        said = f"{self._revision.context} {self._revision.statement.place.line()}".casefold()
        columns = self._target.place.columns
        named = [n for n, label in enumerate(columns) if n and label and label.casefold() in said]
        return named[0] if len(named) == 1 and named[0] < len(self._target.cells) else None

    def _owned(self) -> Sequence[Figure]:
        column = self._column()
        return self._target.figures if column is None else in_cell(self._target, column)


def _covered(subject: frozenset[str], target: Statement, weights: Weights) -> float:
    """The share of the words of a subject, by what they weigh, that a statement or its place has; other words too."""
    total = weights.of(subject)
    same = subject & (target.terms | target.about)
    alike = frozenset(term for term in subject - same if of_word(term) & target.concepts - _general_concepts())
    return (weights.of(same) + _ALIKE * weights.of(alike)) / total if total else 0.0


def _ended(revision: AnnouncedRevision) -> frozenset[str]:
    """The terms of what is "no longer" so: the clause behind these words."""
    clauses = _CLAUSE.findall(revision.new) if revision.kind == "end" else ()
    return terms_of(clauses[0]) if clauses and not is_chinese(revision.statement) else frozenset()


def _has_denial(statement: Statement) -> bool:
    return any(sentence.denials for sentence in sentences_of(statement.text))


def _denies(statement: Statement, shared: frozenset[str]) -> bool:
    """Whether a statement denies in the clause that holds most of what it shares with another one."""
    clauses = _CLAUSE.findall(statement.text)
    best = max(clauses, key=lambda clause: len(terms_of(clause) & shared), default="")
    return any(sentence.denials for sentence in sentences_of(best))
