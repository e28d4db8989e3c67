"""What a text says has changed: the words that announce it, the old value and the new one, and what they refer to."""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import terms_of

Kind = Literal["replace", "cancel", "end", "correct"]

_CHANGES: Final = (
    r"(?:ris(?:e|es|en|ing)|rose|rais(?:e[sd]?|ing)|increas\w+|grow[sn]?|grew|go(?:es)?|went|gone|drop\w*|falls?|fell|"
    r"reduc\w+|lower(?:s|ed|ing)?|cuts?|chang\w+|extend\w*|shorten\w*|mov(?:e[sd]?|ing)|shift(?:s|ed)?|postpon\w+|"
    r"adjust(?:s|ed)?|brings?|brought)"
)
_FROM_TO: Final = re.compile(
    rf"\b{_CHANGES}\b[^.;:]{{0,40}}?\bfrom (?P<old>[^;:]{{1,50}}?) to (?P<new>[^;:]{{1,60}})", re.IGNORECASE
)
_BE: Final = r"\b(?:is|are|was|were|(?<!can )(?<!could )(?<!to )(?<!may )be|been|have|has|had|now)\s+"
_TO: Final = re.compile(
    rf"{_BE}(?!not\b|never\b)(?:\w+ ){{0,2}}?(?:moved|postponed|rescheduled|changed|extended|shortened|raised|"
    r"increased|reduced|lowered|brought forward|shifted|relocated|transferred|corrected|amended|put back|put off|"
    r"adjusted|updated|replaced|superseded)\b(?: back| forward)?(?: to| until| till| by| with)? (?P<new>[^;:]{1,80})",
    re.IGNORECASE,
)
_STRUCK: Final = re.compile(
    r"[\"“'‘](?P<old>[^\"”]{1,60})[\"”'’]\s+(?:\w+ ){0,3}?"
    r"(?:struck out|deleted|replaced|substituted|removed|crossed out)\b[^\"“]{0,40}[\"“](?P<new>[^\"”]{1,80})",
    re.IGNORECASE,
)
_READS: Final = re.compile(
    r"\b(?:shall|should|must|will|has to|is to|to)(?: now| hereby| instead)? (?:read|be replaced)\b"
    r"|\bread(?:s|ing)? as follows|\bis (?:hereby )?(?:replaced (?:by|with)|amended|substituted)\b"
    r"|\b(?:put )?in (?:its|their) (?:place|stead)\b|\bsupersedes?\b|\breplaces\b",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"\bno longer\b|\bdo(?:es)? not\b[^.;:]{0,40}\b(?:any ?more|any longer)\b", re.IGNORECASE)
_CANCELS: Final = re.compile(
    r"\bnot\b[^.;:]{0,40}\b(?:any ?more|any longer)\b"
    r"|\b(?:is|are|been|(?<!can )(?<!may )(?<!to )be)\s+(?:\w+ )?(?:deleted|struck out|cancell?ed|withdrawn|revoked|"
    r"abolished|dropped|discontinued|scrapped|void|superseded|called off)\b|\bclosed for good\b|\bdoes not apply\b",
    re.IGNORECASE,
)
_INSTEAD: Final = re.compile(
    r"\b(?:instead of|in place of|rather than) (?P<old>[^,;:.]{1,60})|\binstead\b|\b(?:will|is to) now be\b",
    re.IGNORECASE,
)
_GIVEN_BY: Final = re.compile(
    r"\bwill be (?:given|held|chaired|taken|led|taught|presented|done) by (?P<new>[^;:]{1,60})", re.IGNORECASE
)
_CORRECTS: Final = re.compile(
    r"\b(?:printed|given|stated|listed|announced|quoted|was|were|is|are|had)\b[^.;:]{0,30}"
    r"\b(?:wrong(?:ly)?|incorrect(?:ly)?|mistaken(?:ly)?|in error|by mistake)\b"
    r"|\bcorrected\b|\bthe wrong \w+",
    re.IGNORECASE,
)
_OPENS: Final = re.compile(
    r"\bmistakes?\b|\berrat\w+|\bcorrections?\b|\bchange:|\bchange of\b|更正|勘误", re.IGNORECASE
)
_NAME: Final = r"(?<![\w'-])[A-Z][\w'-]{0,24}(?: [A-Z][\w'-]{0,24})?"
_AMOUNT: Final = r"(?<![\w.,])[£$€]?\d[\w.,]{0,16}"
_NOT: Final = re.compile(rf"(?P<new>{_NAME}|{_AMOUNT}(?: \w{{1,16}})?),? (?:and )?not (?P<old>{_NAME}|{_AMOUNT})")
_NOT_QUOTED: Final = re.compile(
    r"[\"“](?P<new>[^\"“”]{1,40})[,.]?[\"”],? (?:and |but )?not [\"“](?P<old>[^\"“”]{1,40}?)[,.]?[\"”]"
)
_TAKEN_BACK: Final = re.compile(
    r"(?:(?:That|This|It|Both|Those|These|The (?:figure|number|date|name|statement))(?: figures?| dates?| names?)? "
    r"(?:is|was|are|were)(?: both| all)? (?:wrong|incorrect|not (?:true|right|correct|so)|a mistake|an error|in error|"
    r"mistaken|a misprint|out of date)|(?:这|此|该)[^，。]{0,6}(?:有误|是错|错了|不对|不准|不实))"
)
"""What takes back what the sentence before it reports ("The leaflet says 148 m. That is wrong.")."""
_NOT_NAME: Final = re.compile(
    r", (?:and )?not (?:the )?(?P<old>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,2})(?=[.,;]|$)"
    r"|(?:而非|而不是|不是)(?P<han>[^，,。;；]{2,8})"
)
_HAN_TO: Final = re.compile(
    r"(?:改|调整|变更|更正|修改|修订|更改)(?:为|成|到|至|在|由|于)|(?:推迟|延期|延长|延后|提前|提高|增加|上调|下调|降低|减少|缩短)(?:到|至|为)"
    r"|(?:增|减|降|升|延|移|迁|搬|换)(?:至|到|成|为)|顺延|替换为|改用"
)
_HAN_STRUCK: Final = re.compile(
    r"[“\"「『](?P<old>[^“”\"「」『』]{1,40})[”\"」』][^，,。;；“”\"「」『』]{0,6}"
    r"(?:改|修改|修订|调整|变更|更改|更正|替换)[为成][“\"「『]?(?P<new>[^“”\"「」『』，,。;；]{1,60})"
)
_HAN_FROM: Final = re.compile(
    r"(?:由|从|原)(?P<old>[^，,。;；到至为]{1,20}?)(?:调整|提高|增加|改|降|升|减|延长|缩短|上调|下调|变更)[^，,。;；]{0,4}?(?:为|到|至)"
)
_HAN_ENDS: Final = re.compile(r"不再(?!变|调整)")
_HAN_CANCELS: Final = re.compile(r"取消|删除|删去|废止|作废|停用|撤销|停止(?!入|供)|终止|失效")
_HAN_CORRECTS: Final = re.compile(
    r"有误|错误|误[写为印记]|应为|应是|实为|以[^，,。;；]{0,10}?(?:本|此|新版|最新|通知|公告|合同|协议|文件|启事|网站|官网|手册|册|表|原件|文本)[^，,。;；]{0,4}?为准"
)
_FIGURE_ON: Final = re.compile(
    r"(?:\b(?:\d|two|three|four|five|six|seven|eight|nine|ten|first|second)[^,;:]*)?$", re.IGNORECASE
)
_HOLDING: Final = re.compile(r"以[^，,。;；]{1,12}为准")
_NUMBER: Final = r"[0-9]{1,3}(?:\.[0-9]{1,3}){0,3}|[a-z]\b"
_REFERENCE: Final = re.compile(
    rf"\b(?:clauses?|sections?|items?|articles?|paragraphs?|points?|chapters?|annex)\s?\(?(?P<number>{_NUMBER})\)?|§\s?(?P<sign>{_NUMBER})"
    r"|第(?P<han>[0-9]{1,3}|[一二三四五六七八九十]{1,3})[条章节款项点]",
    re.IGNORECASE,
)
_REVISING: Final = re.compile(
    r"amend|correct|errat|chang|addend|supplement|revis|update|put right|变更|更正|勘误|调整|修订|补充|修改|更改|更新",
    re.IGNORECASE,
)
_NEWS: Final = re.compile(r"notice|release|what.?s new|\bnews\b|公告|启事|通知|通报", re.IGNORECASE)
_MOST_TEXT: Final = 300
"""Characters up to which a sentence may announce several changes."""
_OPENING: Final = 9
"""How many statements a document opens with, the header of a mail included."""
_HAN: Final = {char: n for n, char in enumerate("零一二三四五六七八九十")}
_CLAUSE_BEGINS: Final = re.compile(r"[^,;:，。；：;]*")
_CLAUSE: Final = re.compile(r"[^,;:，。；：;]*$")
_CLAUSES: Final = re.compile(r"(?:[^,;，；]|,(?=\d))+")


@dataclass(frozen=True)
class AnnouncedRevision:
    """A statement that announces a change.

    Attributes:
        statement: The statement.
        kind: Whether it puts something in place of something, takes something back, or says that something was wrong.
        old: The words of the old value, where they are named.
        before: The words before the announcing ones.
        new: The words from which on the new value stands.
        subject: The terms of what changes: the words before the announcing ones, with those of its clause and heading.
        references: The numbers of clauses, sections or items it names, or its place does.
        context: Its words, with those of the sentence that it goes on from.
        announcing: Whether its document is there to announce changes.
        sure: Whether its own words announce the change, and not only those of its document or of the sentence before.
    """

    statement: Statement
    kind: Kind
    old: str
    before: str
    new: str
    subject: frozenset[str]
    references: frozenset[str]
    context: str
    sure: bool = True
    announcing: bool = False


def is_revising(document: Document) -> bool:
    """Whether a document calls itself a correction, an amendment, a notice of changes, or opens with one."""
    if _REVISING.search(f"{document.name} {document.title}"):
        return True
    return any(_OPENS.search(statement.text) for statement in document.statements[:_OPENING])


def revisions_of(document: Document) -> list[AnnouncedRevision]:
    """The changes that a document announces, in order."""
    found: list[AnnouncedRevision] = []
    revising = is_revising(document)
    announcing = revising or bool(_NEWS.search(f"{document.name} {document.title}"))
    carried: Statement | None = None
    for before, statement in zip((None, *document.statements), document.statements, strict=False):
        if statement.mode in ("asked", "possible", "template") or statement.place.kind in (
            "code",
            "row",
            "header",
            "heading",
        ):
            continue
        if statement.place.speaker:
            continue
        announced = _revisions(statement)
        revision = announced[0] if announced else None
        if revision is not None and before and _TAKEN_BACK.match(statement.text) and _goes_on(before, statement):
            context = f"{before.text} {statement.text}"
            revision = replace(revision, old=before.text, subject=before.terms, context=context)
        elif (
            revision is not None and revision.kind == "correct" and carried is not None and _goes_on(carried, statement)
        ):
            revision = replace(revision, context=f"{carried.text} {statement.text}")
        elif revision is None and carried is not None and _goes_on(carried, statement):
            revision = _carried(carried, statement)
        elif revision is None and revising and statement.figures and len(statement.terms) > 1:
            revision = _weak(statement, statement.terms, references_of(statement), statement.text)
        if revision is not None:
            if revision.kind == "replace" and revision.sure and before and _goes_on(before, statement):
                # the sentence before may name the row
                revision = replace(revision, context=f"{before.text} {statement.text}")
            found.extend(replace(one, announcing=announcing) for one in (revision, *announced[1:]))
        opens = revision is not None and (revision.kind == "correct" or revision.sure and not _has_value(revision))
        carried = statement if opens else carried if revision and carried and _goes_on(carried, statement) else None
    return found


def named_in(revision: AnnouncedRevision) -> str:
    """The words of an announcement in which it may name what it corrects: not those that say what holds."""
    return _HOLDING.sub(" ", revision.context)


def _has_value(revision: AnnouncedRevision) -> bool:
    return any(char.isdigit() for char in revision.new)


def _goes_on(before: Statement, statement: Statement) -> bool:
    """Whether a statement follows in the same paragraph, clause or item."""
    return (
        0 < statement.number - before.number <= 2
        and statement.place.headings[: len(before.place.headings)] == before.place.headings
        and statement.place.numbers == before.place.numbers
        and statement.paragraph == before.paragraph
    )


def _carried(before: Statement, statement: Statement) -> AnnouncedRevision:
    references = references_of(before) | references_of(statement)
    return _weak(statement, before.terms | statement.terms, references, f"{before.text} {statement.text}")


def _weak(statement: Statement, subject: frozenset[str], references: frozenset[str], context: str) -> AnnouncedRevision:
    """A statement whose own words announce nothing: all of them may say what is new."""
    return AnnouncedRevision(statement, "correct", "", "", statement.text, subject, references, context, sure=False)


def references_of(statement: Statement) -> frozenset[str]:
    """The numbers of clauses, sections and items that a statement names, or the heading or lead-in it stands under."""
    place = statement.place
    text = " ".join((*place.headings[-1:], statement.text))
    return frozenset(_plain(next(part for part in match.groups() if part)) for match in _REFERENCE.finditer(text))


def _plain(number: str) -> str:
    if number[0] not in _HAN:
        return number.casefold()
    ten, mark, one = number.partition("十")
    return str(10 * _HAN.get(ten, 1) + _HAN.get(one, 0)) if mark else str(_HAN[number[0]])


def _revisions(statement: Statement) -> list[AnnouncedRevision]:
    """What a sentence announces; where a later clause says what something else becomes, that too."""
    text = " ".join(statement.text.split())  # lines that were wrapped leave several spaces
    first = _revision(statement, text)
    if first is None or first.kind != "replace" or len(text) > _MOST_TEXT:
        return [first] if first else []
    at = 0
    for clause in _CLAUSES.finditer(text, len(first.before)):
        words, begin = clause.group(), at or clause.start()
        changes = next((found for p in _BECOMES if (found := p.search(words))), None)
        if changes and clause.start() > len(first.before):
            if terms_of(words[: changes.start()]):
                begin = clause.start()  # else the clause before names what changes
            if begin > len(first.before) and terms_of(text[begin : clause.start() + changes.start()]):
                others = _revisions(replace(statement, text=text[begin:]))
                new = text[len(first.before) : begin].strip(" ,，;；") if first.new in text else first.new
                return [replace(first, new=new), *(replace(one, statement=statement) for one in others)]
        at = clause.start() if clause.start() > len(first.before) else 0
    return [first]


def _revision(statement: Statement, text: str) -> AnnouncedRevision | None:
    found = [(match.start(), n, match) for n, (_, p) in enumerate(_PATTERNS) if (match := p.search(text))]
    if not found:
        return None
    _, number, match = min(found, key=lambda one: (_PATTERNS[one[1]][1] is _OPENS, *one[:2]))
    kind = _PATTERNS[number][0]
    groups = match.groupdict()
    old = (groups.get("old") or groups.get("han") or "").strip(" .")
    new = (groups.get("new") or text[match.end() :]).strip()
    sure = match.re is not _OPENS or (
        any(char.isdigit() for char in new) and ":" in text[match.start() : match.end() + 40]
    )
    references = references_of(statement)
    if match.re in (_READS, _TO, _HAN_TO, _HAN_CANCELS) and not terms_of(
        text[: match.start()]
    ):  # "§ 4 shall read": the item's own number
        references |= set(statement.place.numbers[-1:])
    if match.re is _INSTEAD:
        new = _FIGURE_ON.search(text[: match.start()])[0]  # type: ignore[index]
    return AnnouncedRevision(
        statement, kind, old, text[: match.end()], new, _subject(statement, match), references, text, sure
    )


def _subject(statement: Statement, match: re.Match[str]) -> frozenset[str]:
    """The terms of the clause before the announcing words; of the whole sentence where there are too few."""
    before = match.string[: match.start()]
    if match.re is _NOT_QUOTED:
        return terms_of(f"{before} {match.string[match.end() :]}")
    if match.group() == "不再":
        return terms_of(_CLAUSE_BEGINS.match(match.string[match.end() :]).group())  # type: ignore[union-attr]
    if match.re is _OPENS or not terms_of(before):
        return terms_of(match.string[match.end() :]) or statement.terms
    clause = _CLAUSE.search(before)
    terms = terms_of(clause.group() if clause else before)
    if len(terms) < 2:
        terms |= terms_of(before)
    return terms if terms else statement.terms | terms_of(" ".join(statement.place.headings[-1:]))


_BECOMES: Final = (_FROM_TO, _TO, _HAN_FROM, _HAN_TO)
_PATTERNS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("replace", _STRUCK),
    ("replace", _HAN_STRUCK),
    ("replace", _FROM_TO),
    ("replace", _HAN_FROM),
    ("correct", _TAKEN_BACK),
    ("correct", _NOT_QUOTED),
    ("correct", _NOT),
    ("correct", _NOT_NAME),
    ("replace", _READS),
    ("replace", _TO),
    ("replace", _HAN_TO),
    ("end", _ENDS),
    ("cancel", _CANCELS),
    ("end", _HAN_ENDS),
    ("cancel", _HAN_CANCELS),
    ("replace", _INSTEAD),
    ("replace", _GIVEN_BY),
    ("correct", _CORRECTS),
    ("correct", _HAN_CORRECTS),
    ("correct", _OPENS),
)
