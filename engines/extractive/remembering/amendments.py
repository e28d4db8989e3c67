"""Hears a correction that names nothing of what it corrects, and finds the clause that gives a value of the same kind.

"Scratch that, we settled on Thursday", "Otso signs off now" and 算了还是去成都吧 share no word with what was said.
Whoever says so takes back what they said last of that kind: a day by a day, an amount by an amount, a name by a name,
who does something by who does it now. All that a correction says must be that value; whatever has a subject of its own
("the bins go out on Tuesdays now") is news, and corrects nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, TurnQuote
from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.remembering.alike import are_alike
from agentic_memory_bank.engines.extractive.remembering.amendments_chinese import (
    amended_in_chinese,
    taken_back_in_chinese,
)
from agentic_memory_bank.engines.extractive.remembering.clauses import clause_spans, subject_terms, value_kinds
from agentic_memory_bank.engines.extractive.remembering.later import is_of_another, is_supposed
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
    r"|\A\W*(?:oh |ah |er |um |well )?(?:no|nah|sorry|actually)\b(?! (?:one|idea|problem|thanks)\b)",
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
_SCRATCHES: Final = lazy_pattern(r"\b(?:scratch|scrap|strike) that\b", re.IGNORECASE)
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
_PARTS: Final = lazy_pattern(r"(?:(?!\s(?:so|because|since|but|as)\s|\s[-–—]\s)[^,;:.!\n]|[.:,](?=\d))+", re.IGNORECASE)
"""The parts of a correction, of which one is the new value; the others say why."""
_JOINED: Final = lazy_pattern(r"\A\s*(?:so|because|since|but|as|and|it's|–|—|-)\s+", re.IGNORECASE)
_EMPTY: Final = frozenset(
    tokenize(
        "it that this they them these those we you he she us me one there go going went gone do doing did done have"
        " having had get getting got gotten make made take took pick picked choose chose choice decide decided settle"
        " settled end ended up say said see mean meant think thought put move moved change changed switch switched push"
        " pushed bring brought extend extended bump bumped raise raised cut back forward down out off now then day days"
        " nowadays instead actually sorry wait no nah yes oh well scratch scrap strike correction mistake wrong right"
        " misread hang hold plan plans heart mind after all final finally just only more less week weeks later earlier"
        " swapped turn turns second thoughts thought new so okay please book booked call called quote evening morning"
        " afternoon night am pm a.m p.m half past quarter o'clock hour month year dollar pound euro quid buck grand k"
    )
)
"""Words of a correction that name nothing."""
_NAME: Final = lazy_pattern(r"(?<![\w'’])[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?:['’]s)?(?![\w'’])(?: [A-Z][a-z]+)*")
_CLOCK: Final = lazy_pattern(
    r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]\.?m\b|\b(?:half|quarter) (?:past|to) \w+|\b\w+ o['’]clock\b"
    r"|\b(?:noon|midday|midnight)\b"
    r"|\b\d{1,2}(?= (?:in the (?:morning|afternoon|evening)|at night))",
    re.IGNORECASE,
)
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
    return _SCRATCHES.search(said[:LONGEST]) is not None


def amended(said: str, before: Sequence[str], *, is_answer: bool = False) -> Amendment | None:
    """What a correction corrects that names nothing of it; None where it is no such correction.

    Args:
        said: A sentence.
        before: What the same person said before it, oldest first.
        is_answer: Whether it answers a question, so that a bare value is what was asked for.
    """
    if len(said) > LONGEST or QUESTION_END.search(said.strip()):
        return None
    if _ENDS_STORY.match(said):
        last = max((place for place, one in enumerate(before) if one.strip()), default=0)
        before = [one if place == last else "" for place, one in enumerate(before)]
    if is_cjk(said):
        return _found(before, amended_in_chinese(said, is_answer=is_answer))
    plain = said.replace("’", "'")
    for reader in (_of_denied, _of_doer, _of_value):
        if reader is _of_value and is_answer and not _SURELY.search(plain):
            continue
        if (match := reader(plain)) is not None:
            return _found(before, match)
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
    end = 0
    for low, high in reversed(list(clause_spans(sentence))):
        old = matcher(sentence[low:high])
        frame = old and _frame(sentence[low:high], old)
        if frame is not None:
            return _moved(frame, low), (low, end or high)
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
    verb = frozenset(tokenize(rest)) - (_EMPTY - _CHARGE)
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


def _of_value(said: str) -> Matcher | None:
    """A day, a time, an amount or a name, and nothing that it would be a value of."""
    takes_back, turned = _TAKES_BACK.search(said) is not None, _TURNED.search(said) is not None
    if not (takes_back or turned):
        return None
    parts = [_JOINED.sub("", part[0]) for part in _PARTS.finditer(_without_marks(said))]
    valued = [part for part in parts if _kinds(part)]
    if not valued or _rest(part := valued[0]) or not (len(valued) == 1 or all(map(_rest, valued[1:]))):
        return None  # of further values the others say why
    if not takes_back and (any(map(_BEGINS_ANEW.match, parts)) or _SUBJECT.match(said)):
        return None
    return _holder(_KIND_PATTERNS[_kinds(part)[0]], besides=part)


def _without_marks(said: str) -> str:
    return _TURNED.sub(" ", _TAKES_BACK.sub(" , ", said))


def _kinds(part: str) -> list[str]:
    """The kinds of value that a part of a correction gives, the surest first."""
    if _CLOCK.search(part):
        return ["clock"]
    kinds = value_kinds(part)
    if "day" in kinds or _DAY.search(part):
        return ["day"]
    if kinds:
        return ["amount"]
    return ["name"] if any(_named(part)) else []


def _named(words: str) -> Iterator[str]:
    return (found[0] for found in _NAME.finditer(words) if frozenset(tokenize(found[0])) - _EMPTY)


def _rest(part: str) -> frozenset[str]:
    """What a part says besides its value."""
    for pattern in (_CLOCK, _NAME):
        part = pattern.sub(" ", part)
    return frozenset(term for term in subject_terms(part) - _EMPTY if not value_kinds(term))


def _holder(pattern: "re.Pattern[str]", besides: str = "") -> Matcher:
    """What finds a value in a clause, other than the new one."""

    def matcher(clause: str) -> Span | None:
        held = {word.casefold() for word in besides.split()}
        spans = [found.span() for found in pattern.finditer(clause) if found[0].casefold() not in held]
        return (spans[0][0], spans[-1][1]) if spans else None

    return matcher


_INNER_NAME: Final = lazy_pattern(r"(?<=[\w,] )(?!I\b|I')[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*(?:'s)?")
_DAY: Final = lazy_pattern(
    r"\b(?:(?:next|this|last|every) )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b(?:(?: and|,| or| to) \w+days?)*"
    r"|\b(?:the )?\d{1,2}(?:st|nd|rd|th)\b(?: (?:of )?[A-Z][a-z]{2,8})?"
    r"|\b\d{1,2} (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\b(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b(?: \d{1,2}(?:st|nd|rd|th)?)?|\b[Mm]ay\b(?: \d{1,2})?"
    r"|\b(?:spring|summer|autumn|winter|easter|christmas|tomorrow)\b"
    r"|\b(?:next|this|the following) (?:week|weekend|month|year)\b|\bthe (?:week|month) after(?: next)?\b",
    re.IGNORECASE,
)
_AMOUNT: Final = lazy_pattern(
    r"[$€£¥]?(?<![\d,.])\d[\d,.]*+(?: ?(?:k|m|grand|pounds?|euros?|dollars?|quid|bucks?|%|percent|kg|kilos?|people"
    r"|guests|miles|km)\b)?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundred|thousand|half|twice)\b",
    re.IGNORECASE,
)
_KIND_PATTERNS: Final = {"clock": _CLOCK, "day": _DAY, "amount": _AMOUNT, "name": _INNER_NAME}
