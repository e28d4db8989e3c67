"""Cuts what people say into pieces as long as a clause, each of which may be forgotten alone."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.remembering.subjects import roots_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import Span

_SHORT: Final = 2
"""Words of a piece that is read with the one before it, such as an item of a list."""
_SHORT_CHINESE: Final = 3
"""The same in characters."""

_CHINESE: Final = lazy_pattern(r"[\u3400-\u9fff]+")
_BREAK: Final = lazy_pattern(
    r"(?:[;，；：\n]|[,:](?!\d))\s*|\s[–—-]{1,3}\s|\s(?=(?:and|but|so|plus|&)\s)"
    r"|(?<=[\u3400-\u9fff\d])[ \u3000]{1,3}(?=[\u3400-\u9fff])"
    r"|(?<![,;:，；：])(?=(?:而且|但是|不过|所以|因为|然后))|(?<=[a-z]{2})[.?]{1,3}\s+(?=[a-z]+ )"
)
JOINED: Final = lazy_pattern(r"\A\W*(?:(?:and|but|so|plus)\b\W*)*", re.IGNORECASE)
_AND_I: Final = lazy_pattern(r"\s*(?:and|&) (?:I|me|my \w+)\b", re.IGNORECASE)
_NAMED: Final = 40
"""Characters of a piece that may only name one of two: "Sam" in "Sam and I are moving"."""
_WORD: Final = lazy_pattern(r"\w+(?:'\w+)?")
VERBS: Final = (
    r"is|are|was|were|am|has|have|had|does|did|will|would|can|could|may|might|must|should|isn't|aren't|wasn't|hasn't"
    r"|doesn't|didn't|won't|can't|lives?|lived|works?|worked|likes?|liked|loves?|loved|hates?|hated|goes|went|gets?|got"
    r"|wants?|wanted|needs?|needed|plays?|played|moved|moves|drives?|drove|runs|ran|owns?|takes?|took|makes?|made|says"
    r"|said|comes?|came|keeps?|kept|eats?|ate|drinks?|drank|studies|studied|teaches|taught|visits?|visited|bought|buys?"
    r"|pays?|paid|gave|gives|uses?|used|prefers?|started|starts|quit|left|met|sold|sells?|called|calls?|named|charges?"
    r"|charged|costs?|wears?|wore|speaks?|spoke|asks?|asked|knows?|knew|thinks?|thought|sleeps?|slept|sings?|sang"
)
VERB_INSIDE: Final = lazy_pattern(
    rf"(?<=\w)(?:(?<=I)'(?:m|ve|d|ll)|'(?:s|re|d|ll|ve)(?=\s(?:not|now|a|an|the|in|at|on|been|got|gone|having"
    r"|(?!(?:wedd|build|cloth|paint|meet|train|feel|even|morn|\w{0,4}th|\w?r|k|dr?ess|earr|sav|mean)ing\b)\w+ing)\b)"
    rf"|\s(?:{VERBS}))\b",
    re.IGNORECASE,
)
"""Where what is said of a subject begins, behind the subject."""
NO_SUBJECT: Final = lazy_pattern(
    rf"(?P<joint>[\s,;]*(?:(?:and|but|then|so)\s+)*)(?:(?:(?:also|then|now|always|never|usually|only"
    rf"|still)\s+)?(?:{VERBS})"
    r"|(?:also|still|always|never|usually|often)\s+\w{2,20}(?:s|ed))\b",
    re.IGNORECASE,
)
"""A piece that leaves its subject out: "and works at a bank"."""


class TextPiece(NamedTuple):
    """A piece of a text, as long as a clause: where it stands, in which sentence, and the roots of its words."""

    span: Span
    sentence: int
    text: str
    roots: frozenset[str]


def text_pieces(text: str, start: int, end: int) -> Iterator[TextPiece]:
    """The clauses of a text, each with what joins it to the one before; items of a list stay together."""
    for number, (low, high) in enumerate(sentences(text[start:end])):
        low, high = start + low, start + low + len(text[start + low : start + high].rstrip().rstrip(".!?。！？"))
        cuts = [low, *(found.start() for found in _BREAK.finditer(text, low, high) if found.start() > low), high]
        kept = [low]
        for cut, after in pairwise(cuts[1:]):
            is_near = cut - kept[-1] <= _NAMED and _AND_I.match(text, cut, after) is not None
            is_both = is_near and VERB_INSIDE.search(text, kept[-1], cut) is None
            if not (is_both or _is_short(text[cut:after])):
                kept.append(cut)
        for a, b in pairwise((*kept, max(high, low + 1))):
            yield TextPiece((a, b), number, text[a:b], roots_of(text[a:b]))


def _is_short(text: str) -> bool:
    chinese = sum(map(len, _CHINESE.findall(text)))
    if chinese or NO_SUBJECT.match(text):
        return 0 < chinese <= _SHORT_CHINESE
    return len(_WORD.findall(JOINED.sub("", text))) <= _SHORT
