"""How people write the values that they correct: a time, a day, an amount, a name, a place."""

import re
from collections.abc import Iterator
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms, value_kinds
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

CLOCK: Final = lazy_pattern(
    r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]\.?m\b|\b(?:half|quarter) (?:past|to) \w+|\b\w+ o['’]clock\b"
    r"|\b(?:noon|midday|midnight)\b"
    r"|\b\d{1,2}(?= (?:in the (?:morning|afternoon|evening)|at night))",
    re.IGNORECASE,
)
_INNER_NAME: Final = lazy_pattern(r"(?<=[\w,] )(?!I\b|I')[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*(?:'s)?")
_PLACE: Final = lazy_pattern(
    r"(?:(?<=\b(?:at|in|to|by) )|(?<=\bfrom )|(?<=\bbooked ))(?:the )?[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*"
)
"""A name behind a word of place: who is at the Rose Hall instead was to be somewhere, and does not feed the cat."""
_IN_A_PLACE: Final = lazy_pattern(r"\b(?:at|in|to|from) (?:the )?[A-Z][a-z]+")
DAY: Final = lazy_pattern(
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
KIND_PATTERNS: Final = {"clock": CLOCK, "day": DAY, "amount": _AMOUNT, "name": _INNER_NAME, "place": _PLACE}
EMPTY: Final = frozenset(
    tokenize(
        "it that this they them these those we you he she us me one there go going went gone do doing did done have"
        " having had get getting got gotten make made take took pick picked choose chose choice decide decided settle"
        " settled end ended up say said see mean meant think thought put move moved change changed switch switched push"
        " pushed bring brought extend extended bump bumped raise raised cut back forward down out off now then day days"
        " nowadays instead actually sorry wait no nah yes oh well scratch scrap strike correction mistake wrong right"
        " misread hang hold plan plans heart mind after all final finally just only more less week weeks later earlier"
        " swapped turn turns second thoughts thought new so okay please book booked call called quote evening morning"
        " afternoon night am pm a.m p.m half past quarter o'clock hour month year dollar pound euro quid buck grand k"
        " foot feet inch typo oops whoops bad number"
    )
)
"""Words of a correction that name nothing."""
_NAME: Final = lazy_pattern(r"(?<![\w'’])[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?:['’]s)?(?![\w'’])(?: [A-Z][a-z]+)*")


def kinds_in(part: str) -> list[str]:
    """The kinds of value that a part of a correction gives, the surest first."""
    if CLOCK.search(part):
        return ["clock"]
    kinds = value_kinds(part)
    if "day" in kinds or DAY.search(part):
        return ["day"]
    if kinds:
        return ["amount"]
    named = any(_named(part))
    return ["place" if _IN_A_PLACE.search(part) else "name"] if named else []


def _named(words: str) -> Iterator[str]:
    return (found[0] for found in _NAME.finditer(words) if frozenset(tokenize(found[0])) - EMPTY)


def rest_of(part: str) -> frozenset[str]:
    """What a part says besides its value."""
    for pattern in (CLOCK, _NAME):
        part = pattern.sub(" ", part)
    return frozenset(term for term in subject_terms(part) - EMPTY if not value_kinds(term))
