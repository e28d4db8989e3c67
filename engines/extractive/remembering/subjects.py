"""Reads what a request to forget is about: the words that a memory has to hold, so that it is meant."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.reading.concepts import mates, of_chinese
from agentic_memory_bank.engines.extractive.remembering.queries import key_terms
from agentic_memory_bank.engines.extractive.remembering.telling import told_to_forget
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_CLAUSE: Final = lazy_pattern(r"[^.!?;:,。！？；：，\n]+(?:(?<=\w)[.:](?=\w)[^.!?;:,。！？；：，\n]+)*")
_ABOUT: Final = lazy_pattern(
    r"\b(?:about|regarding|concerning|relat(?:es|ed|ing) to|to do with"
    r"|(?:anything|everything|something|all|nothing) (?:of|on|that concerns))\b\s*(?P<subject>\S.*)",
    re.IGNORECASE,
)
_VERB: Final = lazy_pattern(
    r"\b(?:forget|delete|erase|remove|wipe|drop|scrub|clear)\b\s*(?P<subject>\S.*)", re.IGNORECASE
)
_FILLERS: Final = lazy_pattern(
    r"\A\W*(?:(?:please|kindly|just|you|can|could|would|should|forget|delete|erase|remove|wipe|drop|everything|anything"
    r"|all|whatever|what|that|this|it|the (?:thing|part|bit|stuff)|stuff|about|of|know|remember|i'(?:m|ve|d|ll)|i|have"
    r"|said|told|now|out)\b(?!')\W*)*",
    re.IGNORECASE,
)
_ENDS: Final = lazy_pattern(
    r"\W{0,20}\b(?:please|now|for good|from (?:your )?memory|and all(?: that)?|any ?more)\W{0,20}\Z", re.IGNORECASE
)
_ASKED_CHINESE: Final = lazy_pattern(
    r"\A\W*(?:请)?(?:你)?(?:把|将)?(?:忘记|忘掉|忘了|删除|删掉|抹掉)?(?:所有|一切)?(?:关于|有关)?(?:我们?的|我家的?)?"
    r"(?P<subject>.+?)"
    r"(?:的(?:一切|所有(?:事情?|内容|记忆)?|事情?|内容|记忆)|(?:都|给)?(?:忘掉|忘记|忘了|删掉|删除|删了)|吧){0,4}(?:(?<!\W)\W*+)?\Z"
)
_MATTER: Final = lazy_pattern(r"(?P<subject>.{1,30}?)的?(?:事情?|私事|毛病|问题|情况|消息)(?!业|实|故|务)")
_GENERIC: Final = frozenset(
    tokenize(
        "thing things stuff business matter matters issue issues problem problems topic story detail details info"
        " information memory memories fact facts part bit question anything everything something nothing"
    )
)
_AND: Final = lazy_pattern(
    r"\s{1,5}(?:and|or)\s{1,5}|[、]|(?<=[\u4e00-\u9fff])[和跟与](?=[\u4e00-\u9fff])",
    re.IGNORECASE,
)
_MEANING: Final = lazy_pattern(
    r"[,;(–—]\s*(?P<said>(?:i mean|meaning|as in|you know|the one) [^.;!?]{3,80})"
    r"|[,，]\s*(?:也)?就是(?P<told>[^，。！？]{2,40})",
    re.IGNORECASE,
)
"""What is meant, in other words behind the first: "我心情那个事，就是去看医生开药的"."""
_THEIRS: Final = lazy_pattern(r"\s*(?:his|her|their|its)\b", re.IGNORECASE)
_CALLED: Final = lazy_pattern(r"\b(?:my|our|the)\s+(?P<role>[a-z]{2,30})\s+(?P<name>[A-Z][\w-]{1,40})")
_LATIN: Final = lazy_pattern(r"[^\u3400-\u9fff]+")
_EMPTY: Final = lazy_pattern(
    r"的|我们?|咱们?|你们?|他们?|她们?|它们?|自己|[那这][次个件些]?|了|都|过去|吧|呢|啊|把|将|请|一切|所有|全部|私?事情?|东西|内容|记忆|信息|情况|毛病"
    r"|问题|去|在|是|有|跟|和|与|(?<![意再看听偏主])见(?!面)|[他她](?=[爸妈])|关于|有关|别|不|也|就|还|给|让|想|要"
)
_KIN: Final = lazy_pattern(r"(?P<kin>[爸妈爷奶姐哥弟妹])(?!(?P=kin))(?P<rest>..)\Z")
_SAME: Final = (
    frozenset(("爸妈", "父母", "家长", "爹妈")),
    frozenset(("mum", "mom", "mother", "mam", "mama", "mummy", "mommy", "amma")),
    frozenset(("dad", "father", "papa", "daddy", "baba", "abba", "appa")),
    frozenset(("grandma", "grandmother", "gran", "granny", "nan", "nana")),
    frozenset(("grandpa", "grandfather", "grandad", "granddad")),
)
_LONGEST_RUN: Final = 8
"""Characters of a run that two texts may have in common."""
_LEAST_ROOT: Final = 4
"""Letters that are left of a word without its ending."""
_CHINESE: Final = lazy_pattern(r"[\u3400-\u9fff]+")


class Subject(NamedTuple):
    """Something that is to be forgotten: each group of words has to stand in a memory, by one of its words."""

    groups: tuple[frozenset[str], ...]


def subject_of(description: str) -> str:
    """What is to be forgotten, without the words that ask for it: "everything about my sister" is my sister."""
    plain = " ".join(description.replace("’", "'").split())
    return _chinese(plain) if is_cjk(plain) else _english(plain)


def meaning_of(wish: str) -> str:
    """In which other words a wish says what it is about; empty for none."""
    found = _MEANING.search(wish)
    return next(filter(None, found.groups()), "") if found else ""


def subjects_of(description: str) -> tuple[Subject, ...]:
    """What is to be forgotten, as what a memory has to say; several where several things are named.

    Returns:
        Nothing where the description says nothing.
    """
    told = told_to_forget(description)
    found: list[Subject] = []
    for part in _AND.split(subject_of(told.about if told and told.about else description)):
        groups = tuple(_groups(part))
        if found and _THEIRS.match(part):  # "Marcus and his money" is what Marcus has to do with money
            found[-1] = Subject((*found[-1].groups, *groups))
        elif groups:
            found.append(Subject(groups))
    if told and told.whose:
        found = [_of_whom(told.whose, [group for subject in found for group in subject.groups])]
    return tuple(dict.fromkeys(found))


def in_other_words(subjects: Sequence[Subject]) -> list[Subject]:
    """Each word of some subjects by those that share a concept with it: "attorney" for "lawyer"."""
    near = {word: mates(word) for subject in subjects for group in subject.groups for word in group}
    wide = {word: frozenset(_root(mate) if mate.isascii() else mate for mate in near[word]) for word in near}
    groups = (group for subject in subjects for group in subject.groups)
    return [Subject((others,)) for group in groups if (others := frozenset[str]().union(*map(wide.__getitem__, group)))]


def things_named(wish: str) -> list[str]:
    """The words of each of several things that a wish names: "my sugar, and the tablets"; none where it names one."""
    told = told_to_forget(wish)
    parts = _AND.split(subject_of(told.about)) if told and told.about and not told.whose else []
    named = [part.strip() for part in parts if any(_groups(part)) and not _THEIRS.match(part)]
    return named if len(named) > 1 else []


def _english(plain: str) -> str:
    """The words behind "about" or "forget"; else all but what asks."""
    clauses = [found[0] for found in _CLAUSE.finditer(plain)]
    for pattern in (_ABOUT, _VERB):
        for clause in clauses:
            found = pattern.search(clause)
            if found and any(_groups(bare := _bare(found["subject"]))):
                return bare
    return _bare(plain)


def _of_whom(whose: str, groups: Sequence[frozenset[str]]) -> Subject:
    """What is said of somebody whom another clause names: the name, with one of the other words of both clauses."""
    names = frozenset[str]().union(*(roots_of(name) for name in names_and_numbers(f"{whose}, {whose}.")))
    named = [group for group in _groups(whose) if group & names]
    said = frozenset[str]().union(*(group for group in (*_groups(whose), *groups) if group not in named))
    return Subject((*named, said) if said else tuple(named))


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
        root: frozenset((*roots_of(found["role"]), *roots_of(found["name"])))
        for found in _CALLED.finditer(words)
        for root in (*roots_of(found["role"]), *roots_of(found["name"]))
    }
    latin = [term for match in _LATIN.finditer(words) for term in tokenize(match[0]) if term not in _GENERIC]
    yield from dict.fromkeys(called.get(root, _alike(root)) for term in latin for root in (_root(term),))
    for run in _CHINESE.finditer(words):
        yield from (_alike(part) for part in _words_of(run[0]))


def _words_of(run: str) -> Iterator[str]:
    """The words of a Chinese phrase, as far as they are told apart by what says nothing."""
    parts = [part for part in _EMPTY.split(run) if part]
    parts = [part for part in parts if len(part) > 1] or parts[:1] or ([run] if key_terms(run) else [])
    for part in parts:
        kin = _KIN.fullmatch(part)
        yield from (kin["kin"], kin["rest"]) if kin else (part,)


def _alike(word: str) -> frozenset[str]:
    """A word with others for the same people."""
    return next((same for same in _SAME if word in same), frozenset((word,)))


def roots_of(text: str) -> frozenset[str]:
    """The words of a text, each without its endings."""
    return frozenset(map(_root, tokenize(text)))


def _root(term: str) -> str:
    """A stem without the ending that parts noun, adjective and plural: allergy, allergies and allergic are one."""
    for ending in ("ical", "ist", "ic", "al", "i", "y", "e"):
        if term.isascii() and term.endswith(ending) and len(term) - len(ending) >= _LEAST_ROOT:
            return term[: -len(ending)]
    return term


def have_in_common(about: str, text: str) -> bool:
    """Whether a text holds a word of what is to be forgotten that says more than that it is to be forgotten."""
    if is_cjk(about) and any(len(word) > 1 for run in _common_runs(about, text) for word in _words_of(run)):
        return True
    return not (roots_of(_CHINESE.sub(" ", about)) & roots_of(text)) <= WISHING


def held_of(about: str, text: str) -> float:
    """How much of a Chinese wish a text holds: 1 for a word of it, or another for the same; else the share of a word.

    Of 看房 "看浦东的房子" holds all in pieces; of 耳朵 "耳压" holds the half.
    """
    if have_in_common(about, text) or _concepts_named(about) & _concepts_named(text):
        return 1.0
    words = [word for found in _CHINESE.finditer(about) for word in _words_of(found[0]) if 1 < len(word) <= _WORD]
    shares = [sum(one in text and one not in _COMMON for one in word) / len(word) for word in words]
    return max((share * _IN_PIECES for share in shares if share >= 1 / _LEAST_SHARE), default=0.0)


_WORD: Final = 3
"""Characters of a Chinese word that may stand in pieces."""
_LEAST_SHARE: Final = 2
_IN_PIECES: Final = 0.9
"""What a word counts for that stands in pieces."""
_COMMON: Final = frozenset(
    "的了是在不有这那个人大小上下来去中我你他她们说要会能好多一二三四五六七八九十年月日天点时家出过老开发成事子头面前后里外"
)


def _concepts_named(text: str) -> frozenset[int]:
    return frozenset[int]().union(*(numbers for start, end, numbers in of_chinese(text) if end - start > 1))


def shared_words(about: str, texts: Sequence[str]) -> list[str]:
    """The words, as a `Subject` has them, that name what some texts and a wish to forget have in common.

    In English those that the texts write as a name; in Chinese the longest runs of characters that say something.
    """
    if is_cjk(about):
        runs = (run for text in texts for run in _common_runs(about, text))
        return list(dict.fromkeys(word for run in runs for word in _words_of(run) if len(word) > 1))
    own = roots_of(about)
    names = (name for text in texts for name in names_and_numbers(f"so {text}") if not name[0].isdigit())
    return list(dict.fromkeys(root for name in names for root in sorted(roots_of(name) & own)))


def _common_runs(about: str, text: str) -> Iterator[str]:
    """The runs of two Chinese characters and more that two texts have in common, the longest from each place."""
    place = 0
    while place < len(about) - 1:
        length = next(
            (n for n in range(min(_LONGEST_RUN, len(about) - place), 1, -1) if about[place : place + n] in text), 0
        )
        if length and _CHINESE.fullmatch(run := about[place : place + length]):
            yield run
        place += max(1, length)


WISHING: Final = roots_of(
    "forget forgot forgotten delete erase remove wipe clear drop lose lost bin scrap toss let go going gone put take"
    " took taken get got give keep kept hold held hang carry carrying remember memory record note book list head"
    " mind save store stay leave left stop quit rather better feel like want wish need please thanks know knew tell"
    " told say said mention talk hear heard thing stuff bit part business matter whatever everything anything nothing"
    " something nobody word trace time day year come bring pop hurt sit sitting lie lying around away off out back"
    " down now more longer never ever good best one two would could should might may can will make made do done be"
    " been have had has"
)
"""Words of wishes to forget, whatever they are about."""
