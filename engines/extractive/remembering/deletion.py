"""Says which parts of a memory speak of what is to be forgotten: by its words, never by likeness."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.antecedents import antecedent
from agentic_memory_bank.engines.extractive.remembering.continuing import is_apart, may_go_on
from agentic_memory_bank.engines.extractive.remembering.pieces import (
    NO_SUBJECT,
    VERB_INSIDE,
    VERBS,
    TextPiece,
    text_pieces,
)
from agentic_memory_bank.engines.extractive.remembering.subjects import Subject, held_of, roots_of
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.text.attribution import USER, attributed, unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span, merged

_SECOND_AMOUNT: Final = lazy_pattern(
    r"\s{0,3}(?:,\s{0,3})?(?:and|then|plus)\s\d[\d.,]{0,6}(?:\s(?:mg|ml|g|units?|pills?|tablets?))?"
    r"\s(?:before|after|at|in|with)(?:\s[a-z]+){1,3}\W*",
    re.IGNORECASE,
)
"""What goes on with a second amount of what was named before: "14 units at breakfast and 10 before dinner"."""
_IS_CALLED: Final = lazy_pattern(r"(?:\A|[，,])\s{0,3}(?:他|她)?(?:名字|全名)?就?叫")
_SOMEBODY: Final = lazy_pattern(
    r"[个位](?:人|男|女|同学|同事|朋友|姑娘|小伙|对象|老师|医生|学[长姐弟妹])|(?:喜欢|爱)上|认识了|交了|处了|新来的"
)
"""How Chinese speaks of somebody before it says the name."""
_FRAGMENT: Final = 7
"""Words of a piece that may be no clause of its own."""
_READ: Final = 400
"""Characters before a piece that are read to find what it calls "it"."""
_LEAST_LIKE: Final = 0.5
"""How much of a Chinese wish a clause has to hold, as `held_of` counts it."""
_MATTER: Final = 2
"""Characters of what is said of "her": her 病情."""
_SPLIT: Final = 4
"""Characters from which a Chinese phrase may stand apart in a memory, in words of at least two."""

GOES_ON: Final = lazy_pattern(
    r"\W*(?:(?:and|but|so|because|since|also)\b\W*)*(?:(?:she|he)s?|they|her|his|their|who|whose)(?:'s|'d|'ll|'re|'ve)?\b"
    r"|\W*(?:而且|但是?|所以|因为|还)?[她他](?!们)",
    re.IGNORECASE,
)
"""A piece that goes on about whom the one before it names."""
_GOES_ON_CHINESE: Final = lazy_pattern(
    r"\W*(?:[嫁娶是有要会在得住做当跟被说想没不刚]|打算|准备|已经|正在|一直|听说|今年|明年|现在|目前|一共|总共|每个?[月年天周次]"
    r"|我[得要会想去来就也还]{0,3}[送陪帮当给替]|对我|[送帮找带陪]过)"
)
"""A piece that leaves out its subject, which is that of the piece before; or what the speaker does for them."""
_MINE: Final = lazy_pattern(r"\A\W*(?:我们?(?:家|的)?|咱们?|那个|这个)?")
_INTRODUCES: Final = lazy_pattern(r"\A[^，。；]{0,12}有一?[个位]")
"""How somebody is brought up of whom more is said: "社区舞蹈队有个老吴"."""
_NOTE: Final = lazy_pattern(r" \[(?P<phrase>[^\[\]\n]{1,60}) = [^\[\]\n]{1,40}\]")


_THEY: Final = lazy_pattern(r"\b(?:she|he|her|him|his|hers)\b", re.IGNORECASE)
_OF_THEM: Final = lazy_pattern(r"[她他](?P<what>[\u3400-\u9fff]{2,12})")
_NAME_CHINESE: Final = 3
"""Characters of a Chinese name, at most."""
_KIN: Final = roots_of(
    "mum mom mother dad father sister brother son daughter wife husband aunt uncle cousin niece nephew grandma grandpa"
    " grandmother grandfather boss neighbour neighbor friend girlfriend boyfriend partner landlord colleague"
)


def parts_meant(
    record: Record, subjects: Sequence[Subject], before: Sequence[str] = (), *, is_wide: bool = False
) -> list[Span] | None:
    """Where the text of a memory speaks of a subject.

    Args:
        record: The memory.
        subjects: What is to be forgotten.
        before: What its speaker said before it, oldest first, where it is a turn: there stands what it calls "it".
        is_wide: Whether with the clauses that may go on about it.

    Returns:
        The stretches, all of the text where all is meant; none where it speaks of it in its quotes or in an earlier
        wording alone; None where it does not speak of it.
    """
    text = record["text"]
    speaker, date, _ = unattributed(text)
    head = len(attributed(speaker, date, "")) if speaker else 0
    who = speaker if speaker.casefold() not in (USER, "assistant") else ""
    spans = stretches_meant(text, head, who, subjects, [one[-_READ:] for one in before], is_wide=is_wide)
    if spans:
        return spans
    named = [word for word in (record["subject"], record["attribute"]) if word and word != USER]
    if any(_all_held(subject, roots_of(word), word) for subject in subjects for word in named):
        return [(0, len(text))]
    quotes = [quote for source in record["sources"] for quote in source["quotes"] if quote not in text]
    meant = {quote: stretches_meant(quote, 0, "", subjects) for quote in quotes}
    if any(some and _covers(some, quote) for quote, some in meant.items()):
        return [(0, len(text))]
    was = any(stretches_meant(one["text"], 0, "", subjects) for one in record["history"])
    return [] if was or any(meant.values()) else None


def with_whom(text: str, spans: Sequence[Span]) -> list[Span]:
    """Stretches of a text with what leads to each that speaks of "him" or "her": the pieces before it back to a name.

    In Chinese, which leaves its subject out, with what follows in the sentence, too, until somebody else is named.

    Args:
        text: Text of a memory.
        spans: Where it speaks of something, by whole pieces.
    """
    speaker, date, _ = unattributed(text)
    said = list(text_pieces(text, len(attributed(speaker, date, "")) if speaker else 0, len(text)))
    marks, found, at = merged(sorted(spans)), set[int](), 0
    for place, one in enumerate(said):
        while at < len(marks) and marks[at][1] <= one.span[0]:
            at += 1
        if at < len(marks) and marks[at][0] < one.span[1]:
            found.add(place)
    for place in range(len(said) - 1, 0, -1):
        if place in found and GOES_ON.match(said[place].text):
            found.add(place - 1)
    for place in range(1, len(said)):
        is_beside = place - 1 in found and said[place].sentence == said[place - 1].sentence
        if is_beside and is_cjk(said[place].text) and not is_apart(said[place].text):
            found.add(place)
    return [(0, len(text))] if len(found) == len(said) else [*spans, *(said[place].span for place in sorted(found))]


def parts_like(text: str, about: str) -> list[Span]:
    """The clauses of a Chinese text that share much with what is to be forgotten; none where all do, or none.

    Args:
        text: Text of a memory.
        about: What is to be forgotten.
    """
    speaker, date, _ = unattributed(text)
    said = list(text_pieces(text, len(attributed(speaker, date, "")) if speaker else 0, len(text)))
    shared = [held_of(about, one.text) for one in said]
    spans = [one.span for one, share in zip(said, shared, strict=True) if share >= _LEAST_LIKE]
    return spans if len(spans) < len(said) else []


def echoes_in(text: str, roots: Collection[str]) -> list[Span]:
    """The stretches of a turn that say one of these words again.

    Args:
        text: Text of the turn, with its speaker.
        roots: As `roots_of` gives them.
    """
    speaker, date, _ = unattributed(text)
    pieces = list(text_pieces(text, len(attributed(speaker, date, "")) if speaker else 0, len(text)))
    spans = [one.span for one in pieces if not one.roots.isdisjoint(roots)]
    return [(0, len(text))] if spans and len(spans) == len(pieces) else spans


# --- what is meant ---------------------------------------------------------------------------------------------------


def stretches_meant(
    text: str,
    head: int,
    speaker: str,
    subjects: Sequence[Subject],
    before: Sequence[str] = (),
    *,
    is_wide: bool = False,
) -> list[Span]:
    """The stretches of a text that are about one of the subjects; all of it where its speaker is one.

    Args:
        head: Where the words begin, behind who said them and when.
        speaker: Who said it, where that is neither the user nor an assistant.
        before: As `parts_meant`.
        is_wide: As `parts_meant`.
    """
    if any(speaker and _all_held(subject, roots_of(speaker), speaker) for subject in subjects):
        return [(0, len(text))]
    notes = list(_NOTE.finditer(text, head))
    said = list(text_pieces(text, head, min((note.start() for note in notes), default=len(text))))
    places = {place for subject in subjects for place in _places(said, subject, speaker)}
    places |= {place for place, one in enumerate(said) if _calls_it(one, text, head, subjects, before)}
    places |= {place for place, one in enumerate(said) if _says_of_them(one, text, head, subjects, before)}
    places |= set(_beside(said, places, subjects))
    places |= set(_gone_on_with(said, places, subjects, is_wide=is_wide))
    places |= set(_introduced(said, places))
    if len(places) == len(said):
        return [(0, len(text))] if places else []
    spans = [_without_subject(said, place, places) for place in sorted(places)]
    left = "".join(one.text for place, one in enumerate(said) if place not in places)
    return [*spans, *(note.span() for note in notes if spans and note["phrase"] not in left)]


def _calls_it(one: TextPiece, text: str, head: int, subjects: Sequence[Subject], before: Sequence[str]) -> bool:
    """Whether a piece only says "it" or "she" of what is meant, which was named before."""
    said = [*before, text[max(head, one.span[0] - _READ) : one.span[0]]]
    found = antecedent(one.text, said, has_value=False)
    thing = said[found[0]][slice(*found[1])] if found else ""
    return bool(thing) and any(_all_held(subject, roots_of(thing), thing) for subject in subjects)


def _says_of_them(one: TextPiece, text: str, head: int, subjects: Sequence[Subject], before: Sequence[str]) -> bool:
    """Whether a piece says what is meant of "her" or "him", who was named before it."""
    earlier = "\n".join((*before, text[max(head, one.span[0] - _READ) : one.span[0]]))
    words = {word for subject in subjects for group in subject.groups if len(subject.groups) == 1 for word in group}
    for of_them in _OF_THEM.finditer(one.text):
        tails = (
            word
            for word in words
            if is_cjk(word)
            for at in range(1, _NAME_CHINESE + 1)
            if len(word) >= at + _MATTER and of_them["what"].startswith(word[at:]) and word[:at] in earlier
        )
        if any(tails):
            return True
    if not _THEY.search(one.text):
        return False
    names = roots_of(" ".join(names_and_numbers(f"so {earlier}"))) | (roots_of(earlier) & _KIN)
    return any(
        _missing(subject, [TextPiece((0, 0), 0, "", frozenset(group & names))], "", one)
        for subject in subjects
        for group in subject.groups
        if group & names
    )


def _beside(said: Sequence[TextPiece], places: set[int], subjects: Sequence[Subject]) -> Iterator[int]:
    """Where several things are named, of a sentence about one the pieces that name another, and those between them."""
    heads = [Subject((group,)) for subject in subjects for group in subject.groups] if len(subjects) > 1 else []
    for sentence in {said[place].sentence for place in places} if heads else ():
        inside = [place for place, one in enumerate(said) if one.sentence == sentence]
        named = [place for place in inside if any(_held(head, [said[place]], "") for head in heads)]
        if not places.issuperset(named):
            both = [*named, *places.intersection(inside)]
            yield from range(min(both), max(both) + 1)


def _introduced(said: Sequence[TextPiece], places: set[int]) -> Iterator[int]:
    """The Chinese pieces around one that gives a name to whom they speak of: 我喜欢上一个人，叫程野，打灯光的."""
    for place in places:
        if not _IS_CALLED.search(said[place].text):
            continue
        before = [n for n in range(place) if said[n].sentence == said[place].sentence]
        first = next((n for n in reversed(before) if _SOMEBODY.search(said[n].text)), None)
        if first is None:
            continue
        yield from range(first, place)
        for after in range(place + 1, len(said)):
            if said[after].sentence != said[place].sentence or not said[after].text.rstrip(" ，,").endswith("的"):
                break
            yield after


def _gone_on_with(
    said: Sequence[TextPiece], places: set[int], subjects: Sequence[Subject], *, is_wide: bool
) -> Iterator[int]:
    """The pieces that go on about what the piece before them is about: by a pronoun, or without a subject."""
    going, was, is_first = "", "", False
    of_person = any(len(subject.groups) == 1 for subject in subjects)
    for place in range(1, len(said)):
        one, before = said[place], said[place - 1]
        goes_on = place - 1 in places or bool(going)
        going = going or (before.text[: _verb(before.text)] if place - 1 in places else "")
        named = any(_all_held(subject, roots_of(going), going) for subject in subjects)
        is_elliptic = one.sentence == before.sentence and NO_SUBJECT.match(one.text) is not None
        is_first = is_first if going == was else place == 1 or said[place - 2].sentence != before.sentence
        was = going
        if is_first and one.sentence == before.sentence and _GOES_ON_CHINESE.match(one.text):
            is_elliptic, named = True, _begins_with(going, subjects)
        is_rest = one.sentence == before.sentence and (
            _is_fragment(one.text) or (is_wide and may_go_on(before.text, one.text))
        )
        by_name = GOES_ON.match(one.text) is not None and (is_wide or of_person or one.sentence != before.sentence)
        if goes_on and (by_name or (is_elliptic and named) or is_rest):
            yield place
        else:
            going = ""


def _begins_with(text: str, subjects: Sequence[Subject]) -> bool:
    """Whether a Chinese piece begins with what is meant: then what follows without a subject is said of it."""
    words = (word for subject in subjects for group in subject.groups for word in group if is_cjk(word))
    begins = tuple(word[:2] for word in words)
    return _MINE.sub("", text, count=1).startswith(begins) or _INTRODUCES.sub("", text, count=1).startswith(begins)


def _is_fragment(text: str) -> bool:
    """Whether a piece is no clause of its own and names nothing: ", nine years old", "and 10 before dinner"."""
    if _SECOND_AMOUNT.fullmatch(text):
        return True
    if is_cjk(text) or names_and_numbers(text) or len(text.split()) > _FRAGMENT:
        return False
    return not re.search(rf"\b(?:{VERBS}|I|im|ive|we|you|no|not|dont|its|hes|shes)\b|'", text, re.IGNORECASE)


def _verb(text: str) -> int:
    """Where a clause says something of its subject; its end where no verb is known."""
    found = VERB_INSIDE.search(text)
    return found.start() if found else len(text)


def _without_subject(said: Sequence[TextPiece], place: int, places: set[int]) -> Span:
    """The stretch of a piece; where the next one goes on with its subject and stays, the subject stays for it."""
    one, (start, end) = said[place], said[place].span
    after = said[place + 1] if place + 1 < len(said) else None
    shared = NO_SUBJECT.match(after.text) if after and after.sentence == one.sentence else None
    if after is None or shared is None or place + 1 in places or _verb(one.text) == len(one.text):
        return start, end
    return start + _verb(one.text), after.span[0] + len(shared["joint"].rstrip())


def _covers(spans: Sequence[Span], text: str) -> bool:
    return sum(end - start for start, end in spans) >= len(text)


def _places(said: Sequence[TextPiece], subject: Subject, speaker: str) -> Iterator[int]:
    """The pieces that hold all of a subject, each alone or the fewest of a sentence, or a sentence that goes on."""
    alone = {place for place, one in enumerate(said) if _held(subject, [one], speaker)}
    yield from alone
    inside: dict[int, list[int]] = {}
    for place, one in enumerate(said):
        inside.setdefault(one.sentence, []).append(place)
    for places in inside.values():
        if alone.isdisjoint(places):
            yield from _fewest(said, places, subject, speaker)
    for before, after in pairwise(inside.values()):
        yield from _going_on(said, before, after, subject, speaker)


def _fewest(said: Sequence[TextPiece], inside: Sequence[int], subject: Subject, speaker: str) -> Sequence[int]:
    """The shortest run of pieces of one sentence that hold all of a subject together."""
    runs = [inside[a:b] for a in range(len(inside)) for b in range(a + 2, min(len(inside), a + 4) + 1)]
    held = [run for run in runs if _held(subject, [said[place] for place in run], speaker)]
    run = min(held, key=len, default=list[int]())
    if any(GOES_ON.match(said[place].text) for place in run[1:]):
        return [place for place in run[1:] if _missing(subject, [said[run[0]]], speaker, said[place])]
    return run


def _going_on(
    said: Sequence[TextPiece], before: Sequence[int], after: Sequence[int], subject: Subject, speaker: str
) -> Iterator[int]:
    """The pieces of a sentence that hold what of a subject the sentence before it, of the same, does not name."""
    if GOES_ON.match(said[after[0]].text):
        first = [said[place] for place in before]
        yield from (place for place in after if _missing(subject, first, speaker, said[place]))


def _missing(subject: Subject, before: Sequence[TextPiece], speaker: str, piece: TextPiece) -> bool:
    """Whether a piece says what of a subject those before it do not, which say the rest."""
    missing = Subject(tuple(group for group in subject.groups if not _held(Subject((group,)), before, speaker)))
    return 0 < len(missing.groups) < len(subject.groups) and _held(missing, [piece], speaker)


def _held(subject: Subject, pieces: Sequence[TextPiece], speaker: str) -> bool:
    roots = frozenset[str](roots_of(speaker)).union(*(one.roots for one in pieces))
    return _all_held(subject, roots, " ".join((speaker, *(one.text for one in pieces))))


def _all_held(subject: Subject, roots: frozenset[str], text: str) -> bool:
    return all(any(_is_held(word, roots, text) for word in group) for group in subject.groups)


def _is_held(word: str, roots: frozenset[str], text: str) -> bool:
    if not is_cjk(word):
        return word in roots
    return word in text or (len(word) >= _SPLIT and _stands_apart(word, text))


def _stands_apart(phrase: str, text: str) -> bool:
    """Whether a Chinese phrase stands in a text in pieces, at least half of it in words of two characters or more."""
    place = joined = 0
    while place < len(phrase):
        length = next((n for n in range(len(phrase) - place, 0, -1) if phrase[place : place + n] in text), 0)
        if not length:
            return False
        joined += length if length > 1 else 0
        place += length
    return 2 * joined >= len(phrase)
