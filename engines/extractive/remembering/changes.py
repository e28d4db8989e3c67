"""Finds what of an earlier memory a later one replaces: a correction in ordinary words, and the clause it corrects.

A change is announced ("not 8k any more", "has moved to", 改到周四了) and says of what it is a change by a word that the
earlier clause has, too. Where both give a value of one kind (a day, an amount), one such word is enough. Where they do
not, people mostly go on about the same thing ("now the studio is open"): there a change has to end something, or to
name it, by two such words. In a long talk about one thing its words are in all that is told, and tell nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.alike import are_alike, are_of_one_measure
from agentic_memory_bank.engines.extractive.remembering.clauses import (
    clause_spans,
    subject_terms,
    value_kinds,
)
from agentic_memory_bank.engines.extractive.remembering.corrections import corrected_in
from agentic_memory_bank.engines.extractive.remembering.life import speaks_of_kin
from agentic_memory_bank.engines.extractive.remembering.successors import named_anew, succeeded_clause
from agentic_memory_bank.engines.extractive.remembering.told_apart import has_other_number
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

LEAST_SHARED: Final = 2
"""Words that a change and a clause share, from which the clause is replaced whatever values they give: where the change
ends something, or one of the words is of a name."""
MOST_OF: Final = 0.5
"""Share of the words of a Chinese clause that a change has to name, as two of three are no words."""
_HELD: Final = 4_096
"""Texts of which it is held what they announce: in a long conversation each is compared with all before it."""

_KIN: Final = frozenset(
    tokenize(
        "mum mom mam mother dad father parents sister brother wife husband partner girlfriend boyfriend fiance son"
        " daughter kid kids baby child children niece nephew cousin aunt uncle gran grandma nan grandpa grandad"
        " grandmother grandfather friend mate neighbour neighbor boy girl dog cat puppy kitten"
    )
)
"""Of whom much is told: what is said of one of them again is not the same thing anew."""
_KIN_CHINESE: Final = lazy_pattern(
    r"我?们?家?(?:爸爸?|妈妈?|姐姐?|妹妹?|哥哥?|弟弟?|爷爷|奶奶|外[婆公]|姥[姥爷]|儿子|女儿|闺女|孩子|老[婆公]|媳妇|[男女]?朋友|同学|邻居|[大二三小]宝|老[大二三幺])"
)
_GONE: Final = lazy_pattern(r"不干|离职|辞职|退休|调走|走了|不做了|没了|换人")
"""What becomes of somebody whose place another one takes."""
_NICKNAME: Final = lazy_pattern(r"\A\W*(?:[小老阿晓][\u4e00-\u9fff]|([\u4e00-\u9fff])\1)(?:说|也|都|最近|现在)?\W*\Z")

_CHANGE: Final = lazy_pattern(
    r"\b(?:any ?more|no longer|instead|rather than|no more|switch(?:ed|ing)|switch to|chang(?:ed|ing|es? (?:to|from))"
    r"|moved|moving|moves? (?:it|to|the|our|my|in|out|back)"
    r"|shift(?:ed|s)?|push(?:ed|ing)|postpon(?:ed|ing)|resched\w{1,8}|delayed"
    r"|(?:is|are|was|were|'s|'re) (?:now|out|off|dead|gone|over|up to|down to)|now|these days"
    r"|(?:up|down) to|(?:went|gone|goes|going|put|bumped|raised|cut) (?:up|down|back)|rose|dropped|scratch that"
    r"|correction|turns out|replac(?:ed|es|ing)|t(?:ook|akes?|aking) over|used to|cancel(?:l?ed)|called off"
    r"|(?:ain't|not) happening|swapped|settled on|retired|quit|so it's"
    r"|left(?=\W*\Z|,| (?:the |my |our )?(?:company|firm|job|team|club|band|us)\b)|(?:double|over) ?booked|can't do"
    r"|signs? off|sold|stepp(?:ed|ing) down|g(?:iven|ave|ot) (?:up|rid of)|bumped|brought forward|extended|done for"
    r"|put (?:off|back)|called off|scrapped|ditched|traded|upgraded|transferred|packed (?:it )?in"
    r"|f[ae]lls? through"
    r"|in the meantime|(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b[^.,]{0,40}\b(?:un)?till? further notice"
    r"|(?:scratch|scrap|forget|ignore) what i (?:said|told you)"
    r"|from now on|got (?:it|that) wrong|my mistake|misremembered"
    r"|not (?:on )?(?=\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b"
    r"|改|换|变成|变了|不(?![完到好起下])[^，。；]{0,12}了|停了|搬|调(?:到|整|成)|[涨降掉升加减]到|涨价|降价|[涨降](?:了|租|薪)|跳槽|离职|辞职|退租|以后不|现在|原来|取消|不再|算了|其实|不对"
    r"|推迟|延[期后]|顺延|提前|[挪移]到|黄了|泡汤|吹了|散了|还是[^，。]{0,8}吧|退(?:了|休)|辞了|走了|没了|关了|[记说弄搞看]错了?|\d[\d.]{0,8}[万千百]?[个间人块元斤名位]{0,2}了"
    r"|(?:提高|增加|降低|减少|压缩|追加|扩大|缩短|延长|缩减)(?:到|至|为|成)|最终|最后(?=[^，。]{0,4}[定选敲谈报预总价])",
    re.IGNORECASE,
)
"""How people announce that something is not as it was, whether they say so or only ponder it."""
_PONDERED: Final = lazy_pattern(
    r"\b(?:wonder(?:ing)?|(?<!after )considering|debat(?:ed|ing)(?! (?:club|team|society))|tempted|whether|unsure"
    r"|not sure|should (?:i|we)|if (?:i|we)|thinking (?:of|about)|think about|can you|could you"
    r"|how (?:can|do|should|to)|what if|now i (?:understand|feel)"
    r"|(?:now i(?:['’]?m| am)|i(?:['’]?m| am) now) (?:\w+ )?(?:wondering|thinking|worried|curious|hoping|trying"
    r"|looking|feeling|excited|nervous|stressed|anxious)|i(?:['’]?m| am| feel) (?:\w+ )?(?:worried|excited|nervous"
    r"|stressed|anxious) now)\b"
    r"|要不要|会不会|是不是该|[在正]考虑|(?<!现)在想",
    re.IGNORECASE,
)
"""What somebody only ponders, asks or feels: nothing has changed yet."""
_TURN: Final = lazy_pattern(
    r"\b(?:but|because|so|while|though|although|then)\b|[:：]|但是?|不过|因为|所以", re.IGNORECASE
)
"""Where a clause turns from what is pondered to what has happened, or back."""
_END: Final = lazy_pattern(
    r"\b(?:any ?more|no longer|instead|rather than|no more|switch(?:ed|ing)|switch to"
    r"|(?:chang|mov)(?:ed|ing)\b[^,.]{1,40}\bto"
    r"|scratch that|correction|replac(?:ed|es|ing)|t(?:ook|akes?|aking) over|cancel(?:l?ed)|called off"
    r"|(?:ain't|not) happening|swapped|settled on|retired|quit|can't do|sold|stepp(?:ed|ing) down"
    r"|g(?:iven|ave|ot) (?:up|rid of)|done for|not\b[^,.]{1,40}\bnow)\b"
    r"|改|换|变成|变了|不(?![完到好起下])[^，。；]{0,12}了|停了|搬|调(?:到|整|成)|跳槽|离职|辞职|退租|以后不|取消|不再|算了"
    r"|退(?:了|休)|辞了|走了|没了|关了",
    re.IGNORECASE,
)
"""How they announce that something is over, or another thing in its place."""
_CALLED_OFF: Final = lazy_pattern(
    r"\b(?:cancel(?:l?ed)|called off|scrapped|(?:ain't|not) happening)\b|取消|不[办做搞考]了|泡汤|黄了", re.IGNORECASE
)
"""How they announce that something will not be at all."""
_AGENT: Final = lazy_pattern(r"^[^把让]*[把让]")
"""Who does something to what follows: in Chinese that is what changes."""
_NOT: Final = lazy_pattern(r"\bnot (?:on |the )?(\w+)", re.IGNORECASE)
"""A value that is said not to be the one."""
_JOINTS: Final = lazy_pattern(r"(?<![\s,;，；、])\s*+(?!(?<=\d),\d)([,;，；、][\s,;，；、]*+)")
"""What joins clauses, more than once where one between them is gone."""
_OPENING_JOINT: Final = lazy_pattern(r"([.!?] |[。！？])[,;，；、] ?|(?<=[.!?])[,;](?= )")
"""What joins clauses where the first of a sentence is gone."""
_SCRATCHED: Final = lazy_pattern(
    r"\b(?:the|my|our|that) (?P<topic>[\w'-]{3,20}(?: [\w'-]{3,20})?) (?:thing|bit|part|stuff|business|rule)\W{1,3}"
    r"(?:scratch|scrap|forget|ignore) (?:that|what i (?:said|told you))\b",
    re.IGNORECASE,
)
"""What is taken back by what it is about: "the walking thing, scratch what I said"."""
_DENIED: Final = lazy_pattern(r"(?P<topic>[^不]{0,20})不(?![完到好起下])(?P<rest>[^不]{1,20})")


@lru_cache(maxsize=_HELD)
def announces_change(text: str) -> bool:
    """Whether a text says that something is not as it was."""
    return _CHANGE.search(text) is not None or any(named_anew(text))


@lru_cache(maxsize=_HELD)
def tells_change(clause: str) -> bool:
    """Whether a clause announces a change that somebody does not only ponder, ask for or feel about."""
    if not announces_change(clause):
        return False
    return any(announces_change(part) and not _PONDERED.search(part) for part in _TURN.split(clause))


def replaced(new: str, old: str, topical: frozenset[str] = frozenset()) -> list[Span]:
    """The clauses of an earlier memory that a later one replaces; none where it announces no change.

    Args:
        new: What is said now.
        old: What was said earlier, by the same speaker.
        topical: Words that say nothing of what has changed, as `topical_terms` gives them, unless the earlier clause
            says nothing else, and its value is like the new one, or it is called off.
    """
    wrong = [*corrected_in(new, old)]
    if wrong or not announces_change(new):
        return wrong
    if anew := [*succeeded_clause(new, old, clause_spans(old))]:
        return anew
    whole = _announced(new)
    if not whole.said:
        return []
    whole = replace(whole, denied=[*_denied_in(new, old)])
    change = whole.without(topical)
    clauses = [(span, old[slice(*span)]) for span in clause_spans(old)]
    gone: list[Span] = []
    for (span, clause), (value, figure) in zip_longest(clauses, clauses[1:], fillvalue=((0, 0), "")):
        is_figure = change.kinds & value_kinds(figure) and not change.kinds & value_kinds(clause) and _is_bare(figure)
        if is_figure and change.own & subject_terms(clause) and not names_and_numbers(figure) <= change.values:
            gone.append(value)
        elif change.replaces(clause) or (topical and whole.replaces(clause) and whole.tells_all_of(clause)):
            gone.append(span)
    return [span for span in gone if has_other_number(new, old[slice(*span)])] or gone


@dataclass(frozen=True, slots=True)
class _Change:
    """What a text announces that is not as it was."""

    said: frozenset[str]
    """The words that may tell what has changed."""
    ended: frozenset[str]
    """Those of them that stand where something is over, or another thing is in its place."""
    named: frozenset[str]
    """The words of the names in the text."""
    kinds: set[str]
    values: set[str]
    own: frozenset[str]
    """The words of the very clauses that announce it."""
    clauses: Sequence[str] = ()
    """These clauses."""
    denied: Sequence[str] = ()
    """What is not so any more."""

    def without(self, terms: frozenset[str]) -> "_Change":
        """The same as far as other words tell of it."""
        return replace(self, said=self.said - terms, ended=self.ended - terms, own=self.own - terms)

    def tells_all_of(self, clause: str) -> bool:
        """Whether an earlier clause is about nothing else, in Chinese little, and has a like value or is called off."""
        terms = subject_terms(clause)
        least = MOST_OF if is_cjk(clause) else 1.0
        if len(terms & self.said) < least * len(terms):
            return False
        return any(_CALLED_OFF.search(one) or are_alike(one, clause) for one in self.clauses)

    def replaces(self, clause: str) -> bool:
        """Whether an earlier clause says what is not so any more."""
        shared = _words(self.said & subject_terms(clause), clause)
        ours = names_and_numbers(clause)
        if not shared or (ours and ours <= self.values):  # it says the very same
            return False
        if all(word in _KIN or _KIN_CHINESE.fullmatch(word) for word in shared):
            return False
        if all(map(_NICKNAME.fullmatch, shared)) and not any(map(_GONE.search, self.clauses)):
            return False
        names = self.named | _name_terms(clause)
        if names.issuperset(shared) and not any(are_of_one_measure(one, clause) for one in self.clauses):
            return False
        if self.kinds & value_kinds(clause) or any(word in text for word in shared for text in self.denied):
            return True
        is_named = not names.isdisjoint(shared)
        sure = shared if is_named else _words(self.ended & subject_terms(clause), clause)
        return len(sure) >= LEAST_SHARED


@lru_cache(maxsize=_HELD)
def _announced(new: str) -> _Change:
    """What a text announces, whatever it is compared with: a long conversation compares each with all."""
    changed = [*changed_clauses(new)]
    own = [clause for _, clause in _told_changes(new)]
    return _Change(
        frozenset[str]().union(*map(subject_terms, changed)),
        frozenset[str]().union(*(subject_terms(clause) for clause in changed if _END.search(clause))),
        _name_terms(new),
        set[str]().union(*map(value_kinds, changed)),
        names_and_numbers(new) - names_and_numbers(" ".join(_NOT.findall(new))),
        frozenset[str]().union(*map(subject_terms, own)),
        own,
    )


def _denied_in(new: str, old: str) -> Iterator[str]:
    """What a text says is not so any more of an earlier one."""
    if value_kinds(new) & value_kinds(old):
        yield from (found["topic"].casefold() for found in _SCRATCHED.finditer(new))
    yield from (word for clause in clause_spans(new) for word in _denied(new[slice(*clause)], old))


def _name_terms(text: str) -> frozenset[str]:
    return frozenset(term for name in names_and_numbers(text) if name[0].isalpha() for term in tokenize(name))


def _is_bare(clause: str) -> bool:
    """Whether a clause is hardly more than a value: what it is a value of stands in the clause before it."""
    return len(subject_terms(clause)) <= 1


def _denied(clause: str, old: str) -> Iterator[str]:
    """The Chinese words that a clause says are not so any more: what does not go on, or what nobody does with it.

    A clause with a subject of its own says nothing of what an earlier memory has another subject for: "the wedding is
    not in Nanjing" does not move whoever works there. Nor is somebody gone who does not do something any more.
    """
    found = _DENIED.search(clause) if is_cjk(clause) else None
    if found is None:
        if is_cjk(clause) and "停了" in clause:
            yield clause.partition("停了")[0]
        return
    topic, known = subject_terms(found["topic"]), subject_terms(old)
    if clause.rstrip().endswith(("了", "了哈", "了啊")) and not _is_somebody(found["topic"], clause):
        yield found["topic"]
    if not topic or topic & known:
        yield found["rest"]


def _is_somebody(topic: str, clause: str) -> bool:
    """Whether somebody only does not do something any more; who does not go on at all is gone with their work."""
    return speaks_of_kin(topic) or (_NICKNAME.match(topic) is not None and "不干" not in clause)


def changed_clauses(text: str) -> Iterator[str]:
    """The clauses that tell of a change, each with the one before it, where what changes may stand."""
    return (f"{before}, {_AGENT.sub('', clause)}" for before, clause in _told_changes(text))


def _told_changes(text: str) -> Iterator[tuple[str, str]]:
    """The clauses that tell of a change, each behind the one before it."""
    before = ""
    for start, end in clause_spans(text):
        clause = text[start:end]
        if tells_change(clause):
            yield before, clause
        before = clause


def without(text: str, spans: list[Span]) -> str:
    """What is left of a text without some of its clauses."""
    left, end = "", 0
    for start, stop in spans:
        left, end = left + text[end:start], stop
    return _OPENING_JOINT.sub(r"\1", _JOINTS.sub(_joint, left + text[end:])).strip(" ,;，；、\n")


def in_both(text: str, other: str) -> str:
    """The clauses of a text that another one holds, too."""
    return without(text, [span for span in clause_spans(text) if text[slice(*span)].strip(" -") not in other])


def _joint(found: re.Match[str]) -> str:
    last = found[1].rstrip()[-1]
    return last if is_cjk(last) or last in "，；、" else f"{last} "


def _words(terms: frozenset[str], clause: str) -> list[str]:
    """Terms as words: in Chinese, where terms overlap, the longest runs of them."""
    words: list[str] = []
    end = 0
    for place in range(len(clause) - 1):
        if clause[place : place + 2] not in terms or not is_cjk(clause[place : place + 2]):
            continue
        if words and place < end:
            words[-1] += clause[place + 1]
        else:
            words.append(clause[place : place + 2])
        end = place + 2
    return [*words, *(term for term in terms if not is_cjk(term))]
