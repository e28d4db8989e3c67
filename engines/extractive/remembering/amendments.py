"""Hears a correction that names nothing of what it corrects, and finds the clause that gives a value of the same kind.

"Scratch that, we settled on Thursday", "Otso signs off now" and 算了还是去成都吧 share no word with what was said.
Whoever says so takes back what they said last of that kind: a day by a day, an amount by an amount, a name by a name,
who does something by who does it now. All that a correction says must be that value; whatever has a subject of its own
("the bins go out on Tuesdays now") is news, and corrects nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, TurnQuote
from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.remembering.alike import are_alike
from agentic_memory_bank.engines.extractive.remembering.amendments_chinese import (
    amended_in_chinese,
    taken_back_in_chinese,
)
from agentic_memory_bank.engines.extractive.remembering.clauses import VERB, clause_spans, subject_terms, value_kinds
from agentic_memory_bank.engines.extractive.remembering.later import is_of_another, is_supposed
from agentic_memory_bank.engines.extractive.remembering.rejected import SCRATCHES, rejected_in
from agentic_memory_bank.engines.extractive.remembering.supposing import is_hoped, supposed_from
from agentic_memory_bank.engines.extractive.remembering.value_patterns import EMPTY, KIND_PATTERNS, kinds_in, rest_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.spans import Span, trimmed
from agentic_memory_bank.tools.text.terms import tokenize

LONGEST: Final = 120
"""Characters of a correction that names nothing: who says more says what it is about."""
LONGEST_TURN: Final = 2_000
"""Characters of an earlier turn that is looked into."""
LONGEST_BEFORE: Final = 300
"""Characters of an earlier sentence that is looked into."""

_TAKES_BACK: Final = lazy_pattern(
    r"\b(?:scratch|scrap|strike) that\b|\bno,? (?:wait|sorry|hang on|make (?:it|that))\b|\bwait,? no\b|\bcorrection\b"
    r"|\A\W*(?:hang|hold) on\b|\b(?:read|heard|wrote|typed|put|said|told you) (?:it|that|the \w+|you) wrong\b"
    r"|\bmy mistake\b|\bi mean(?:t)?\b|\bi (?:mis(?:read|remembered|heard|typed)|got (?:it|that) wrong)\b"
    r"|\bi said (?:it|that) wrong\b|\bchanges? of (?:plan|heart|mind)s?\b|\bmake (?:that|it)\b"
    r"|\bchanged (?:my|our|his|her|their) minds?\b|\bon second thoughts?\b|\bin the end\b|\bended up\b|\binstead\b"
    r"|\bturns out\b|\b(?:settled|decided) on\b|\b(?:went|gone|going|go) (?:with|for)\b|\bswitched to\b"
    r"|\A\W*(?:oh |ah |er |um |well )?(?:no|nah|sorry|actually)\b(?! (?:one|idea|problem|thanks)\b)"
    r"|\b(?:sorry|typo|oops|whoops|my bad)\W*\Z",
    re.IGNORECASE,
)
"""How people take back what they said."""
_ENDS_STORY: Final = lazy_pattern(
    r"\A(?!.*\b(?:scratch|scrap|strike|wait|correction|instead|mistake|wrong|mean)\b).*\b(?:in the end|ended up"
    r"|turns out|(?:went|gone|going|go) (?:with|for)|switched to)\b|\A(?!.*(?:算了|不对|改|换)).*(?:最后|后来|结果)",
    re.IGNORECASE | re.DOTALL,
)
"""How a story ends: that takes back what was said just before it at most."""
_CHOSEN: Final = lazy_pattern(r"\b(?:went|gone|going|go) with\b|[定选]了")
_SURELY: Final = lazy_pattern(r"\b(?:that|correction|wrong)\b", re.IGNORECASE)
"""What takes something back even where a question was to be answered."""
_TURNED: Final = lazy_pattern(
    r"\bnow(?:adays)?\b|\bthese days\b|\bfrom now on\b"
    r"|\b(?:moved|pushed|shifted|extended|bumped|postponed|delayed|brought|put|raised|cut) (?:(?:it|that|us|them) )?"
    r"(?:up|back|out|forward|on|to|down|by)\b",
    re.IGNORECASE,
)
"""How they say that it is another one now."""
_BEGINS_ANEW: Final = lazy_pattern(r"\A\W*(?:(?:and|so|but|now|then) )*(?:i|we|he|she|you)\b", re.IGNORECASE)
"""Somebody of whom more is told: "I pay 40 now" is news."""
_CALLS_IT: Final = lazy_pattern(r"\A\W*(?:it|that|this|they|them|these|those)\b", re.IGNORECASE)
_PARTS: Final = lazy_pattern(r"(?:(?!\s(?:so|because|since|but|as)\s|\s[-–—]\s)[^,;:.!\n]|[.:,](?=\d))+", re.IGNORECASE)
"""The parts of a correction, of which one is the new value; the others say why."""
_JOINED: Final = lazy_pattern(r"\A\s*(?:so|because|since|but|as|and|it's|–|—|-)\s+", re.IGNORECASE)

_CHARGE: Final = frozenset(
    tokenize(
        "approve sign review check decide handle manage run lead own cover deal answer organise organize coordinate"
        " schedule authorise look"
    )
)
"""What somebody does who is in charge of a thing."""
_DOES_IT: Final = lazy_pattern(
    r"\A(?:(?:is|'s|’s|'ll|’ll|will|has|does) )?(?:be )?(?:do(?:es|ing)?|tak(?:es?|ing)|handl(?:es?|ing)"
    r"|cover(?:s|ing)?|run(?:s|ning)?|look(?:s|ing)? after|tak(?:es?|ing|en)(?: it| that| them)? over)"
    r"(?: (?:it|that|this|them|those))?(?: (?:all|over))?\W*\Z",
    re.IGNORECASE,
)
_SUBJECT: Final = lazy_pattern(
    r"\A\W*(?:(?:and|so|but|now|ok(?:ay)?|actually|no|nah|sorry),? )*"
    r"(?P<who>(?!(?:It|That|This|They|There|We|You|He|She|The|My|Our|What|Not)\b)[A-Z][a-z]+)"
    r"(?P<rest>(?:['’](?:s|ll))? ?[a-z][^,;.!?]{0,60})"
)
"""Who does something, and what they do."""
_NOT: Final = lazy_pattern(
    r"\bnot (?:on |in |at |the |with )?(?P<old>[\w-]{2,20}),? (?:but |it's |it is )?(?:on |in |at |the |with )?"
    r"(?P<new>[\w-]{1,20})\W*\Z"
    r"|\A\W*(?:no,? |it's |on |in |at |the )*(?P<new2>[\w-]{1,20}),? not (?:on |in |at |the |with )?"
    r"(?P<old2>[\w-]{2,20})\W*\Z",
    re.IGNORECASE,
)
"""A value beside the one it takes the place of: "not Sam, Priya"."""
_WORD: Final = re.compile(r"\w[\w-]*")
_ORDINAL: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_DANGLES: Final = re.compile(r"(?<=\w) (?:on|in|at|by|to|the|a|an|with|for|of|from)\Z", re.IGNORECASE)
"""What leads to the old value and says nothing without it."""
_COUNTED: Final = lazy_pattern(
    r"\b(?P<number>\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) "
    r"(?P<noun>(?!(?:am|pm|percent|dollars?|pounds?|euros?|quid|bucks?|minutes?|mins?|hours?|seconds?|days?|weeks?"
    r"|months?|years?|grand|to|in|at|on|is|or|and|for|of|with|more|times?|sorry|typo|oops|instead|now|actually)\b)[a-z]{3,20})\b",
    re.IGNORECASE,
)
"""How many there are of something; how long something takes, or costs, is said of many things."""
_AFTER_ALL: Final = lazy_pattern(r"\b(?:actually|after all)\W*\Z", re.IGNORECASE)
_EDGES: Final = " \t\n,;:.!?，。；：！、"


class Amendment(NamedTuple):
    """What a correction corrects, in an earlier text."""

    place: int
    """The index of that text."""
    frame: Span
    """What the new value is a value of: the words beside the old one."""
    gone: Span
    """The clause that does not hold any more."""


def takes_back(said: str) -> bool:
    """Whether a sentence says that what was said before it is wrong: "scratch that"."""
    return SCRATCHES.search(said[:LONGEST]) is not None


def amended(said: str, before: Sequence[str], *, is_answer: bool = False) -> Amendment | None:
    """What a correction corrects that names nothing of it; None where it is no such correction.

    Args:
        said: A sentence.
        before: What the same person said before it, oldest first.
        is_answer: Whether it answers a question, so that a bare value is what was asked for.
    """
    if len(said) > LONGEST or QUESTION_END.search(said.strip()) or supposed_from(said) is not None or is_hoped(said):
        return None
    if _ENDS_STORY.match(said):
        last = max((place for place, one in enumerate(before) if one.strip()), default=0)
        before = [one if place == last else "" for place, one in enumerate(before)]
    if (change := _found(before, rejected_in(said))) is not None:
        return change
    if is_cjk(said):
        return _found(before, amended_in_chinese(said, is_answer=is_answer))
    plain = said.replace("’", "'")
    for reader in (_of_denied, _of_doer, _of_count, _of_value):
        if reader is _of_value and is_answer and not _SURELY.search(plain):
            continue
        if (match := reader(plain)) is not None and (change := _found(before, match)) is not None:
            return change
    return None


def amended_later(fact: Fact, told: Sequence[ExistingMemory]) -> Fact:
    """A correction that names nothing, with the one memory of other conversations that it may correct; else as it is.

    Where two give a value of its kind nobody can say which is meant.

    Args:
        fact: What is said now.
        told: What the same user told lately.
    """
    is_open = fact.amends is None and len(fact.quotes) == 1 and retracts(fact.words)
    found = [(one, change) for one in told if (change := _amended_in(fact, one))] if is_open else []
    if len(found) != 1:
        return fact
    known, change = found[0]
    frame, gone = (known.words[slice(*span)] for span in (change.frame, change.gone))
    text = fact.text.replace(fact.words, f"({frame}) {fact.words}", 1)
    return replace(fact, text=text, amends=TurnQuote("", gone, change.gone))


def retracts(said: str) -> bool:
    """Whether a sentence takes something back, and names nothing of it."""
    if (
        len(said) > LONGEST
        or is_supposed(said)
        or (_ENDS_STORY.match(said) and not _CHOSEN.search(said))
        or not (taken_back_in_chinese if is_cjk(said) else _TAKES_BACK.search)(said)
    ):
        return False
    return amended_in_chinese(said, is_answer=False) is not None if is_cjk(said) else _of_value(said) is not None


def _amended_in(fact: Fact, known: ExistingMemory) -> Amendment | None:
    is_own = known.speaker == fact.speaker and not is_of_another(fact.words, known.words)
    found = amended(fact.words, [known.words]) if is_own else None
    if found is None:
        return None
    gone = known.words[slice(*found.gone)]
    return found if are_alike(fact.words, gone) or _PLANNED.search(known.words) else None


_PLANNED: Final = lazy_pattern(
    r"\b(?:going|flying|driving|off|travel(?:l?ing)?|trip|holiday|vacation"
    r"|book(?:ed|ing)?) (?:to|in|at)\b|\bspending \w+ (?:in|at)\b|\bplan(?:ning)?\b"
    r"|\bwe(?:'ll|'re going to| are going to| will)\b|旅游|旅行|机票|酒店|民宿|国庆|五一|春节|元旦|假期"
    r"|暑假|寒假|周末|下个?月|打算|计划|准备去|去[^，。]{1,6}玩",
    re.IGNORECASE,
)
"""What is still to come, and may be changed: a place by a place."""


Matcher = Callable[[str], Span | None]
"""Where a clause holds the old value; None where it holds none of the kind."""


def _found(before: Sequence[str], matcher: Matcher | None) -> Amendment | None:
    """The last clause of earlier texts that holds a value of the kind, and says of what."""
    if matcher is None:
        return None
    for place in reversed(range(len(before))):
        if len(before[place]) > LONGEST_TURN:
            continue
        spans = list(sentences(before[place]))
        for led, (start, end) in reversed([*zip([None, *spans], spans, strict=False)]):
            sentence = before[place][start:end]
            if len(sentence) > LONGEST_BEFORE or QUESTION_END.search(sentence.strip()):
                continue
            if (found := _clause_of(sentence, matcher)) is not None:
                return Amendment(place, *(_moved(span, start) for span in found))
            if led and (gone := _alone(sentence, matcher)):
                return Amendment(place, _bare(before[place], led), _moved(gone, start))
    return None


def _clause_of(sentence: str, matcher: Matcher) -> tuple[Span, Span] | None:
    """The last clause of a sentence that holds a value and says of what, with further values behind it."""
    end, spans = 0, list(clause_spans(sentence))
    for before, (low, high) in reversed([*zip([None, *spans], spans, strict=False)]):
        old = matcher(sentence[low:high])
        frame = old and _frame(sentence[low:high], old)
        if frame is not None:
            return _moved(frame, low), (low, end or high)
        if old and before and not matcher(sentence[slice(*before)]):  # hardly more than a value: what of stands before
            return _bare(sentence, before), (low, end or high)
        end = (end or high) if old else 0
    return None


def _alone(sentence: str, matcher: Matcher) -> Span | None:
    """The last clause of a sentence that is hardly more than a value, of what the sentence before it says."""
    clauses = reversed(list(clause_spans(sentence)))
    return next((span for span in clauses if matcher(sentence[slice(*span)])), None)


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _frame(clause: str, old: Span) -> Span | None:
    """The words beside the old value: those before it or those behind it, whichever say more."""
    sides = [_bare(clause, (0, old[0])), _bare(clause, (old[1], len(clause)))]
    best = max(sides, key=lambda side: (len(subject_terms(clause[slice(*side)])), side[1] - side[0]))
    return best if tokenize(clause[slice(*best)]) else None


def _bare(clause: str, span: Span) -> Span:
    start, end = trimmed(clause, span, _EDGES)
    if dangling := _DANGLES.search(clause[max(start, end - 12) : end]):
        end -= len(dangling[0])
    return start, end


# --- what a correction gives ---------------------------------------------------------------------------------------


def _of_denied(said: str) -> Matcher | None:
    """The value that is said not to be it: "not Sam, Priya"."""
    found = _NOT.search(said)
    if found is None or len(said.split()) > 8:
        return None
    old, new = found["old"] or found["old2"], found["new"] or found["new2"]
    if not (_is_value(old) and _is_value(new)):
        return None

    def matcher(clause: str) -> Span | None:
        same = (found.span() for found in _WORD.finditer(clause) if _plain(found[0]) == _plain(old))
        return next(same, None)

    return matcher


def _plain(word: str) -> str:
    """A word without case; the day of a month without its ending."""
    number = _ORDINAL.fullmatch(word)
    return number[1] if number else word.casefold()


def _is_value(word: str) -> bool:
    return bool(word[0].isupper() or word[0].isdigit() or value_kinds(word))


def _of_doer(said: str) -> Matcher | None:
    """Who does something in place of whoever does it: "Otso signs off now", "Priya's doing it instead"."""
    found = _SUBJECT.match(said)
    if found is None or not (_TURNED.search(said) or _TAKES_BACK.search(said) or "tak" in found["rest"]):
        return None
    rest = _without_marks(found["rest"])
    verb = frozenset(tokenize(rest)) - (EMPTY - _CHARGE)
    if _DOES_IT.match(rest.strip()):
        verb = frozenset()
    elif not verb or len(verb) > 1 or (not verb & _CHARGE and not any(map(of_term, verb))):
        return None
    who = found["who"]

    def matcher(clause: str) -> Span | None:
        doer = _SUBJECT.match(clause)
        if doer is None or doer["who"] == who:
            return None
        deed = frozenset(tokenize(doer["rest"]))
        return doer.span("who") if not verb or _alike(verb, deed) else None

    return matcher


def _alike(verb: frozenset[str], deed: frozenset[str]) -> bool:
    if verb & deed or (verb & _CHARGE and deed & _CHARGE):
        return True
    ours, theirs = (frozenset[int]().union(*map(of_term, words)) for words in (verb, deed))
    return not ours.isdisjoint(theirs)


def _of_count(said: str) -> Matcher | None:
    """Another number of the same things: "actually make it 2 waiters", "we're staying 5 nights actually"."""
    counted = [*_COUNTED.finditer(said)]
    if len({one["noun"] for one in counted}) != 1 or not (_TAKES_BACK.search(said) or _AFTER_ALL.search(said)):
        return None
    number, noun = counted[0]["number"], counted[0]["noun"].casefold().removesuffix("s")

    def matcher(clause: str) -> Span | None:
        others = (one for one in _COUNTED.finditer(clause) if one["number"].casefold() != number.casefold())
        return next((one.span() for one in others if one["noun"].casefold().removesuffix("s") == noun), None)

    return matcher


def _of_value(said: str) -> Matcher | None:
    """A day, a time, an amount or a name, and nothing that it would be a value of."""
    takes_back, turned = _TAKES_BACK.search(said) is not None, _TURNED.search(said) is not None
    if not (takes_back or turned):
        return None
    parts = [_JOINED.sub("", part[0]) for part in _PARTS.finditer(_without_marks(said))]
    valued = [part for part in parts if kinds_in(part)]
    if not valued or rest_of(part := valued[0]) or not all(map(_says_why, valued[1:])):
        return None  # of further values the others say why
    if not takes_back and (any(map(_BEGINS_ANEW.match, parts)) or _SUBJECT.match(said)):
        return None
    if not takes_back and any(map(_names_a_thing, parts[: parts.index(part)])):
        return None
    return _holder(KIND_PATTERNS[kinds_in(part)[0]], besides=part)


def _names_a_thing(part: str) -> bool:
    """Whether a part before the value names what it is a value of: "gym's gone up, 45 a month now"."""
    return bool(rest_of(part)) and _CALLS_IT.match(part) is None


def _says_why(part: str) -> bool:
    """Whether a further value in a correction only says why."""
    return bool(rest_of(part)) or VERB.search(part) is not None


def _without_marks(said: str) -> str:
    return _TURNED.sub(" ", _TAKES_BACK.sub(" , ", said))


def _holder(pattern: "re.Pattern[str]", besides: str = "") -> Matcher:
    """What finds a value in a clause, other than the new one."""

    def matcher(clause: str) -> Span | None:
        held = {word.casefold() for word in besides.split()}
        spans = [found.span() for found in pattern.finditer(clause) if found[0].casefold() not in held]
        return (spans[0][0], spans[-1][1]) if spans else None

    return matcher
