"""Finds what a sentence states before or behind what it asks: "can you plan my meals, I can't do dairy"."""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.remembering.statements import (
    ASKED_INSIDE,
    JOINT_ZH,
    is_aside,
    is_asking,
    is_statement,
    says_enough,
)
from agentic_memory_bank.engines.extractive.remembering.supposing import GUESSES, supposed_from
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

_TOLD_AT_LENGTH: Final = 150
"""Characters after which a guess takes nothing back of what was told before it."""
_BREAK: Final = lazy_pattern(r"[,;，；] ?|(?<=[\u3400-\u9fff\d]) (?=[\u3400-\u9fff])")
_OF_MYSELF: Final = lazy_pattern(
    r"\W{0,3}(?:(?:because|cos|coz|since|as|so|btw|also|and|but)\b\W{1,3}){0,2}"
    r"(?:i|i'?m|i'?ve|we|we'?re|we'?ve|my|our)\b"
    r"(?! (?:want|need|would|'d|just|only|wonder|was wondering|am wondering|think|thought|don't (?:know|mind|get)"
    r"|forgot|forget|can't (?:decide|remember|think)|keep (?:forgetting|mixing)|mean|know|hope|guess|suppose)\b)"
    r"|\W{0,3}(?:因为|主要是?|由于)?(?:我|咱)(?!想|要(?:一|个)|需要|就是?问|就?考考|不(?:知道|懂|明白|会|记得)|忘|好奇|问|觉得|也?不确定|该|能|可以"
    r"|[^，。]{1,6}(?:让|叫|请|托|要)我)",
    re.IGNORECASE,
)
"""How somebody goes on to tell of themselves."""


def stated_beside(sentence: str) -> Span | None:
    """Where a sentence states something before or behind what it asks or supposes; None where it does not."""
    if told := _first(sentence):
        return 0, len(told)
    told = _behind(sentence)
    return (len(sentence) - len(told), len(sentence)) if told else None


def _first(sentence: str) -> str:
    """What a sentence states before it goes on to ask or to suppose something; empty where it does neither, or nothing.

    "We keep an orange cat in the dorm, if the warden finds out I'm done for" keeps the cat.
    """
    asks, supposed = is_asking(sentence), supposed_from(sentence)
    if not asks and supposed is None:
        return ""
    inside = ASKED_INSIDE.search(sentence)
    end = inside.start() + 2 if inside else len(sentence) if asks or supposed is None else supposed
    cut = max(0, *(sentence.rfind(mark, 0, end) for mark in ("，", "；", ", ", "; ")))
    if not cut:
        cut = max((found.start() for found in JOINT_ZH.finditer(sentence) if found.start() < end), default=0)
    if not asks and cut < _TOLD_AT_LENGTH and not GUESSES.match(sentence[cut:]):
        return ""
    told = sentence[:cut]
    is_own = is_cjk(told) or phrases.SINGULAR.search(told) or phrases.WE.search(told) or names_and_numbers(f"so {told}")
    return told if is_own and is_statement(told) and says_enough(told) else ""


def _behind(sentence: str) -> str:
    """What a sentence goes on to tell of its speaker behind what it asks; empty where there is neither or only one.

    "帮我写个请假条，我20号要回老家参加婚礼" tells of the wedding.
    """
    if not is_asking(sentence):
        return ""
    for joint in _BREAK.finditer(sentence):
        told = sentence[joint.end() :]
        if _OF_MYSELF.match(told) and is_asking(sentence[: joint.start()]):
            is_told = is_statement(told) and says_enough(told) and not (is_asking(told) or is_aside(told))
            return told if is_told else ""
    return ""
