"""Who two documents name in one role: the chair, the builder, whom to call; different people there contradict."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.counterparts import later
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction
from agentic_memory_bank.engines.extractive.comparing.telling import stand_apart
from agentic_memory_bank.engines.extractive.reading.kinds import SURNAMES
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import words_of

_MOST_TEXT: Final = 300
_ROLES: Final = (
    "manager|chair(?:man|woman|person)?|director|leader|engineer|architect|builder|author|editor|treasurer|secretary|"
    "president|principal|captain|coach|conductor|curator|warden|caretaker|landlord|landlady|tenant|supervisor|"
    "co-?ordinator|contact(?: person)?|organi[sz]er|instructor|teacher|tutor|doctor|dentist|nurse|surgeon|"
    "groundsman|gardener|cleaner|librarian|receptionist|accountant|bookkeeper|steward|trainer|vicar|clerk|porter|cook|"
    "housekeeper|goalkeeper|headmaster|headmistress|midwife|therapist|consultant|inspector|"
    "auditor|moderator|speaker|host|owner|founder|inventor|designer|composer|photographer|translator|publisher|mayor|chef|"
    "foreman|skipper|pilot|guide|referee|minute[- ]taker|project lead|team lead|incident lead|lead"
)
_NAME: Final = r"(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[A-Z][\w'’-]{1,24}(?: [A-Z][\w'’-]{0,24}\.?){0,2}"
_KIND: Final = r"(?P<kind>(?:[a-z-]{3,16} )?)"
_BE: Final = r"(?:is|was|will be|remains|became|has become)"
_CHOSEN: Final = r"(?:was |is |has been )?(?:elected|appointed)(?: as)?"
_THE: Final = r"\b(?:[Tt]he|[Oo]ur|[Yy]our|[Ii]ts|[Tt]heir) "
_END: Final = r"(?![\w'’])"
_PATTERNS: Final = tuple(
    lazy_pattern(pattern)
    for pattern in (
        rf"{_THE}{_KIND}(?P<role>{_ROLES}),? (?P<name>{_NAME}){_END}",
        rf"{_THE}{_KIND}(?P<role>{_ROLES})(?: of [^,.;]{{1,40}}?)? {_BE} (?P<name>{_NAME}){_END}",
        rf"(?P<name>{_NAME}),? (?:who )?(?:{_BE}|{_CHOSEN}|acts as|serves as|(?:has taken|takes|took) over as) "
        rf"(?:(?:the|our|your|its|their|new) ){{0,2}}{_KIND}(?P<role>{_ROLES})\b",
        rf"\b(?:by|with|under) (?:the )?{_KIND}(?P<role>{_ROLES}),? (?P<name>{_NAME}){_END}",
        rf"(?P<name>{_NAME})(?:,| \() ?(?:the |our |your )?{_KIND}(?P<role>{_ROLES})(?=[,.;)]|$)",
    )
)
_DOES: Final = lazy_pattern(
    rf"(?P<name>{_NAME}) (?:is |will be |will )?"
    r"(?:(?P<organise>coordinat|co-ordinat|organi[sz])(?:e|es|ing)|(?P<lead>lead|head)(?:s|ing)?|(?P<chair>chair)(?:s|ing)?"
    r"|(?P<teach>teach)(?:es|ing)?|(?P<manage>manag)(?:e|es|ing)|(?P<look>look)(?:s|ing)? after"
    r"|(?P<charge>in charge of|responsible for)) (?:the |our )(?P<what>[a-z][\w-]{2,20})\b"
)
"""Who does what has one who does it ("Lotte Berg coordinates the move")."""
_MAKERS: Final = {
    "directed": "director",
    "written": "author",
    "conducted": "conductor",
    "designed": "designer",
    "edited": "editor",
    "chaired": "chair",
    "founded": "founder",
    "composed": "composer",
    "translated": "translator",
    "moderated": "moderator",
    "presided over": "president",
}
_BY_WHOM: Final = lazy_pattern(
    rf"\b(?:is|was|are|were|will be) (?P<done>{'|'.join(_MAKERS)}) by (?P<name>{_NAME}){_END}"
)
"""Who made something has the role of who makes it ("directed by Ann Lee")."""
_FIELD: Final = lazy_pattern(
    rf"[\W_]*{_KIND}(?P<role>{_ROLES})\**[ \t]*(?:[:|][ \t|*]*|[ \t.…]{{2,40}})(?P<name>{_NAME}){_END}",
    re.IGNORECASE,
)
_HAN_NAME: Final = rf"(?P<name>[{SURNAMES}谭廖史易赖文聂][\u4e00-\u9fff]{{1,2}}?)"
_HAN_ROLES: Final = (
    "总?负责人|联系人|项目经理|总指挥|总监督|指挥|经理|主任|馆长|院长|校长|班主任|队长|站长|主持人?|主讲人?|讲师|作者|设计者|设计师|建筑师|总?工程师|总监|会长|"
    "秘书长|书记|组长|店长|船长|教练|导师|主编|裁判长|法定代表人|导游|领队|承办人|经办人|值班长|监护人"
)
_HAN_END: Final = (
    r"(?=[，。；、,;|（(\s]|$|老师|先生|女士|同志|教授|医生|担任|负责|主持|主讲|接任|接替|出任|说|表示|介绍|告诉|指出"
    r"|[0-9])"
)
_HAN_PATTERNS: Final = (
    lazy_pattern(
        rf"(?P<kind>)(?P<role>{_HAN_ROLES})\**(?:[:：|\s]{{1,8}}|换成|改为|改由|变更为|是|为|由)\**"
        rf"(?:[^，。；]{{0,14}}的)?{_HAN_NAME}{_HAN_END}"
    ),
    lazy_pattern(
        rf"(?P<kind>)(?P<role>[\u4e00-\u9fff]{{2,6}}?)由{_HAN_NAME}(?:{_HAN_ROLES})?(?:牵头)?(?:负责|主持|授课|主讲|带队|主刀)"
    ),
    lazy_pattern(
        rf"(?P<kind>)(?P<role>{_HAN_ROLES})(?:一职)?[改将]?由"
        rf"(?:[^，。；]{{1,14}}?(?=[{SURNAMES}][\u4e00-\u9fff]{{1,2}}(?:担|出)任)|{_HAN_ROLES}|副[\u4e00-\u9fff]{{1,3}}|老师)?"
        rf"{_HAN_NAME}(?:老师|同志)?(?:接任|接替|出任|担任)"
    ),
    lazy_pattern(
        rf"新任?(?P<kind>)(?P<role>{_HAN_ROLES}){_HAN_NAME}(?:[0-9一二三四五六七八九十]{{1,2}}月|[已将到自从于])"
    ),
    lazy_pattern(rf"由{_HAN_NAME}(?:接任|接替|出任|担任|任)(?P<kind>)(?P<role>{_HAN_ROLES})"),
)
_OURS: Final = lazy_pattern(rf"\b[Oo]ur (?:{_ROLES}),? {_NAME},")
"""Who holds a role is said as a fact, whatever is asked of them ("If you ask our treasurer, Ann Lee, ...")."""
_OTHER: Final = lazy_pattern(
    r"\b(?:former|previous|old|then|deputy|vice|assistant|acting|co|second|another|an?|any|each|every|no) $|"
    r"[副原前代]$",
    re.IGNORECASE,
)
"""What makes of a role another one, or one of several."""
_TAKES_OVER: Final = lazy_pattern(
    r"\b(?:taken?|takes|took) over\b|\bsucceed(?:s|ed)?\b|\bnew (?:[a-z-]+ )?(?:"
    + _ROLES
    + r")\b|\bretired\b|\bresigned\b|接任|接替|换成|改由|变更为|退休|离职|调离|辞职|卸任"
)
_OF_THE_MEETING: Final = lazy_pattern(
    r"chair|author|secretary|minute|moderator|host|speaker|lead\b|referee", re.IGNORECASE
)
"""Roles that each meeting or document has somebody else for, where they stand in its head."""
_KINDS_OF_DOING: Final = ("organise", "lead", "chair", "teach", "manage", "look", "charge")
_NO_NAMES: Final = words_of(
    """
    the a an this that these those it he she we they you i who which what everybody nobody somebody our your
    their its his her one each every all both most some many no
    """
)
"""What a sentence may begin with in place of a name."""
_TITLES: Final = frozenset(("mr", "mrs", "ms", "dr", "prof"))


@dataclass(frozen=True)
class _Holder:
    """Somebody in a role.

    Attributes:
        statement: Where that is said.
        role: The role, as a term.
        kind: The word before it ("house" of a house manager); may be empty.
        name: The name as written.
    """

    statement: Statement
    role: str
    kind: str
    name: str

    @property
    def words(self) -> frozenset[str]:
        """The words of the name, without titles; a Chinese name is one."""
        return frozenset(self.name.casefold().replace(".", "").split()) - _TITLES


def other_holders(first: Document, second: Document) -> Iterator[FoundContradiction]:
    """Roles for which two documents about one thing name different people, each only one."""
    ours, theirs = (_by_role(document) for document in (first, second))
    for role, left in ours.items():
        for one in left:
            rivals = [
                other for other in theirs.get(role, ()) if not (one.kind and other.kind and one.kind != other.kind)
            ]
            if not rivals or any(one.words & other.words for other in rivals) or len({r.name for r in rivals}) > 1:
                continue
            if len({other.name for other in left if other.kind == one.kind}) == 1 and not _told_apart(one, rivals[0]):
                values = one.name, rivals[0].name
                holds = later(one.statement, rivals[0].statement, _TAKES_OVER)
                yield FoundContradiction(one.statement, rivals[0].statement, "name", values, holds, 0.7)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _by_role(document: Document) -> dict[str, list[_Holder]]:
    found: dict[str, list[_Holder]] = {}
    for statement in document.statements:
        said = statement.is_said_as_fact or statement.place.kind == "row" or _TAKES_OVER.search(statement.text)
        said = said or statement.mode == "possible" and _OURS.search(statement.text)
        if len(statement.text) <= _MOST_TEXT and said:
            for holder in _holders(statement):
                found.setdefault(holder.role, []).append(holder)
    return found


def _holders(statement: Statement) -> Iterator[_Holder]:
    field = _FIELD.match(statement.text)
    if field and field["name"][0].isupper() and field["name"].split()[0].casefold() not in _NO_NAMES:
        if not _OF_THE_MEETING.match(field["role"]):
            yield _holder(statement, field)
        return
    yield from _doers(statement)
    for match in _BY_WHOM.finditer(statement.text):
        yield _Holder(statement, stem(_MAKERS[match["done"].casefold()]), "", match["name"].strip(" .,"))
    for pattern in (*_PATTERNS, *_HAN_PATTERNS):
        for match in pattern.finditer(statement.text):
            if not _OTHER.search(statement.text[: match.start("kind")]) and not _OTHER.search(match["kind"]):
                yield _holder(statement, match)


def _doers(statement: Statement) -> Iterator[_Holder]:
    for match in _DOES.finditer(statement.text):
        does = next(name for name in _KINDS_OF_DOING if match[name])
        named = match["name"].split()
        if named[0].casefold() not in _NO_NAMES and not (len(named) == 1 and named[0].casefold() == match["what"]):
            yield _Holder(statement, f"{does} {stem(match['what'])}", "", match["name"].strip(" .,"))


def _holder(statement: Statement, match: re.Match[str]) -> _Holder:
    said = match["role"].removesuffix("工作")
    role = sorted(terms_of(said) or {said.casefold()})[-1]
    return _Holder(statement, role, match["kind"].strip().casefold(), match["name"].strip(" .,"))


def _told_apart(first: _Holder, second: _Holder) -> bool:
    """Whether the places or other words of two statements name different things."""
    left, right = first.statement, second.statement
    if stand_apart(left, right):
        return True
    names = [one.statement.sentence.names if one.statement.sentence else frozenset[str]() for one in (first, second)]
    names = [some - terms_of(f"{first.name} {second.name}") for some in names]
    return bool(names[0] and names[1]) and names[0].isdisjoint(names[1])
