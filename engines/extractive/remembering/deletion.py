"""Says what a request to forget is about, and which parts of a memory speak of it: by its words, never by likeness."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from agentic_memory_bank.engines.conversation import USER, attributed, unattributed
from agentic_memory_bank.engines.extractive.remembering.queries import key_terms
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

_SHORT: Final = 2
"""Words of a piece that is read with the one before it, such as an item of a list."""
_SHORT_CHINESE: Final = 3
"""The same in characters."""
_FRAGMENT: Final = 7
"""Words of a piece that may be no clause of its own."""
_LEAST_ROOT: Final = 4
"""Letters that are left of a word without its ending."""
_SPLIT: Final = 4
"""Characters from which a Chinese phrase may stand apart in a memory, in words of at least two."""

_CLAUSE: Final = re.compile(r"[^.!?;:,。！？；：，\n]+(?:(?<=\w)[.:](?=\w)[^.!?;:,。！？；：，\n]+)*")
_ABOUT: Final = re.compile(
    r"\b(?:about|regarding|concerning|relat(?:es|ed|ing) to|to do with"
    r"|(?:anything|everything|something|all|nothing) (?:of|on|that concerns))\b\s*(?P<subject>\S.*)",
    re.IGNORECASE,
)
_VERB: Final = re.compile(
    r"\b(?:forget|delete|erase|remove|wipe|drop|scrub|clear)\b\s*(?P<subject>\S.*)", re.IGNORECASE
)
_FILLERS: Final = re.compile(
    r"\A\W*(?:(?:please|kindly|just|you|can|could|would|should|forget|delete|erase|remove|wipe|drop|everything|anything"
    r"|all|whatever|what|that|this|it|the (?:thing|part|bit|stuff)|stuff|about|of|know|remember|i'(?:m|ve|d|ll)|i|have"
    r"|said|told|now|out)\b(?!')\W*)*",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(
    r"\W{0,20}\b(?:please|now|for good|from (?:your )?memory|and all(?: that)?|any ?more)\W{0,20}\Z", re.IGNORECASE
)
_ASKED_CHINESE: Final = re.compile(
    r"\A\W*(?:请)?(?:你)?(?:把|将)?(?:忘记|忘掉|忘了|删除|删掉|抹掉)?(?:所有|一切)?(?:关于|有关)?(?:我们?的|我家的?)?"
    r"(?P<subject>.+?)"
    r"(?:的(?:一切|所有(?:事情?|内容|记忆)?|事情?|内容|记忆)|(?:都|给)?(?:忘掉|忘记|忘了|删掉|删除|删了)|吧){0,4}(?:(?<!\W)\W*+)?\Z"
)
_MATTER: Final = re.compile(r"(?P<subject>.{1,30}?)的?(?:事情?|私事|毛病|问题|情况|消息)(?!业|实|故|务)")
_GENERIC: Final = frozenset(
    tokenize(
        "thing things stuff business matter matters issue issues problem problems topic story detail details info"
        " information memory memories fact facts part bit question anything everything something nothing"
    )
)
_AND: Final = re.compile(
    r"\s{1,5}(?:and|or)\s{1,5}|[、]|(?<=[\u4e00-\u9fff])[和跟与](?=[\u4e00-\u9fff])", re.IGNORECASE
)
_THEIRS: Final = re.compile(r"\s*(?:his|her|their|its)\b", re.IGNORECASE)
_CALLED: Final = re.compile(r"\b(?:my|our|the)\s+(?P<role>[a-z]{2,30})\s+(?P<name>[A-Z][\w-]{1,40})")
_LATIN: Final = re.compile(r"[^\u3400-\u9fff]+")
_CHINESE: Final = re.compile(r"[\u3400-\u9fff]+")
_EMPTY: Final = re.compile(
    r"的|我们?|咱们?|你们?|他们?|她们?|它们?|自己|[那这][次个件些]?|了|都|过去|吧|呢|啊|把|将|请|一切|所有|全部|私?事情?|东西|内容|记忆|信息|情况|毛病"
    r"|问题|去|在|是|有|跟|和|与|关于|有关|别|不|也|就|还|给|让|想|要"
)
_KIN: Final = re.compile(r"(?P<kin>[爸妈爷奶姐哥弟妹])(?!(?P=kin))(?P<rest>..)\Z")
_BREAK: Final = re.compile(
    r"[,;:，；：]\s*|\s[–—-]{1,3}\s|\s(?=(?:and|but|so|plus)\s)"
    r"|(?<![,;:，；：])(?=(?:而且|但是|不过|所以|因为|然后))"
)
_JOINED: Final = re.compile(r"\A\W*(?:(?:and|but|so|plus)\b\W*)*", re.IGNORECASE)
_GOES_ON: Final = re.compile(
    r"\W*(?:(?:and|but|so|because|since|also)\b\W*)*(?:she|he|they|her|his|their|who|whose)(?:'s|'d|'ll|'re|'ve)?\b"
    r"|\W*(?:而且|但是?|所以|因为|还)?[她他](?!们)",
    re.IGNORECASE,
)
"""A piece that goes on about whom the one before it names."""
_WORD: Final = re.compile(r"\w+(?:'\w+)?")
_NOTE: Final = re.compile(r" \[(?P<phrase>[^\[\]\n]{1,60}) = [^\[\]\n]{1,40}\]")


_VERBS: Final = (
    r"is|are|was|were|am|has|have|had|does|did|will|would|can|could|may|might|must|should|isn't|aren't|wasn't|hasn't"
    r"|doesn't|didn't|won't|can't|lives?|lived|works?|worked|likes?|liked|loves?|loved|hates?|hated|goes|went|gets?|got"
    r"|wants?|wanted|needs?|needed|plays?|played|moved|moves|drives?|drove|runs|ran|owns?|takes?|took|makes?|made|says"
    r"|said|comes?|came|keeps?|kept|eats?|ate|drinks?|drank|studies|studied|teaches|taught|visits?|visited|bought|buys?"
    r"|pays?|paid|gave|gives|uses?|used|prefers?|started|starts|quit|left|met|sold|sells?|called|calls?|named"
)
_VERB_INSIDE: Final = re.compile(
    rf"(?<=\w)(?:(?<=I)'(?:m|ve|d|ll)|(?<=[eyt])'(?:s|re|d|ll|ve)(?=\s(?:not|now|a|an|the|in|at|on|\w+ing)\b)"
    rf"|\s(?:{_VERBS}))\b",
    re.IGNORECASE,
)
"""Where what is said of a subject begins, behind the subject."""
_NO_SUBJECT: Final = re.compile(
    rf"(?P<joint>[\s,;]*(?:(?:and|but|then|so)\s+)*)(?:(?:(?:also|then|now|always|never|usually|only|still)\s+)?(?:{_VERBS})"
    r"|(?:also|still|always|never|usually|often)\s+\w{2,20}(?:s|ed))\b",
    re.IGNORECASE,
)
"""A piece that leaves its subject out: "and works at a bank"."""


class Subject(NamedTuple):
    """Something that is to be forgotten: each group of words has to stand in a memory, by one of its words."""

    groups: tuple[frozenset[str], ...]


class _Clause(NamedTuple):
    """A piece of a text: where it stands, in which sentence, and the roots of its words."""

    span: Span
    sentence: int
    text: str
    roots: frozenset[str]


def subject_of(description: str) -> str:
    """What is to be forgotten, without the words that ask for it: "everything about my sister" is my sister."""
    plain = " ".join(description.replace("’", "'").split())
    return _chinese(plain) if is_cjk(plain) else _english(plain)


def subjects_of(description: str) -> tuple[Subject, ...]:
    """What is to be forgotten, as what a memory has to say; several where several things are named.

    Returns:
        Nothing where the description says nothing.
    """
    found: list[Subject] = []
    for part in _AND.split(subject_of(description)):
        groups = tuple(_groups(part))
        if found and _THEIRS.match(part):  # "Marcus and his money" is what Marcus has to do with money
            found[-1] = Subject((*found[-1].groups, *groups))
        elif groups:
            found.append(Subject(groups))
    return tuple(dict.fromkeys(found))


def parts_meant(record: Record, subjects: Sequence[Subject]) -> list[Span] | None:
    """Where the text of a memory speaks of a subject.

    Returns:
        The stretches, all of the text where all is meant; none where it speaks of it in its quotes or in an earlier
        wording alone; None where it does not speak of it.
    """
    text = record["text"]
    speaker, date, _ = unattributed(text)
    head = len(attributed(speaker, date, "")) if speaker else 0
    spans = _meant(text, head, speaker if speaker.casefold() not in (USER, "assistant") else "", subjects)
    if spans:
        return spans
    named = [word for word in (record["subject"], record["attribute"]) if word and word != USER]
    if any(_all_held(subject, _roots(word), word) for subject in subjects for word in named):
        return [(0, len(text))]
    quotes = [quote for source in record["sources"] for quote in source["quotes"] if quote not in text]
    meant = {quote: _meant(quote, 0, "", subjects) for quote in quotes}
    if any(some and _covers(some, quote) for quote, some in meant.items()):
        return [(0, len(text))]
    before = any(_meant(one["text"], 0, "", subjects) for one in record["history"])
    return [] if before or any(meant.values()) else None


# --- what is asked for -----------------------------------------------------------------------------------------------


def _english(plain: str) -> str:
    """The words behind "about" or "forget"; else all but what asks."""
    clauses = [found[0] for found in _CLAUSE.finditer(plain)]
    for pattern in (_ABOUT, _VERB):
        for clause in clauses:
            found = pattern.search(clause)
            if found and any(_groups(bare := _bare(found["subject"]))):
                return bare
    return _bare(plain)


def _bare(words: str) -> str:
    words = _FILLERS.sub("", words, count=1)
    shorter = _ENDS.sub("", words)
    while shorter != words:
        words, shorter = shorter, _ENDS.sub("", shorter)
    return words.strip(" \t\n.,;:!?。，！？")


def _chinese(plain: str) -> str:
    clauses = [found[0] for found in _CLAUSE.finditer(plain)]
    for clause in clauses:
        found = _MATTER.match(_asked_for(clause))
        if found and any(_groups(found["subject"])):
            return found["subject"]
    asked = (_asked_for(clause) for clause in clauses)
    return next((subject for subject in asked if any(_groups(subject))), plain)


def _asked_for(clause: str) -> str:
    found = _ASKED_CHINESE.fullmatch(clause)
    return found["subject"] if found else clause


def _groups(words: str) -> Iterator[frozenset[str]]:
    """What a memory has to hold: each word, or the role or the name of whom a role and a name stand for."""
    called = {
        root: frozenset((*_roots(found["role"]), *_roots(found["name"])))
        for found in _CALLED.finditer(words)
        for root in (*_roots(found["role"]), *_roots(found["name"]))
    }
    latin = [term for match in _LATIN.finditer(words) for term in tokenize(match[0]) if term not in _GENERIC]
    yield from dict.fromkeys(called.get(root, frozenset((root,))) for term in latin for root in (_root(term),))
    for run in _CHINESE.finditer(words):
        yield from (frozenset((part,)) for part in _words_of(run[0]))


def _words_of(run: str) -> Iterator[str]:
    """The words of a Chinese phrase, as far as they are told apart by what says nothing."""
    parts = [part for part in _EMPTY.split(run) if part]
    parts = [part for part in parts if len(part) > 1] or parts[:1] or ([run] if key_terms(run) else [])
    for part in parts:
        kin = _KIN.fullmatch(part)
        yield from (kin["kin"], kin["rest"]) if kin else (part,)


# --- what is meant ---------------------------------------------------------------------------------------------------


def _meant(text: str, head: int, speaker: str, subjects: Sequence[Subject]) -> list[Span]:
    """The stretches of a text that are about one of the subjects; all of it where its speaker is one."""
    if any(speaker and _all_held(subject, _roots(speaker), speaker) for subject in subjects):
        return [(0, len(text))]
    notes = list(_NOTE.finditer(text, head))
    said = list(_pieces(text, head, min((note.start() for note in notes), default=len(text))))
    places = {place for subject in subjects for place in _places(said, subject, speaker)}
    places |= set(_gone_on_with(said, places, subjects))
    if len(places) == len(said):
        return [(0, len(text))] if places else []
    spans = [_without_subject(said, place, places) for place in sorted(places)]
    left = "".join(one.text for place, one in enumerate(said) if place not in places)
    return [*spans, *(note.span() for note in notes if spans and note["phrase"] not in left)]


def _gone_on_with(said: Sequence[_Clause], places: set[int], subjects: Sequence[Subject]) -> Iterator[int]:
    """The pieces that go on about what the piece before them is about: by a pronoun, or without a subject."""
    going = ""
    for place in range(1, len(said)):
        one, before = said[place], said[place - 1]
        goes_on = place - 1 in places or bool(going)
        going = going or (before.text[: _verb(before.text)] if place - 1 in places else "")
        named = any(_all_held(subject, _roots(going), going) for subject in subjects)
        is_elliptic = one.sentence == before.sentence and _NO_SUBJECT.match(one.text) is not None
        is_rest = one.sentence == before.sentence and _is_fragment(one.text)
        if goes_on and (_GOES_ON.match(one.text) or (is_elliptic and named) or is_rest):
            yield place
        else:
            going = ""


def _is_fragment(text: str) -> bool:
    """Whether a piece is no clause of its own and names nothing: ", nine years old"."""
    if is_cjk(text) or names_and_numbers(text) or len(text.split()) > _FRAGMENT:
        return False
    return not re.search(rf"\b(?:{_VERBS}|I|we|you|no|not)\b|'", text, re.IGNORECASE)


def _verb(text: str) -> int:
    """Where a clause says something of its subject; its end where no verb is known."""
    found = _VERB_INSIDE.search(text)
    return found.start() if found else len(text)


def _without_subject(said: Sequence[_Clause], place: int, places: set[int]) -> Span:
    """The stretch of a piece; where the next one goes on with its subject and stays, the subject stays for it."""
    one, (start, end) = said[place], said[place].span
    after = said[place + 1] if place + 1 < len(said) else None
    shared = _NO_SUBJECT.match(after.text) if after and after.sentence == one.sentence else None
    if after is None or shared is None or place + 1 in places or _verb(one.text) == len(one.text):
        return start, end
    return start + _verb(one.text), after.span[0] + len(shared["joint"].rstrip())


def _covers(spans: Sequence[Span], text: str) -> bool:
    return sum(end - start for start, end in spans) >= len(text)


def _places(said: Sequence[_Clause], subject: Subject, speaker: str) -> Iterator[int]:
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


def _fewest(said: Sequence[_Clause], inside: Sequence[int], subject: Subject, speaker: str) -> Sequence[int]:
    """The shortest run of pieces of one sentence that hold all of a subject together."""
    runs = [inside[a:b] for a in range(len(inside)) for b in range(a + 2, min(len(inside), a + 4) + 1)]
    held = [run for run in runs if _held(subject, [said[place] for place in run], speaker)]
    run = min(held, key=len, default=list[int]())
    if any(_GOES_ON.match(said[place].text) for place in run[1:]):
        return [place for place in run[1:] if _missing(subject, [said[run[0]]], speaker, said[place])]
    return run


def _going_on(
    said: Sequence[_Clause], before: Sequence[int], after: Sequence[int], subject: Subject, speaker: str
) -> Iterator[int]:
    """The pieces of a sentence that hold what of a subject the sentence before it, of the same, does not name."""
    if _GOES_ON.match(said[after[0]].text):
        first = [said[place] for place in before]
        yield from (place for place in after if _missing(subject, first, speaker, said[place]))


def _missing(subject: Subject, before: Sequence[_Clause], speaker: str, piece: _Clause) -> bool:
    """Whether a piece says what of a subject those before it do not, which say the rest."""
    missing = Subject(tuple(group for group in subject.groups if not _held(Subject((group,)), before, speaker)))
    return 0 < len(missing.groups) < len(subject.groups) and _held(missing, [piece], speaker)


def _held(subject: Subject, pieces: Sequence[_Clause], speaker: str) -> bool:
    roots = frozenset[str](_roots(speaker)).union(*(one.roots for one in pieces))
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


def _pieces(text: str, start: int, end: int) -> Iterator[_Clause]:
    """The clauses of a text, each with what joins it to the one before; items of a list stay together."""
    for number, (low, high) in enumerate(sentences(text[start:end])):
        low, high = start + low, start + low + len(text[start + low : start + high].rstrip().rstrip(".!?。！？"))
        cuts = [low, *(found.start() for found in _BREAK.finditer(text, low, high) if found.start() > low), high]
        kept = [low]
        for cut, after in pairwise(cuts[1:]):
            if not _is_short(text[cut:after]):
                kept.append(cut)
        for a, b in pairwise((*kept, max(high, low + 1))):
            yield _Clause((a, b), number, text[a:b], _roots(text[a:b]))


def _is_short(text: str) -> bool:
    chinese = sum(map(len, _CHINESE.findall(text)))
    if chinese or _NO_SUBJECT.match(text):
        return 0 < chinese <= _SHORT_CHINESE
    return len(_WORD.findall(_JOINED.sub("", text))) <= _SHORT


def _roots(text: str) -> frozenset[str]:
    return frozenset(map(_root, tokenize(text)))


def _root(term: str) -> str:
    """A stem without the ending that parts noun, adjective and plural: allergy, allergies and allergic are one."""
    for ending in ("ical", "ist", "ic", "al", "i", "y", "e"):
        if term.isascii() and term.endswith(ending) and len(term) - len(ending) >= _LEAST_ROOT:
            return term[: -len(ending)]
    return term
