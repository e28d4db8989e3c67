"""Finds the clause that names who or what somebody had, where they tell of a new one: the midwife, the car, the tutor.

"I've got a new midwife, Ffion" shares one word with "my midwife is Gwen", which is enough: of what is listed here one
has one at a time, and both clauses say which one it is. Of friends or clients a new one replaces nobody.
"""

import re
from collections.abc import Iterator
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.life import kin_in
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

_SINGLE: Final = (
    "midwife|doctor|gp|dentist|surgeon|consultant|therapist|physio|optician|vet|boss|manager|supervisor|line manager"
    "|mentor|tutor|teacher|coach|trainer|instructor|conductor|headteacher|landlord|landlady|accountant|solicitor|lawyer"
    "|agent|editor|publisher|hairdresser|barber|cleaner|childminder|nanny|babysitter|carer|key worker|caseworker"
    "|plumber|electrician|builder|gardener|supplier|caterer|photographer|flatmate|roommate|assistant|car|van|phone"
    "|laptop|bike|bank|gym|job|address|number|email|brand|password manager|pharmacy|clinic|surgery|nursery|broker"
)
"""What one has one of at a time."""
_SINGLE_CHINESE: Final = (
    "牙医|医生|大夫|主任|理疗师|房东|老板|经理|领导|主管|上司|班主任|老师|教练|师傅|保姆|月嫂|阿姨|导师|编辑|司机|助理|搭档"
    "|中介|律师|会计|供应商|牌子|手机|电脑|车|银行|健身房|幼儿园|诊所|药店|号码|邮箱|地址|对接人|联系人|负责人"
)
_NEW: Final = lazy_pattern(
    rf"\b(?:a|our|my|his|her|their|the|another) (?:brand[ -])?(?:new|different) (?P<new>{_SINGLE})\b(?!-)"
    rf"|\b(?:my|our|his|her|their|the) (?P<now>{_SINGLE})(?: is|'s|’s| has| will be)?"
    rf" (?:now|changed|been replaced|no longer|different)\b"
    rf"|\b(?:changed|switched|swapped|replaced) (?:my |our |the )?(?P<changed>{_SINGLE})s?\b",
    re.IGNORECASE,
)
"""How people say that they have another one now."""
_NEW_CHINESE: Final = lazy_pattern(
    rf"换了?(?:一?[个位家台部辆]|新)?(?:新的?)?(?P<changed>{_SINGLE_CHINESE})|新(?:来|换|找|请)?的?(?P<new>{_SINGLE_CHINESE})"
    rf"|(?P<now>{_SINGLE_CHINESE})(?:[已又]经?)?(?:换了?|变成|改成|停产|调走|不干了|辞职)"
)
_HELD: Final = lazy_pattern(
    rf"\b(?:my|our|his|her|their|the) (?:[a-z]+ )?(?P<thing>{_SINGLE})(?:(?:'s|’s| is| was| will be)(?: called| named)?"
    r" (?:now )?(?=(?:an? |the )?(?:[a-z]+ )?[A-Z\d])|,? (?=[A-Z]))"
    rf"|\bwith (?=[A-Z])[^,]{{1,40}} as (?:my|our) (?P<role>{_SINGLE})\b"
)
"""How they say which one they have: case tells a name from any other word."""
_HELD_CHINESE: Final = lazy_pattern(rf"(?P<thing>{_SINGLE_CHINESE})(?:现在)?(?:是|姓|叫|用的?)")
_OTHERS: Final = lazy_pattern(r"\b(?:he|she|they|his|her|their)\b|[他她]", re.IGNORECASE)


def succeeded_clause(new: str, old: str, clauses: Iterator[Span]) -> Iterator[Span]:
    """The clauses of an earlier text that name what a later one names another one of.

    Args:
        new: What is said now.
        old: What was said earlier, by the same speaker.
        clauses: Those of the earlier text.
    """
    pattern = _NEW_CHINESE if is_cjk(new) else _NEW
    things = {_thing(found) for found in pattern.finditer(new) if not _is_of_another(new[: found.end()], old)}
    if not things or not (is_cjk(new) or names_and_numbers(new) - names_and_numbers(old)):
        return
    held = _HELD_CHINESE if is_cjk(old) else _HELD
    for span in clauses:
        if any(_thing(found) in things for found in held.finditer(old[slice(*span)])):
            yield span


def _is_of_another(until: str, old: str) -> bool:
    """Whether what is said up to a new thing speaks of somebody of whom an earlier text says nothing: it is theirs."""
    if kin_in(until) - kin_in(old) or (_OTHERS.search(until) and not _OTHERS.search(old)):
        return True
    return not is_cjk(until) and not names_and_numbers(until) <= names_and_numbers(old)


def named_anew(text: str) -> Iterator[str]:
    """Of what a text says that there is another one now."""
    pattern = _NEW_CHINESE if is_cjk(text) else _NEW
    return (_thing(found) for found in pattern.finditer(text))


def _thing(found: re.Match[str]) -> str:
    return next(word for word in found.groups() if word).casefold()
