"""Who or what a notice names in the place of a name that the document it changes has: "Ms A has left; B takes over"."""

import re
from collections.abc import Iterator, Sequence, Set
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights
from agentic_memory_bank.engines.extractive.comparing.sides import words_of
from agentic_memory_bank.engines.extractive.comparing.surroundings import above_of, labels_above
from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.marks import CALENDAR
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement
from agentic_memory_bank.tools.text import terms
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_LEAST: Final = 2.0
_CONCEPT: Final = 2.0
"""What the words in common weigh at least, and what each word of the same concept does."""
_MOST_POSTINGS: Final = 40
_MOST_TEXT: Final = 300
_GONE: Final = lazy_pattern(
    r"\b(?:left|leaves|leaving|ill|sick|in hospital|retire[sd]?|resigned|unable|cannot|not (?:be )?able|no longer|"
    r"instead|in (?:his|her|their|its) (?:place|stead)|stand(?:s|ing)? in|tak(?:es?|en|ing) over|took over|replac\w+|"
    r"succeed\w*|closed|let (?:us|me) down|moved|on leave)\b",
    re.IGNORECASE,
)
"""What says that somebody or something is not to be had any more, or somebody else comes in."""
_NAME: Final = lazy_pattern(r"(?<![\w'’-])[A-Z][a-z][\w'’-]{0,24}(?: (?:[A-Z]\.? )?[A-Z][a-z][\w'’-]{0,24}){0,2}")
_NO_NAMES: Final = CALENDAR | terms.words_of(
    """
    please the this that these those from for our your his her she they you we and but not item point section
    clause paragraph christmas easter mr mrs ms dr prof miss dear because although since when while if as after
    before due owing however therefore there here all both each some most many one two its their who what where
    how why until unless once instead also then thanks sorry
    """
)
_IN: Final = lazy_pattern(r"\b(?:in|at|near|on)(?: the)?\s+$", re.IGNORECASE)
_TITLE: Final = lazy_pattern(r"^(?:The|Mr|Mrs|Ms|Miss|Dr|Prof|Please|Instead of|Ask|Call|From|In|At|On) ")


def successors(notice: Document, other: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """Names that a notice puts in the place of those of another document, in the statement that has the old one."""
    having: dict[str, list[Statement]] = {}
    for target in other.statements:
        if _may_have_changed(target):
            for part in _parts_within(target.text):
                having.setdefault(part, []).append(target)
    titles = {*_parts(notice.title), *_parts(other.title)}
    for statement in notice.statements:
        if len(statement.text) > _MOST_TEXT or statement.place.kind in ("header", "heading", "code", "row"):
            continue
        above = above_of(notice, statement)
        paragraph = " ".join(" ".join(one.text for one in (*above, statement)).split())
        if statement.mode in ("asked", "possible") or not _GONE.search(paragraph):
            continue
        gone = [part for name in _names(paragraph) for part in _parts(name) if part not in titles]
        listed = [having[part] for part in gone if len(having.get(part, ())) in range(1, _MOST_POSTINGS)]
        near = {target.number: target for some in listed for target in some}
        found = [_succeeded(statement, above, gone, target, titles, weights) for target in near.values()]
        if best := max(filter(None, found), key=lambda one: one.score, default=None):
            yield best


def _may_have_changed(target: Statement) -> bool:
    if target.mode in ("none", "asked", "template", "possible") or target.place.kind in ("header", "code", "heading"):
        return False
    return not target.text.lstrip().startswith(">")  # what a mail quotes


def _succeeded(
    statement: Statement,
    above: Sequence[Statement],
    gone: Sequence[str],
    target: Statement,
    titles: Set[str],
    weights: Weights,
) -> FoundContradiction | None:
    """The name of a statement in the place of one of the target, where they have other words in common, too."""
    there = _parts_within(target.text)
    known = there.keys() | titles
    old = next((there[part] for part in gone if part in there), "")
    new = next((name for name in _names(statement.text) if not set(_parts(name)) & known), "")
    if not old or not new or _is_in(statement, new) != _is_in(target, old):
        return None
    names = frozenset(stem(part) for part in (*gone, *titles, *_parts(new)))
    ours = frozenset(words_of(f"{labels_above((), statement)} {statement.text}")) - names
    context = frozenset(words_of(f"{labels_above(above, statement)} {' '.join(one.text for one in above)}")) - names
    theirs = frozenset(words_of(f"{labels_above((), target)} {target.place.row} {target.text}"))
    concepts = {concept for word in theirs for concept in of_term(word)}
    weight = weights.of(ours & theirs) + 0.5 * weights.of(context & theirs - ours)
    weight += _CONCEPT * sum(bool(of_term(word) & concepts) for word in ours - theirs)
    if weight < _LEAST:
        return None
    return FoundContradiction(statement, target, "name", (new, old), 0, round(min(1.0, 0.5 + weight / 40), 4))


def _is_in(statement: Statement, name: str) -> bool:
    """Whether a name is where something is, and not who does it."""
    at = statement.text.find(name.split()[0])
    return at > 0 and bool(_IN.search(statement.text[max(0, at - 12) : at]))


def _names(text: str) -> list[str]:
    """The names in a text."""
    found = (_TITLE.sub("", match.group()) for match in _NAME.finditer(" ".join(text.split())))
    return [name for name in found if _parts(name)]


def _parts(name: str) -> list[str]:
    """The words of a name; those that everybody uses are none."""
    words = (word.casefold().removesuffix("'s").removesuffix("’s") for word in name.split())
    return [word for word in words if word not in _NO_NAMES and not of_term(stem(word)) and len(word) > 2]


def _parts_within(text: str) -> dict[str, str]:
    """The words of the names in a text, each with the name; the word that opens a sentence may be none."""
    return {part: match.group() for match in _NAME.finditer(text) if match.start() for part in _parts(match.group())}
