"""What a text says has changed: the words that announce it, the old value and the new one, and what they refer to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.reading import announcing
from agentic_memory_bank.engines.extractive.reading.figures import Figure, figures_of, same_kind, same_written
from agentic_memory_bank.engines.extractive.reading.marks import DATED
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_WEAKEST: Final = (announcing.OPENS, announcing.NOW)
"""What announces a change only where no other words do."""
_HEADED: Final = lazy_pattern(
    r"[\W_]*(?:amendment|addendum|supplement|erratum|corrigendum|补充协议|变更协议)", re.IGNORECASE
)
_HEAD: Final = 3
"""Statements of a document among which it says what it is."""
_THE: Final = lazy_pattern(r"^(?:The|Our|Your) ")
_FIGURE_ON: Final = lazy_pattern(
    r"(?:\b(?:\d|two|three|four|five|six|seven|eight|nine|ten|first|second)[^,;:]*)?$", re.IGNORECASE
)
_ABOVE: Final = 3
"""How many sentences of a paragraph before an announcement may say what it is about."""
_HOLDING: Final = lazy_pattern(r"以[^，,。;；]{1,12}为准")
_NUMBER: Final = r"[0-9]{1,3}(?:\.[0-9]{1,3}){0,3}|[a-z]\b"
_REFERENCE: Final = lazy_pattern(
    rf"\b(?:clauses?|sections?|items?|articles?|paragraphs?|points?|chapters?|steps?|rules?|conditions?|annex)"
    rf"\s?\(?(?P<number>{_NUMBER})\)?|§\s?(?P<sign>{_NUMBER})"
    r"|(?<![\w.-])(?P<label>(?-i:[A-Z]{1,2})[0-9]{1,2}(?:\.[0-9]{1,2})?)(?![\w-])"
    r"|第(?P<han>[0-9]{1,3}|[一二三四五六七八九十]{1,3})[条章节款项点]",
    re.IGNORECASE,
)
_REVISING: Final = lazy_pattern(
    r"amend|correct|errat|chang|addend|supplement|revis|update|put right|变更|更正|勘误|调整|修订|补充|修改|更改|更新",
    re.IGNORECASE,
)
_NEWS: Final = lazy_pattern(r"notice|release|what.?s new|\bnews\b|公告|启事|通知|通报", re.IGNORECASE)
_MOST_TEXT: Final = 300
"""Characters up to which a sentence may announce several changes."""
_OPENING: Final = 9
"""How many statements a document opens with, the header of a mail included."""
_HAN: Final = {char: n for n, char in enumerate("零一二三四五六七八九十")}
_CLAUSE_BEGINS: Final = lazy_pattern(r"[^,;:，。；：;]*")
_CLAUSE: Final = lazy_pattern(r"[^,;:，。；：;]*$")
_CLAUSES: Final = lazy_pattern(r"(?:[^,;，；]|,(?=\d))+")

_STAYS: Final = lazy_pattern(
    r"^[^\d]{1,40} (?:is|are|was|were|remains?|stays?) (?:not affected|unaffected|unchanged|the same)[.!]?$"
    r"|^[^\d]{1,20}(?:不受影响|照旧|照常)[。！]?$",
    re.IGNORECASE,
)
"""A sentence that says of something that nothing is changed about it."""
_STILL: Final = lazy_pattern(r"\b(?:still|remains?|stays?|unchanged|as before)\b|仍|照旧|不变", re.IGNORECASE)
_OLD_AND_NEW: Final = lazy_pattern(r"\bno longer\b|\bnot any ?more\b|\bbut\b|不再|但", re.IGNORECASE)


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
        inherited: The numbers that the sentences before it in its paragraph name.
        named: Names in these, one of which it may put something in the place of ("The hall is closed. Instead we …").
        above: Their terms, with those of their places.
        sure: Whether its own words announce the change, and not only those of its document or of the sentence before.
    """

    statement: Statement
    kind: announcing.Kind
    old: str
    before: str
    new: str
    subject: frozenset[str]
    references: frozenset[str]
    context: str
    sure: bool = True
    announcing: bool = False
    inherited: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()
    above: frozenset[str] = frozenset()


def is_revising(document: Document) -> bool:
    """Whether a document calls itself a correction, an amendment, a notice of changes, or opens with one."""
    if _REVISING.search(f"{document.name} {document.title}"):
        return True
    if any(_HEADED.match(statement.text) for statement in document.statements[:_HEAD]):
        return True
    return any(announcing.OPENS.search(statement.text) for statement in document.statements[:_OPENING])


_TELLS: Final = lazy_pattern(
    r"\bchanges\b|\balterations\b|\bthings? (?:(?:has|have|is|are) )?(?:changed|shifted|different)\b|\bdifferent from\b"
    r"|\brelease[ _-]?notes?\b|\breleases\b|\bchangelog\b|\bwhat.?s new\b|\b(?:latest|last) news\b"
    r"|\breplaces\b|补充(?:通知|协议|公告|规定|说明)|变更|变动|调整",
    re.IGNORECASE,
)
"""What says of a document, in its title or at its head, that it tells of changes."""
_LEAST_REVISIONS: Final = 2


@lru_cache(maxsize=DOCUMENTS_KEPT)
def is_notice(document: Document) -> bool:
    """Whether a document is there to say what is otherwise than another one says."""
    titled = f"{document.name.replace('_', ' ')} {document.title}"
    opening = [one.text for one in document.statements[:_OPENING] if not one.cells or one.number < _HEAD]
    if is_revising(document) or any(_TELLS.search(one) for one in (titled, *opening)):
        return True
    is_letter = any(one.place.kind == "header" for one in document.statements[:_HEAD])
    least = 1 if _NEWS.search(" ".join((titled, *opening[:_HEAD]))) else _LEAST_REVISIONS if is_letter else 0
    return 0 < least <= len({one.statement.number for one in revisions_of(document) if one.sure})


@lru_cache(maxsize=DOCUMENTS_KEPT)
def revisions_of(document: Document) -> tuple[AnnouncedRevision, ...]:
    """The changes that a document announces, in order."""
    found: list[AnnouncedRevision] = []
    revising = is_revising(document)
    is_news = revising or bool(_NEWS.search(f"{document.name} {document.title}"))
    carried: Statement | None = None
    opener: AnnouncedRevision | None = None
    for before, statement in zip((None, *document.statements), document.statements, strict=False):
        if opener is not None and statement.place.kind != "heading":
            found.append(_opened_by(opener, statement))
            opener = None
        elif _may_announce(statement):
            announced = _revisions(statement)
            if announced and announced[0].kind == "replace" and announcing.LEADS_IN.search(statement.text):
                opener = announced[0]
                continue
            goes_on = carried is not None and _goes_on(carried, statement)
            of_before = before if before and _goes_on(before, statement) else None
            revision = _explained(announced[0], of_before, carried if goes_on else None) if announced else None
            if is_news and (revision is None or not revision.sure):
                revision = _gone(statement) or revision
            says_new = goes_on or revising and _has_news(statement) and len(statement.terms) > 1
            if revision is None and says_new and not says_unchanged(statement):
                revision = _weak(statement, carried if goes_on else None)
            found.extend([revision, *announced[1:]] if revision else [])
            opens = revision is not None and (revision.kind == "correct" or revision.sure and not _has_value(revision))
            carried = statement if opens else carried if revision and goes_on else None
    return tuple(replace(_placed(one, document), announcing=is_news) for one in found)


def announces(statement: Statement, value: str) -> bool:
    """Whether the words of a statement themselves say that something has become a value."""
    return any(value in one.new for one in _replacements(statement))


def changes_to(statement: Statement, given: Sequence[Figure]) -> bool:
    """Whether a statement says that something went from a value to another one, and just the latter is given."""

    def is_given(one: Figure) -> bool:
        return any(same_kind(one, other) and same_written(one, other) for other in given)

    return any(
        one.old
        and (new := figures_of(one.new))
        and all(map(is_given, new))
        and not any(map(is_given, figures_of(one.old)))
        for one in _replacements(statement)
    )


def _replacements(statement: Statement) -> list[AnnouncedRevision]:
    """What the words of a statement themselves say has taken the place of something."""
    found = _revisions(statement) if _may_announce(statement) else []
    return [one for one in found if one.sure and one.kind == "replace"]


_YEARS: Final = lazy_pattern(r"(?<!\d)(?:1[5-9]|20)\d\d ?年(?![\d度])")
"""Years without a month: a sentence with several tells a history, and changes nothing now."""


def _may_announce(statement: Statement) -> bool:
    place = statement.place
    is_said = statement.mode not in ("asked", "possible", "template") and not place.speaker
    if _STAYS.search(" ".join(statement.text.split())) or len(_YEARS.findall(statement.text)) > 1:
        return False
    return is_said and place.kind not in ("code", "row", "header", "heading")


def _explained(revision: AnnouncedRevision, before: Statement | None, carried: Statement | None) -> AnnouncedRevision:
    """A revision with what the sentence before it in its paragraph, or the one it goes on from, says of it."""
    text = revision.statement.text
    if before:
        context = f"{before.text} {text}"
        if announcing.TAKEN_BACK.match(text):
            return replace(revision, old=before.text, subject=before.terms, context=context)
        if announcing.THEREIN.search(text):
            return replace(revision, statement=before, subject=before.terms, context=context)
        if revision.kind == "replace" and revision.sure:  # it may name the row
            return replace(revision, context=context)
    if carried and revision.kind == "correct":
        return replace(revision, context=f"{carried.text} {text}")
    return revision


def _gone(statement: Statement) -> AnnouncedRevision | None:
    """What says that something with a name is not to be had any more."""
    gone, text = announcing.GONE.search(statement.text), statement.text
    about = statement.terms | terms_of(" ".join(statement.place.headings[-1:]))
    if gone is None:
        return None
    return AnnouncedRevision(
        statement, "replace", "", "", text, about, frozenset(), text, named=(_THE.sub("", gone["name"]),)
    )


def _opened_by(opener: AnnouncedRevision, statement: Statement) -> AnnouncedRevision:
    """What stands behind "Paragraph 3 is replaced by:" is the new text."""
    context = f"{opener.statement.text} {statement.text}"
    subject = opener.subject | statement.terms
    return replace(opener, statement=statement, new=statement.text, subject=subject, context=context)


def _placed(revision: AnnouncedRevision, document: Document) -> AnnouncedRevision:
    """A revision with the sections and the names that the sentences before it in its paragraph speak of."""
    statement = revision.statement
    above = [
        one
        for one in document.statements[max(0, statement.number - _ABOVE) : statement.number]
        if one.paragraph == statement.paragraph and one.place.numbers == statement.place.numbers
    ]
    inherited = frozenset(number for one in above for number in references_of(one))
    if revision.kind == "replace" and not revision.old and announcing.STANDS_IN.search(statement.text):
        named = tuple(dict.fromkeys(name for one in above for name in _names_in(one.text)))
        revision = replace(revision, named=named, above=frozenset(t for one in above for t in one.terms | one.about))
    return revision if revision.references else replace(revision, inherited=inherited)


def _names_in(text: str) -> list[str]:
    """Names in a sentence, without the word it begins with unless that is quoted or goes on as a name."""
    return [_THE.sub("", found.strip('"“”《》')) for found in announcing.NAMED.findall(text)]


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


def _weak(statement: Statement, before: Statement | None) -> AnnouncedRevision:
    """A statement whose own words announce nothing: all of them may say what is new."""
    subject, references, context = statement.terms, references_of(statement), statement.text
    if before:
        subject, references = before.terms | subject, references_of(before) | references
        context = f"{before.text} {context}"
    return AnnouncedRevision(statement, "correct", "", "", statement.text, subject, references, context, sure=False)


def _has_news(statement: Statement) -> bool:
    """Whether a statement gives a figure other than the day on which a document was signed."""
    return any(not DATED.search(statement.text[max(0, one.start - 24) : one.start]) for one in statement.figures)


def says_unchanged(statement: Statement) -> bool:
    """Whether a statement says of all that it speaks of that it stays as it was."""
    return bool(_STILL.search(statement.text)) and not _OLD_AND_NEW.search(statement.text)


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
        said, begin = clause.group(), at or clause.start()
        changes = next((found for p in announcing.BECOMES if (found := p.search(said))), None)
        if changes and clause.start() > len(first.before):
            if terms_of(said[: changes.start()]):
                begin = clause.start()  # else the clause before names what changes
            if begin > len(first.before) and terms_of(text[begin : clause.start() + changes.start()]):
                others = _revisions(replace(statement, text=text[begin:]))
                new = text[len(first.before) : begin].strip(" ,，;；") if first.new in text else first.new
                return [replace(first, new=new), *(replace(one, statement=statement) for one in others)]
        at = clause.start() if clause.start() > len(first.before) else 0
    return [first]


def _revision(statement: Statement, text: str) -> AnnouncedRevision | None:
    found = [(match.start(), n, match) for n, (_, p) in enumerate(announcing.PATTERNS) if (match := p.search(text))]
    if not found:
        return None
    _, number, match = min(found, key=lambda one: (announcing.PATTERNS[one[1]][1] in _WEAKEST, *one[:2]))
    kind, pattern = announcing.PATTERNS[number]
    groups = match.groupdict()
    old = (groups.get("old") or groups.get("han") or groups.get("was") or "").strip(" .")
    new = (groups.get("new") or groups.get("now") or groups.get("may") or text[match.end() :]).strip()
    sure = pattern is not announcing.OPENS or (
        any(char.isdigit() for char in new) and ":" in text[match.start() : match.end() + 40]
    )
    references = references_of(statement)
    if pattern in (announcing.READS, announcing.TO, announcing.HAN_TO, announcing.HAN_CANCELS) and not terms_of(
        text[: match.start()]
    ):  # "§ 4 shall read": the item's own number
        references |= set(statement.place.numbers[-1:])
    if pattern in (announcing.NOT_FIGURE, announcing.COMPARED) and not any(map(str.isdigit, new)):
        new = text[: match.start()]
    if pattern is announcing.INSTEAD:
        new = _FIGURE_ON.search(text[: match.start()])[0]  # type: ignore[index]
    return AnnouncedRevision(
        statement, kind, old, text[: match.end()], new, _subject(statement, match, pattern), references, text, sure
    )


def _subject(statement: Statement, match: re.Match[str], pattern: re.Pattern[str]) -> frozenset[str]:
    """The terms of the clause before the announcing words; of the whole sentence where there are too few."""
    before = match.string[: match.start()]
    if pattern is announcing.FROM_TO:  # "raise the fee from £6 to £8"
        before = match.string[: match.start("old")]
    if pattern is announcing.NOT_QUOTED:
        return terms_of(f"{before} {match.string[match.end() :]}")
    if match.group() == "不再":
        return terms_of(_CLAUSE_BEGINS.match(match.string[match.end() :]).group())  # type: ignore[union-attr]
    if pattern is announcing.OPENS or not terms_of(before):
        return terms_of(match.string[match.end() :]) or statement.terms
    clause = _CLAUSE.search(before)
    terms = terms_of(clause.group() if clause else before)
    if len(terms) < 2:
        terms |= terms_of(before)
    return terms if terms else statement.terms | terms_of(" ".join(statement.place.headings[-1:]))
