"""Divides a message that tells a memory to forget something into the wish itself and the news told beside it."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.remembering.deletion import GOES_ON, stretches_meant
from agentic_memory_bank.engines.extractive.remembering.edits import asks_to_edit
from agentic_memory_bank.engines.extractive.remembering.pieces import JOINED, VERB_INSIDE, TextPiece, text_pieces
from agentic_memory_bank.engines.extractive.remembering.statements import is_asking, is_statement, says_enough
from agentic_memory_bank.engines.extractive.remembering.subjects import WISHING, Subject, roots_of, subjects_of
from agentic_memory_bank.engines.extractive.remembering.telling import LONGEST, Telling, told_to_forget
from agentic_memory_bank.tools.memories.deletion import cut_out
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_REFERS: Final = lazy_pattern(
    r"\A\W*(?:it|its|it's|that|that's|this|these|those|which|who|whose|where|what|how|why|because|cos|since|as|for|if"
    r"|when|while|until|in case|the (?:reason|whole|thing)|before|after|(?:please|thanks?|thank you|sorry))\b"
    r"|\A\W*(?:因为|毕竟|反正|免得|省得|以免|不然|要不|如果|要是|它|这|那(?!天|年)|谢|麻烦|拜托)",
    re.IGNORECASE,
)
"""A piece that goes on about the wish, or gives the reason for it."""
_POINTS: Final = lazy_pattern(r"\b(?:it|that|this|them|those|these)\b", re.IGNORECASE)
_OVER: Final = (
    r"(?:\b(?:by the way|btw|also|besides|apart from that|in other news|anyway|on another note|meanwhile|one more thing"
    r"|another thing|separately)\b|对了|另外|还有|顺便|顺带|话说|说起来|再就是|再说一(?:件|个)|而且)"
)
_BY_THE_WAY: Final = lazy_pattern(_OVER, re.IGNORECASE)
_ANEW: Final = lazy_pattern(r"\A\W*(?:(?:and|but|so|oh|ok(?:ay)?)\b\W*){0,2}" + _OVER, re.IGNORECASE)
"""How somebody goes over to something else."""
_LEANS: Final = lazy_pattern(
    r"\b(?:it|that|this|them|those|these|him|her|she|he|they)\b(?! (?:thing|stuff|business|bit|part|whole|one)\b)"
    r"|[它她他]|[那这][个件事些]",
    re.IGNORECASE,
)
"""A wish that leans on what was said before it."""
_OWN: Final = lazy_pattern(
    r"\b(?:my|our)\s+[a-z]|我们?的|我们?家|我们?(?:刚|已经|现在|最近|今天|明天|昨天|下|上|这|换|搬|买|要|打算|准备|在)"
)
"""What is the speaker's own, and was not named in the wish."""
_HOLDS_NOW: Final = lazy_pattern(
    r"\A\W*(?:(?:and|but|so)\W+)?(?:I|we) (?!(?:am|are|was|were|have|had|do|don't|did|didn't|feel|felt|want|need|think"
    r"|thought|know|knew|regret|can|can't|could|would|will|should|shouldn't|must|might|wish|prefer|hate|told|said|made"
    r"|lied|never|really|understand|realise|realize|see)\b)[a-z]+\b[^,.;]{0,60}\b(?:now|nowadays|these days|instead"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b"
    r"|\A\W*(?:(?:and|but|so)\W+)?(?:I['’]m|I am|we['’]re|we are) (?:now )?(?:apply|go|mov|switch|start|tak|train|study"
    r"|learn|join|rent|buy|sign|work|stay)ing (?:to|for|in|into|at|up|with|on|a|an|the|my|our)\b",
    re.IGNORECASE,
)
"""What the speaker does now: "I swim at the lake now" is no reason to forget the gym."""
_SPEAKER: Final = lazy_pattern(r"\A\W*(?:(?:and|but|so|also|btw|now)\b\W*){0,3}(?:I|we)\b|我")
_WHOLE: Final = ("this", "past")
"""Kinds of wishes that take the whole message: what is said beside "don't keep this" is what is not to be kept."""
_LEAST: Final = 2
"""Index terms of a sentence that tells something."""


class Wish(NamedTuple):
    """A wish to forget something, and what else the message tells."""

    telling: Telling
    words: str
    """The words of the wish."""
    news: str = ""
    """What is told beside it, to be kept as ever; empty for nothing."""


def wish_in(text: str, heard: Callable[[str], Telling | None] = told_to_forget) -> Wish | None:
    """The wish to forget something that a message holds; None for a message without one.

    Args:
        text: What a user says.
        heard: What hears a wish.
    """
    if asks_to_edit(text[: LONGEST + 1]):
        return None
    told = heard(text)
    if told is not None and told.kind in _WHOLE:
        return Wish(told, text)
    if told is None and (len(text) > LONGEST or _BY_THE_WAY.search(text) is None):
        return None
    said = list(text_pieces(text, 0, len(text)))
    last = len(said) - 1 if told else next((place for place, one in enumerate(said) if _ANEW.match(one.text)), 0) - 1
    if last < 0 or (told := told or heard(text[: said[last].span[1]])) is None or told.kind in _WHOLE:
        return None
    first, last = _core(text, said, last, heard)
    news = {place for place in _news(said, first, last) if heard(said[place].text) is None}
    wish = text[said[first].span[0] : said[last].span[1]] if (first, last) != (0, len(said) - 1) else text
    rest = cut_out(text, [one.span for place, one in enumerate(said) if place not in news]) if news else ""
    core = heard(wish) or told
    core = core._replace(is_sure=core.is_sure and told.is_sure)
    return Wish(core, wish, "" if rest and heard(rest) is not None else rest)


def plain_wish_in(text: str) -> Wish | None:
    """The wish of a message that plainly holds one: what only sounds like one as a whole is kept like any other."""
    wish = wish_in(text)
    return wish if wish is not None and wish.telling.is_plain else None


def subjects_described(text: str) -> tuple[Subject, ...]:
    """What a description means, or the wish in it: what is told beside that describes nothing."""
    wish = wish_in(text)
    if wish is not None and wish.telling.kind == "past":
        return ()
    return subjects_of(wish.words if wish else text)


def without(text: str, subjects: Sequence[Subject]) -> str:
    """What a text says besides what it says of some subjects."""
    return cut_out(text, stretches_meant(text, 0, "", subjects))


def places_of(text: str, subjects: Sequence[Subject], news: str) -> list[int]:
    """The numbers of the pieces of a text that speak of a subject, or are none of its news."""
    spans = stretches_meant(text, 0, "", subjects)
    return [
        place
        for place, one in enumerate(text_pieces(text, 0, len(text)))
        if JOINED.sub("", one.text).strip(" \t\n,;:，；：") not in news
        or any(low < one.span[1] and one.span[0] < high for low, high in spans)
    ]


def words_at(text: str, places: Collection[int]) -> list[str]:
    """The words of these pieces of a text."""
    said = enumerate(text_pieces(text, 0, len(text)))
    return [words for place, one in said if place in places and (words := one.text.strip(" \t\n,;:，；："))]


def _core(text: str, said: Sequence[TextPiece], last: int, heard: Callable[[str], Telling | None]) -> tuple[int, int]:
    """The first and the last of the pieces that the wish needs: those around them say other things, or nothing."""
    first = 0

    def held(low: int, high: int) -> Telling | None:
        return heard(text[said[low].span[0] : said[high].span[1]])

    def about(low: int, high: int) -> tuple[Subject, ...]:
        return subjects_of(text[said[low].span[0] : said[high].span[1]])

    told = held(first, last)
    while last > first and (less := held(first, last - 1)) and told and less.kind == told.kind:
        if about(first, last - 1) != about(first, last) and not _is_news(said, last):
            break
        last -= 1
    while first < last and (less := held(first + 1, last)) and told and less.kind == told.kind:
        wish = text[said[first + 1].span[0] : said[last].span[1]]
        if about(first + 1, last) != about(first, last) and (_LEANS.search(wish) or not _is_news(said, first)):
            break
        first += 1
    return first, last


def _news(said: Sequence[TextPiece], first: int, last: int) -> Iterator[int]:
    """The pieces around a wish that tell of something else; what follows one in a sentence goes on with it."""
    for places in (range(first), range(last + 1, len(said))):
        is_told, sentence = False, -1
        for place in places:
            one = said[place]
            if not (is_told and (one.sentence == sentence or _POINTS.match(one.text.strip()))):
                is_told = _is_news(said, place, is_beside=one.sentence in (said[first].sentence, said[last].sentence))
            sentence = one.sentence
            if is_told:
                yield place


def _is_news(said: Sequence[TextPiece], place: int, *, is_beside: bool = True) -> bool:
    """Whether a piece tells of something else.

    Args:
        is_beside: Whether it stands in one sentence with the wish, where it may be part of it, or the reason for it.
    """
    text = said[place].text
    plain = JOINED.sub("", text, count=1).strip(" \t\n,;:，；：")
    if _REFERS.match(plain) or (GOES_ON.match(text) and not _ANEW.match(text)):
        return False
    if is_asking(plain) or len(set(tokenize(plain))) < _LEAST or roots_of(plain) <= WISHING:
        return False
    if not is_beside or _ANEW.match(text):
        return True
    holds_now = _HOLDS_NOW.search(plain) is not None
    if not is_statement(plain) or not (holds_now or says_enough(plain)):
        return False
    is_named = holds_now or _OWN.search(plain) is not None or bool(names_and_numbers(plain))
    says = _SPEAKER.search(plain) is not None or is_cjk(plain) or VERB_INSIDE.search(plain) is not None
    return says and is_named and not (_POINTS.search(plain) and _OWN.search(plain) is None)
