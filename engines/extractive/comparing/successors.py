"""Who or what a notice names in the place of a name that the document it changes has: "Ms A has left; B takes over"."""

import re
from collections.abc import Iterator
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights
from agentic_memory_bank.engines.extractive.comparing.noticed import above_of, titled
from agentic_memory_bank.engines.extractive.comparing.counterparts import words_of
from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement

_LEAST: Final = 2.0
_CONCEPT: Final = 2.0
_MOST_TEXT: Final = 300
_GONE: Final = re.compile(
    r"\b(?:left|leaves|leaving|ill|sick|in hospital|retire[sd]?|resigned|unable|cannot|can't|not (?:be )?able|no longer|instead|"
    r"in (?:his|her|their|its) (?:place|stead)|stand(?:s|ing)? in|tak(?:es?|en|ing) over|took over|replac\w+|succeed\w*|"
    r"closed|let (?:us|me) down|moved|on leave)\b",
    re.IGNORECASE,
)
"""What says that somebody or something is not to be had any more, or somebody else comes in."""
_NAME: Final = re.compile(r"(?<![\w'’-])[A-Z][a-z][\w'’-]{0,24}(?: (?:[A-Z]\.? )?[A-Z][a-z][\w'’-]{0,24}){0,2}")
_NO_NAMES: Final = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday please the this that these from for our your his her she they you we and but not "
    "item point section clause paragraph christmas easter mr mrs ms dr prof miss dear".split()
)
_IN: Final = re.compile(r"\b(?:in|at|near|on)(?: the)?\s+$", re.IGNORECASE)
_TITLE: Final = re.compile(r"^(?:The|Mr|Mrs|Ms|Miss|Dr|Prof|Please|Instead of|Ask|Call|From|In|At|On) ")


def successors(notice: Document, other: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """Names that a notice puts in the place of those of another document, each in the statement that has the old one."""
    idle = titled(notice, other)
    for statement in notice.statements:
        if len(statement.text) > _MOST_TEXT or statement.place.kind in ("header", "heading", "code", "row"):
            continue
        above = above_of(notice, statement)
        paragraph = " ".join(" ".join(one.text for one in (*above, statement)).split())
        gone = _names(paragraph) if statement.mode not in ("asked", "possible") and _GONE.search(paragraph) else []
        best: tuple[float, FoundContradiction] | None = None
        for target in other.statements if gone else ():
            found = _succeeds(statement, above, gone, target, idle, weights)
            if found and (best is None or found[0] > best[0]):
                best = found
        if best:
            yield best[1]


def _succeeds(
    statement: Statement, above: list[Statement], gone: list[str], target: Statement, idle: frozenset[str], weights: Weights
) -> tuple[float, FoundContradiction] | None:
    """A name of a statement in the place of one of the target; with what the other words in common weigh."""
    if target.mode in ("none", "asked", "template", "possible") or target.place.kind in ("header", "code", "heading"):
        return None
    there = _words(target.text)
    old = next((name for name in gone if set(_parts(name)) & there.keys()), "")
    new = next((name for name in _names(statement.text) if not set(_parts(name)) & there.keys()), "")
    if not old or not new or target.text.lstrip().startswith(">") or _is_in(statement, new) != _is_in(target, old):
        return None
    names = frozenset(stem(part) for name in (*gone, new) for part in _parts(name))
    ours = set(words_of(" ".join((*statement.place.headings[-1:], statement.text)))) - names - idle
    context = {word for one in above for word in words_of(" ".join((*one.place.headings[-1:], one.text)))} - names - idle
    theirs = set(words_of(" ".join((*target.place.headings[-1:], target.place.row, target.text)))) - names
    concepts = {c for word in theirs for c in of_term(word)}
    weight = weights.of(frozenset(ours & theirs)) + 0.5 * weights.of(frozenset(context & theirs - ours))
    weight += _CONCEPT * sum(bool(of_term(word) & concepts) for word in ours - theirs)
    if weight < _LEAST:
        return None
    shown = next(part for part in _parts(old) if part in there)
    sure = round(min(1.0, 0.5 + weight / 40), 4)
    return weight, FoundContradiction(statement, target, "name", (new, there[shown]), 0, sure)


def _is_in(statement: Statement, name: str) -> bool:
    """Whether a name is where something is, and not who does it."""
    at = statement.text.find(name.split()[0])
    return at > 0 and bool(_IN.search(statement.text[max(0, at - 12) : at]))


def _names(text: str) -> list[str]:
    """The names in a text; a word that only opens a sentence is one where something says so: it stands elsewhere, too."""
    found = (_TITLE.sub("", match.group()) for match in _NAME.finditer(" ".join(text.split())))
    return [name for name in found if _parts(name)]


def _parts(name: str) -> list[str]:
    words = (word.casefold().removesuffix("'s").removesuffix("’s") for word in name.split())
    return [word for word in words if word not in _NO_NAMES and not of_term(stem(word)) and len(word) > 2]


def _words(text: str) -> dict[str, str]:
    """The words with a capital that do not open the text, as they are written."""
    return {part: match.group() for match in _NAME.finditer(text) if match.start() for part in _parts(match.group())}
