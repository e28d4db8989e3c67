"""Finds the clause that a message of a later conversation ends, hands to somebody else, or gives another value of.

Who corrects themselves days later does not repeat their words: "I don't swim any more" ends "I go swimming before
work", "Leena signs off the invoices now" takes over from whoever approves them, "the landlord put us up to 1,240" is
about the rent. What is ended has to be named by all of its words; a role by its object; a value by what it is about
and by a like value, which is why only one memory may fit (`like_value`). What is told of somebody else's things, of
another thing besides, or of what might be, changes nothing.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.alike import are_alike, are_of_one
from agentic_memory_bank.engines.extractive.remembering.changes import announces_change, tells_change
from agentic_memory_bank.engines.extractive.remembering.clauses import (
    VERB,
    clause_spans,
    subject_terms,
    value_kinds,
)
from agentic_memory_bank.engines.extractive.remembering.ended import LONGEST, ended_in
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

LONGEST_OLD: Final = 2_000
"""Characters of an earlier memory that is looked into."""

_OTHERS: Final = (
    r"sisters?|brothers?|mum|mom|mother|dad|father|parents|folks|friends?|mates?|bestie|neighbou?rs?|colleagues?"
    r"|co-?workers?|cousins?|sons?|daughters?|kids?|aunts?|aunties?|uncles?|niece|nephew|gran|grandma|grandpa|grandad"
    r"|flatmates?|roommates?|boyfriend|girlfriend|husband|wife|partner|in-laws"
)
_OF_ANOTHER: Final = lazy_pattern(
    rf"\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Tt]he) (?:[a-z]+ )?(?P<who>{_OTHERS})(?:'s|s') "
    rf"|\A\W*(?:(?:[Aa]nd|[Bb]ut|[Ss]o|[Nn]ow|[Aa]lso|[Aa]pparently)\W+)?"
    rf"(?:(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Tt]he"
    rf"|[Aa]) (?:[a-z]+ )?(?P<does>{_OTHERS})|(?P<parent>[Mm]um|[Mm]om|[Dd]ad))\b"
    r"(?! and (?:I|me|we)\b)"
    r"|(?<![\w'])(?P<name>[A-Z][a-z]+)'s (?!on\b|in\b|at\b|now\b|not\b|off\b|out\b"
    r"|the\b|been\b|gone\b|an?\b|\w+ing\b|\w+ed\b)"
    r"(?=[a-z])"
)
"""Somebody whose things are spoken of, or who does something themselves."""
_OF_ANOTHER_CHINESE: Final = lazy_pattern(
    r"\A\W*(?:我们?的?|咱们?)?(?P<who>表[姐妹哥弟]|堂[姐妹哥弟]|姐夫|嫂子|姐姐?|妹妹?|哥哥?|弟弟?|同事|朋友|闺蜜|同学|邻居|室友|女儿|儿子|闺女|老板(?!娘)"
    r"|领导|隔壁|人家|别人|楼[上下]|妈妈?|爸爸?|爷爷|奶奶|姥姥|姥爷|外婆|外公|婆婆|公公|亲戚|叔叔|舅舅|姑姑|阿姨)"
)
_OF_PARTNER: Final = lazy_pattern(
    r"\A\W*我?(?P<who>老婆|老公|媳妇|妻子|丈夫|爱人|对象|老同学|隔壁|人家|别人|[老小阿][\u4e00-\u9fff]家)(?![和跟与]我)"
)
"""Of whom much is told that is the speaker's own as well, but no weight and no birthday."""
_CALLED: Final = lazy_pattern(r" [A-Z][\w-]+")
_BESIDES: Final = lazy_pattern(
    r"\b(?:also|another|as well|too|besides|on top of|in addition|a second|extra)\b"
    r"|也|另外|此外|再(?:加|报|买|订)|还(?:报|有|要|加|买|学)",
    re.IGNORECASE,
)
"""What comes beside what there is."""
_SUPPOSED: Final = lazy_pattern(
    r"\b(?:[Ii]f|would|might|could|[Mm]aybe|[Pp]erhaps|[Ss]uppose|imagine|wish"
    r"|thinking (?:of|about)|[Ss]hould (?:I|we))\b"
    r"|要是|如果|假如|万一|可能|也许|说不定|打算|考虑|想(?=换|改|辞|搬|卖)|[吗？?]",
)
_SAYS: Final = lazy_pattern(r"\b(?:says?|said|thinks?|thought|reckons?)\b|[说讲]|觉得", re.IGNORECASE)
_PREPOSITION: Final = lazy_pattern(r"\b(?:at|in|on|for|with|from|of|by|to)\b", re.IGNORECASE)
_FOLLOWS: Final = lazy_pattern(r"\s*(?:so|which|that's why|hence)\b|\s*(?:所以|因此|这样)", re.IGNORECASE)
"""What is only so because of what stands before it."""
_STOP: Final = lazy_pattern(r"[.!?。！？\n]|\s-\s")
_QUOTED: Final = lazy_pattern(r"[\"“”「『]")

_PRONOUN: Final = (
    r"(?!(?:It|That|This|They|There|He|She|The|My|Our|Your|What|Not|You|When|If|So|And|But|Now|Then|Today)\b)"
)
_HAS_NAME: Final = lazy_pattern(rf"(?<=[\w,] ){_PRONOUN}[A-Z][a-z]+")
_SOMEBODY: Final = lazy_pattern(
    rf"(?<=[\w,] )(?:{_PRONOUN}[A-Z][a-z]+|[Hh]e|[Ss]he|[Tt]hey)\b|[他她]|[小老阿晓][\u4e00-\u9fff](?=[也都又最现]|\Z)"
)
_LAST_CLAUSE: Final = lazy_pattern(r"[^,;.!?，。；！？]*\Z")
_SPEAKER: Final = lazy_pattern(r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur)\b")
_IDLE: Final = frozenset(
    tokenize("it that this them him her go do have be get use want need like see really just still at all much there")
)

_STATES: Final = (
    # what has happened; the state that is over with it
    (
        lazy_pattern(
            r"\b(?:br(?:oke|oken|eaking) up|split(?:ting)? (?:up|with|from)|(?:got|getting|are|we're) divorced"
            r"|call(?:ed|ing) off (?:the|our) engagement)\b|分手了?|离婚了|分了(?=[，。！]|\Z)",
            re.IGNORECASE,
        ),
        lazy_pattern(
            r"\b(?:(?:my|our) (?:ex-?)?(?:boyfriend|girlfriend|partner|fianc[eé]e?|husband|wife)|seeing|dating"
            r"|going out with|engaged to|married to)\b|(?:男|女)朋友|[男女]友|对象|老公|老婆|未婚[夫妻]|谈恋爱|在一起",
            re.IGNORECASE,
        ),
    ),
    (
        lazy_pattern(
            r"\b(?:hand(?:ed|ing) in my notice|g(?:a|i)ven? (?:in )?my notice|quit (?:my|the) job|quit work"
            r"|left (?:my|the) job|I(?:'ve)? retired)\b"
            r"|(?:\A\W*|[,.;!] ?|\bI\b[^,.;]{0,20}\b)(?:resigned|(?:got|was|been) (?:laid off|made redundant|let go"
            r"|fired|sacked))\b"
            r"|我(?!们|家|老[公婆]|[男女]|爸|妈|哥|姐|弟|妹|儿|闺|爱人|媳|对象|同|朋)[^，。]{0,8}(?:辞职|离职|被裁|跳槽|退休)",
            re.IGNORECASE,
        ),
        lazy_pattern(
            r"\bI(?:'m| am)?(?: \w+ly)? work(?:ing)? (?:as|at|for|in)\b|\bmy job\b|我[^，。]{0,12}(?:上班|工作)",
            re.IGNORECASE,
        ),
    ),
    (
        lazy_pattern(r"\bmoved out\b|搬走了|搬出去", re.IGNORECASE),
        lazy_pattern(
            r"\b(?:liv(?:es?|ing)|stay(?:s|ing)?|shar(?:es?|ing)) (?:with|at)\b|\b(?:flatmate|roommate|lodger)\b"
            r"|住在?(?:我家|我们家|我这)|(?:一起|合)住|跟我们?住",
            re.IGNORECASE,
        ),
    ),
)
"""What ends with what."""
_PARTED: Final = lazy_pattern(r"[跟和与](?P<who>[\u4e00-\u9fff]{2,3})(?=分手|离婚|分了)")

_DOER: Final = lazy_pattern(
    r"\A\W*(?:(?:so|and|but|now|ok(?:ay)?|from now on),? )*(?:it's )?"
    rf"(?P<who>{_PRONOUN}[A-Z][a-z]*|(?:my|our|the) [a-z]+)(?: who"
    rf"| that)?(?P<aux>(?:'s|'ll|'m|'re| is| are| will| has)?)"
    r"(?: going to| gonna| now| already)? (?P<deed>[a-z]+(?: off| up| over| after| out)?)\b(?P<rest>[^,;.!?]{2,80})"
)
"""Who does something, and to what."""
_TURNED: Final = lazy_pattern(r"\b(?:now|nowadays|these days|from now on|instead|tak(?:es|ing|en) over|took over)\b")
_DOES: Final = lazy_pattern(r"\A(?:do(?:es|ing)?|handl(?:es?|ing)|tak(?:es?|ing|en) over|took over|cover(?:s|ing)?)\Z")
"""What stands for whatever was done, where a definite thing follows."""
_DEFINITE: Final = lazy_pattern(r"\A(?: all)? (?:the|my|our|that|those|these)\b")
_DEED: Final = frozenset(
    tokenize(
        "approve sign review check decide handle manage run lead own cover deal answer organise organize coordinate"
        " schedule authorise look drive pick collect cook clean teach coach mow feed walk pay book do drop"
    )
)
"""What somebody does who is in charge of a thing."""
_CHARGE: Final = frozenset(
    tokenize("approve sign review check decide handle manage run lead own cover organise coordinate authorise look do")
)
_DOER_CHINESE: Final = lazy_pattern(
    r"(?:归|由|找|让|交给|请)(?P<who>[\u4e00-\u9fffA-Za-z]{1,5}?)(?:来|去)?(?:管|负责|做|弄|带|接|审|批|签|送|教|订|买|开|看|写|安排|联系|照顾|处理|对接)"
    r"|(?:\A|[，。])(?:现在|以后)?(?P<who2>[老小阿][\u4e00-\u9fff]|[\u4e00-\u9fff](?:姐|哥|总|师傅))(?:来|在)?(?:管|负责|审批|签字|带|接送)"
)
_TURNED_CHINESE: Final = lazy_pattern(r"现在|以后|如今|改|换|接手|了\W*\Z")

_OVER_TO: Final = lazy_pattern(
    r"\b(?:(?:switched|changed|moved|gone|went|swapped|going|signed)(?: up| over| across)(?: to| with)"
    r"|(?:switched|changed|swapped)(?: to)|(?:gone|went|going|go) with|hired|chose|picked)"
    r" (?P<new>[A-Z][\w&'-]+(?: (?:& )?[A-Z][\w'-]+)?)(?: (?:for|to do|as) (?:the"
    r"|our|my) (?P<thing>[a-z]+(?: [a-z]+)?))"
)
"""Which one is had now, and for what."""
_GOES_TO: Final = lazy_pattern(
    r"(?:去|飞|定在|订在|选在|放在)(?P<old>(?![了的这那哪])[\u4e00-\u9fff]{2,4}?)(?=[玩旅过办吃住出度开，。！]|\Z)"
)
_GOES_INSTEAD: Final = lazy_pattern(
    r"(?:算了|还是|改|换)[^，。]{0,4}(?:去|飞|到|在)(?P<new>[\u4e00-\u9fff]{2,4}?)(?=[玩旅过办吃住出度开吧了，。！]|\Z)"
)

_MORE: Final = lazy_pattern(r"\bupped\b|\bbumped\b|\bput (?:me|us) (?:up|down|on)\b", re.IGNORECASE)


def may_change(text: str) -> bool:
    """Whether a text may say that something is not as it was."""
    if announces_change(text) or _MORE.search(text):
        return True
    return len(text) <= LONGEST and (_over(text) or _OVER_TO.search(text) is not None)


def is_of_another(new: str, old: str) -> bool:
    """Whether all that is said to change is somebody else's, of whom an earlier text says nothing."""
    said = [new[slice(*span)] for span in clause_spans(new)]
    if said and _SAYS.search(said[0]) and _is_theirs(said[0], old):
        return True
    changed = [clause for clause in said if may_change(clause)]
    return bool(changed) and all(_is_theirs(clause, old) for clause in changed)


def is_somebody_elses(new: str, old: str) -> bool:
    """Whether the values that a text gives are of somebody of whom an earlier text says nothing: "Ann's birthday"."""
    said = [new[slice(*span)] for span in clause_spans(new)]
    valued = [clause for clause in said if value_kinds(clause)] or said
    if (partner := _OF_PARTNER.match(new)) is not None:
        return partner["who"] not in old
    return is_of_another(new, old) or (bool(valued) and all(_is_theirs(clause, old) for clause in valued))


def _is_theirs(clause: str, other: str) -> bool:
    plain = clause.replace("’", "'")
    found = [*(_OF_ANOTHER_CHINESE if is_cjk(plain) else _OF_ANOTHER).finditer(plain)]
    people = [next(filter(None, one.groups())) for one in found]
    people += [called[0] for one in found if (called := _CALLED.match(plain, one.end()))]
    if is_cjk(plain):
        return bool(people) and not any(who in other for who in people)
    known = frozenset(tokenize(other))
    return bool(people) and not any(known.issuperset(tokenize(who)) for who in people)


def outdated(new: str, old: str) -> list[Span]:
    """The clauses of an earlier memory that a later one ends, or gives to somebody else, without repeating its words.

    Args:
        new: What is said now.
        old: What was said earlier, by the same speaker.
    """
    if len(new) > LONGEST or len(old) > LONGEST_OLD or _is_no_change(new):
        return []
    plain = new.replace("’", "'")
    readers = _CHINESE_READERS if is_cjk(new) else _READERS
    tests = [test for reader in readers if (test := reader(plain)) is not None]
    spans = list(clause_spans(old)) if tests else []
    gone = [span for span in spans if any(test(old[slice(*span)]) for test in tests) and not _differ(old, span, new)]
    ended = frozenset[str]().union(*(_things(thing) for thing, _ in ended_in(plain)))
    led = [before for before, span in pairwise(spans) if span in gone and _goes_with(old, before, span, ended)]
    follow = [after for span, after in pairwise(spans) if span in gone and _FOLLOWS.match(old[slice(*after)])]
    return sorted({*gone, *led, *follow})


def _goes_with(text: str, before: Span, span: Span, ended: frozenset[str]) -> bool:
    """Whether a clause only adds to the one before it, and says nothing by itself: "the job, three days at a bank".

    What is over may as well be one of several things: "the statin at night, ramipril in the morning".
    """
    clause = text[slice(*span)]
    if is_cjk(clause) or VERB.search(clause) or _STOP.search(text[before[1] : span[0]]):
        return False
    return ended.isdisjoint(_things(_PREPOSITION.split(clause)[0]))


def like_value(new: str, old: str) -> list[Span]:
    """The clauses of an earlier memory that give another value of what a later one is about: it may be another's.

    Args:
        new: What is said now.
        old: What was said earlier, by the same speaker.
    """
    if len(new) > LONGEST or len(old) > LONGEST_OLD or _is_no_change(new):
        return []
    said = [new[slice(*span)] for span in clause_spans(new)]
    told = [(one, f"{before}, {one}") for before, one in zip(["", *said], said, strict=False)]
    told = [(one, both) for one, both in told if tells_change(one) or tells_change(both) or _MORE.search(both)]

    def gives(clause: str) -> bool:
        return any(are_alike(one, clause) and are_of_one(both, clause) for one, both in told)

    return [span for span in clause_spans(old) if gives(old[slice(*span)]) and not _differ(old, span, new)]


def is_supposed(said: str) -> bool:
    """Whether something is only supposed, asked or considered."""
    return _SUPPOSED.search(said) is not None


def _is_no_change(new: str) -> bool:
    return any(pattern.search(new) for pattern in (_BESIDES, _SUPPOSED, _QUOTED))


def _differ(old: str, span: Span, new: str) -> bool:
    """Whether a clause of an earlier text is of somebody of whom the later one says nothing."""
    return _is_theirs(old[slice(*span)], new)


# --- what is over ----------------------------------------------------------------------------------------------------

Test = Callable[[str], bool]
"""Whether an earlier clause is what is meant."""


def _over(text: str) -> bool:
    return bool(ended_in(text)) or any(event.search(text) for event, _ in _STATES)


def _given_up(new: str) -> Test | None:
    """What is not done any more, by all of its words."""
    found = [(_things(thing), _doer(new[:start])) for thing, start in ended_in(new)]
    given = [(words, who) for words, who in found if words]
    given = [(words, who) for words, who in given if who.casefold() not in ("he", "she", "they", "他", "她")]
    return (lambda clause: any(words <= _things(clause) and who in clause for words, who in given)) if given else None


def _doer(until: str) -> str:
    """Who a clause begins with by name, or as "she"; empty where it is the speaker, or nobody."""
    clause = _LAST_CLAUSE.search(until)
    words = clause[0] if clause else ""
    found = None if _SPEAKER.search(words) else _SOMEBODY.search(f", {words.lstrip()}")
    return found[0] if found else ""


@lru_cache(maxsize=4096)
def _things(text: str) -> frozenset[str]:
    return frozenset(tokenize(text)) - _IDLE


def _state_over(new: str) -> Test | None:
    """A state that something has ended; of a name that both give, or of none."""
    states = [state for event, state in _STATES if event.search(new)]
    names = _names(new)

    def test(clause: str) -> bool:
        same = not names or not names.isdisjoint(_things(clause)) or any(name in clause for name in names)
        return same and any(state.search(clause) for state in states)

    return test if states else None


def _names(text: str) -> frozenset[str]:
    """The words of the names in a text; in Chinese of those that are called so."""
    if is_cjk(text):
        return frozenset(found["who"] for found in _PARTED.finditer(text))
    names = [name for name in names_and_numbers(text) if name[0].isalpha()]
    return frozenset(term for name in names for term in tokenize(name))


# --- who does it -----------------------------------------------------------------------------------------------------


def _handed_over(new: str) -> Test | None:
    """What somebody does now whom an earlier clause does not name."""
    turned = (new[slice(*span)] for span in clause_spans(new) if _TURNED.search(new[slice(*span)]))
    ours = next((found for clause in turned if (found := _DOER.match(clause))), None)
    if ours is None or ours["who"] in ("I", "We"):
        return None
    deed, things = frozenset(tokenize(ours["deed"])), subject_terms(_TURNED.sub(" ", ours["rest"]))
    is_any = _DOES.match(ours["deed"]) is not None and _DEFINITE.match(ours["rest"]) is not None

    def test(clause: str) -> bool:
        theirs = _DOER.match(clause)
        if theirs is None or theirs["who"].casefold() == ours["who"].casefold():
            return False
        done = frozenset(tokenize(theirs["deed"]))
        is_same = not done.isdisjoint(_DEED if is_any else deed & _DEED) or bool(done & _CHARGE and deed & _CHARGE)
        return is_same and not things.isdisjoint(subject_terms(theirs["rest"]))

    return test if things and (is_any or deed & _DEED) else None


def _handed_over_in_chinese(new: str) -> Test | None:
    ours = _DOER_CHINESE.search(new) if _TURNED_CHINESE.search(new) else None
    if ours is None:
        return None
    who = ours["who"] or ours["who2"]
    things = frozenset(term for term in subject_terms(new.replace(who, " ")) if is_cjk(term))

    def test(clause: str) -> bool:
        theirs = _DOER_CHINESE.search(clause)
        is_other = theirs is not None and (theirs["who"] or theirs["who2"]) != who
        return is_other and not things.isdisjoint(subject_terms(clause))

    return test


def _gone_over(new: str) -> Test | None:
    """Which one is had now for something that an earlier clause names another one for."""
    found = _OVER_TO.search(new)
    things = subject_terms(found["thing"]) if found else frozenset[str]()
    if found is None or not things:
        return None

    def test(clause: str) -> bool:
        is_named = _HAS_NAME.search(clause) is not None and found["new"] not in clause
        return is_named and (not things.isdisjoint(subject_terms(clause)) or are_of_one(found["thing"], clause))

    return test


def _goes_elsewhere(new: str) -> Test | None:
    """Where somebody goes in place of where they were to go, which they name."""
    found = _GOES_INSTEAD.search(new)

    def test(clause: str) -> bool:
        olds = [one["old"] for one in _GOES_TO.finditer(clause)]
        return found is not None and any(old != found["new"] and old in new for old in olds)

    return test if found else None


_READERS: Final[Sequence[Callable[[str], Test | None]]] = (_given_up, _state_over, _handed_over, _gone_over)
_CHINESE_READERS: Final[Sequence[Callable[[str], Test | None]]] = (
    _given_up,
    _state_over,
    _handed_over_in_chinese,
    _goes_elsewhere,
)
