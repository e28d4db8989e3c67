"""Whether two documents are about one thing: by their titles, the names they share, and dates or long numbers."""

import re
from functools import lru_cache
from itertools import pairwise
from os.path import commonprefix
from typing import Final

from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.reading.kinds import SURNAMES
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.marks import CALENDAR
from agentic_memory_bank.engines.extractive.reading.number_words import CARDINALS
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document
from agentic_memory_bank.engines.extractive.reading.terms import distinct, terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import words_of

_LEAST_NUMBERS: Final = 2
_FEW_NAMES: Final = 3
_FEW_RUNS: Final = 12
"""Names from which two texts that share none are about different things; a Chinese one has several runs."""
_FULL_DATE: Final = lazy_pattern(r"\d{4}-\d\d-\d\d")
_OPENING: Final = 10
"""Statements of a document among which it says to whom it is written, and of what case it is."""
_CASE: Final = lazy_pattern(r"(?<![\w-])(?:[A-Z]{1,4}[-/ ]?)?\d{2,4}[-/]\d{2,6}(?![\w-])")
_TO: Final = lazy_pattern(
    r"(?i:to|for|customer|client|bill(?:ed)? to|tenant|patient)\b ?:? (?P<name>(?:[A-Z][\w'&-]{1,24} ?){2,4})"
    r"|\W{0,4}(?i:review(?:er|ed by| by)|interviewee|applicant|candidate|patient|guest)[*_ ]{0,3}:?[*_ ]{0,3} "
    r"(?P<whose>[A-Z][\w'&-]{1,24}(?: [A-Z][\w.'&-]{0,24}){0,3})"
    r"|\W{0,4}(?:评价人|评论人|评论者|点评人|受访者|被访者|患者|申请人|应聘者|候选人|学员|客户|车主"
    r"|(?:宠物|学生|员工|病人|患者)?姓名|宠物昵?名)[*_]{0,2}[:：][*_ ]{0,3}"
    r"(?P<han>[\u4e00-\u9fffA-Za-z]{2,8})"
)
"""Whom a document is made out to, or who tells in it of themselves."""
SALUTES: Final = lazy_pattern(r"(?:Dear|Hello|Hi) [^\n,:]{1,60}[,:]$|[^\n，。:：]{1,12}[:：]$", re.IGNORECASE)
"""How a letter begins."""
_PARTS: Final = lazy_pattern(r": | [–—|-] |, ")
_PROPER: Final = lazy_pattern(r"[A-Z][\w'’]+")
_WORD: Final = lazy_pattern(r"[A-Za-z]+")
_MODEL: Final = lazy_pattern(r"(?<![\w-])(?=[A-Za-z-]{0,8}\d)(?=[\d-]{0,8}[A-Z])[A-Z0-9][A-Za-z0-9-]{1,12}(?![\w-])")
"""What products are called: capitals and digits ("K20")."""
_VARIANT: Final = lazy_pattern(r"[ -]([A-Z][A-Za-z]{1,12})\b")
_HAN_TITLE: Final = lazy_pattern(r"[\u4e00-\u9fff]+")
_HAN_NAME: Final = 4
"""Characters with which two Chinese titles begin alike, where they name the same."""
_HAN_TAIL: Final = 2
_HAN_BRANCHES: Final = frozenset("店校厂楼班队组")
"""What ends the name of one of several, whose titles begin alike ("绿园城东店", "绿园城西店")."""
_HAN_BRANCH: Final = 3
_HAN_KINDS: Final = frozenset("班课队组店馆院厂楼校社")
"""What a Chinese name ends with that says what it is the name of: two with one of these may be two of a kind."""
_COUNT: Final = lazy_pattern(r"\A(?:\d{1,2}[a-z]?|[a-z]\d{0,2})[-_. )]{1,3}(?=[^\W\d_])", re.IGNORECASE)
_HAN_SHARED: Final = 3
"""Characters that one Chinese title begins with and the other has, where they name the same."""
_HAN_HEAD: Final = lazy_pattern(
    r"(?:看房|面试|会议|用户|客户|产品|读书|观影|旅行|出差|工作|值班|实习|学习|采访)?"
    r"(?:记录|纪要|评价|通知|公告|笔记|日志|报告|简介|介绍|说明|合同|协议|清单)[一二三四五六七八九十]?"
)
"""What kind of text a title names, and not whom or what it is about."""
_NUMBERED_TITLE: Final = lazy_pattern(r"[（(]?[一二三四五六七八九十\d]{1,3}[）)]?")
_BRANCH: Final = lazy_pattern(
    r"\b(?:branch|shop|store|office|surgery|practice|site|depot|studio|campus|library|clinic|hotel|hostel|flat|room) "
    r"(?:in|at|on|of) (?P<where>(?:[A-Z][\w'’]{1,20} ?){1,3})"
)
_PHRASE: Final = lazy_pattern(r"(?=\b([A-Z][A-Za-z'’]{2,20} [A-Z][A-Za-z'’]{2,20})\b)")
_IN_ANY_TEXT: Final = CALENDAR | words_of(
    """
    the our your this that these those for from and with all please dear kind best regards yours sincerely
    faithfully opening hours contact terms conditions privacy policy page phone number email address table
    contents frequently asked questions read more new
    """
)
"""Words with capitals that texts about anything have."""
_HAN_NAMED: Final = lazy_pattern(
    rf"[\u4e00-\u9fff]{{2}}(?:路|街|巷|大道|小区|花园|大厦|广场|公寓)|[{SURNAMES}][\u4e00-\u9fff]{{1,2}}(?![\u4e00-\u9fff])"
)
"""A street or building, and a person whose name ends where a mark stands."""
_HOUSE: Final = lazy_pattern(r"\d{1,4}(?:号楼|幢|栋|座|单元|室)\s?\d{0,5}")
_KINDS_OF_TEXT: Final = terms_of(
    "handbook leaflet brochure newsletter news bulletin manual guide datasheet sheet faq changelog readme minutes memo "
    "agenda addendum amendment appendix erratum invoice overview summary welcome info information"
)

_EDITIONS: Final = terms_of("draft final preliminary revised original updated new old interim corrected first second")
_LEAST_NAME: Final = 4
_FRAME: Final = 3
"""Words that two titles have in common, from which one other word of each names what it is about."""


def share_subject(first: Document, second: Document) -> bool | None:
    """Whether two documents share a name, or dates and numbers that are no chance; None where one names hardly any.

    Titles that name different things are told apart by that, whatever else is named in both.
    """
    if _are_of_other_cases(first, second) or _are_of_other_cases(second, first):
        return False
    if (titled := _share_title(first, second)) is not None:
        return titled
    ours, theirs = first.names, second.names
    if any(not of_term(stem(name)) for name in ours & theirs):  # that both are of some hotel says little
        return True
    if _share_han_names(first, second) or _share_phrases(first, second):
        return True
    numbers = first.numbers & second.numbers
    if len(numbers) >= _LEAST_NUMBERS or any(_FULL_DATE.fullmatch(one) for one in numbers):
        return True
    if any(_is_few(names) for names in (ours, theirs)) or _is_latin(ours) != _is_latin(theirs):
        return None
    return False


def _are_of_other_cases(first: Document, second: Document) -> bool:
    """Whether a title has the number of a case ("Offer 2025-044"), and the other document opens with another one.

    The same is said by whom they are written to, where neither speaks of the other's.
    """
    titled = _cases(first.title)
    if titled:
        opening = _cases(" ".join((second.title, *(one.text for one in second.statements[:_OPENING]))))
        everywhere = {case for one in second.statements for case in _cases(one.text)}
        alike = {_shape(case) for case in titled} & {_shape(case) for case in opening}
        return bool(alike) and titled.isdisjoint(everywhere)
    return speak_apart(first, _written_to(first), second, _written_to(second))


def speak_apart(first: Document, ours: frozenset[str], second: Document, theirs: frozenset[str]) -> bool:
    """Whether each of two documents has a name, as its terms, of which the other one never speaks."""
    return bool(ours and theirs) and ours.isdisjoint(second.vocabulary) and theirs.isdisjoint(first.vocabulary)


def _cases(text: str) -> frozenset[str]:
    return frozenset(_CASE.findall(text))


def _shape(case: str) -> str:
    return "".join("0" if char.isdigit() else char for char in case)


def _written_to(document: Document) -> frozenset[str]:
    """The words of the name of the customer or the like that a document is made out to."""
    for statement in document.statements[:_OPENING]:
        if found := _TO.match(" ".join(statement.text.split())):
            return terms_of(found["name"] or found["whose"] or found["han"]) - _KINDS_OF_TEXT
    return frozenset()


def _share_title(first: Document, second: Document) -> bool | None:
    """Whether titles name one thing, or things that have nothing to do with each other; None where they do not tell."""
    if not first.title or not second.title or first.title == second.title:
        return None
    if _are_of_two_models(first, second) or _are_of_two_branches(first, second):
        return False
    if _is_han(first.title) and _is_han(second.title):
        return _share_han_title(first, second)
    if _are_of_one_kind(first, second) or _are_of_two(first, second):
        return False
    if _is_of_variant(first, second) or _is_of_variant(second, first):
        return False
    if _is_called(first, second) or _is_called(second, first):
        return True
    if set(_MODEL.findall(first.title)) & set(_MODEL.findall(second.title)):
        return True
    ours, theirs = _names_of_title(first), _names_of_title(second)
    if ours & theirs or not terms_of(first.title) & terms_of(second.title):
        return None
    return False if speak_apart(first, ours, second, theirs) else None


def _names_of_title(document: Document) -> frozenset[str]:
    """The words of a title of which its text speaks, and that are no words everybody uses: names."""
    names = (t for t in terms_of(document.title) & _said(document) if t.isalpha() and t.isascii() and len(t) > 2)
    return frozenset(t for t in names if not of_term(t) and t not in CARDINALS) - _KINDS_OF_TEXT


def _share_han_title(first: Document, second: Document) -> bool | None:
    """Chinese titles name first whom they are about, and then what kind of text they are."""
    ours, theirs = ("".join(_HAN_TITLE.findall(document.title)) for document in (first, second))
    head, tail = len(commonprefix([ours, theirs])), len(commonprefix([ours[::-1], theirs[::-1]]))
    is_branch = not _HAN_BRANCHES.isdisjoint(ours[len(ours) - tail :][:_HAN_BRANCH])
    if head and tail and is_branch and min(len(ours), len(theirs)) > head + tail:
        return False  # "城东店", "城西店"
    bare = [_NUMBERED_TITLE.sub("", document.title) for document in (first, second)]
    if bare[0] == bare[1]:
        return None
    if _HAN_HEAD.fullmatch(ours[:head]):
        names = [frozenset(pairwise(_NUMBERED_TITLE.sub("", rest))) for rest in (ours[head:], theirs[head:])]
        return False if all(names) and names[0].isdisjoint(names[1]) else None
    if head >= _HAN_NAME or _shared_name(ours, theirs, tail) >= _HAN_SHARED:
        return True
    others = (second.statements, first.statements)
    heads = ours[:2], theirs[:2]
    is_elsewhere = any(h in s.text for h, some in zip(heads, others, strict=True) for s in some)
    is_tail = tail >= _HAN_TAIL or tail == 1 and ours[-1] in _HAN_KINDS
    return False if not head and is_tail and not is_elsewhere else None


def _is_han(title: str) -> bool:
    return _HAN_TITLE.search(title) is not None


def _shared_name(one: str, other: str, tail: int) -> int:
    """How many characters that one title begins with stand in the other, and not where both end alike."""
    found = 0
    for opening, title in ((one, other), (other, one)):
        size = next((size for size in range(len(opening) - tail, 0, -1) if opening[:size] in title), 0)
        found = max(found, size)
    return found


def _are_of_two_branches(first: Document, second: Document) -> bool:
    """Whether titles name two branches, rooms or the like by where they are ("our branch in Station Road")."""
    places = [_BRANCH.search(document.title) for document in (first, second)]
    names = [terms_of(found["where"]) if found else frozenset[str]() for found in places]
    return speak_apart(first, names[0] - names[1], second, names[1] - names[0])


def _share_phrases(first: Document, second: Document) -> bool:
    """Whether two texts have names of two words in common ("Harbour Museum", "Customs Quay"), at least two."""
    return len(_phrases(first) & _phrases(second)) >= _LEAST_NUMBERS


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _phrases(document: Document) -> frozenset[str]:
    found = (phrase.casefold() for phrase in _PHRASE.findall(f"{document.title}\n{_text(document)}"))
    return frozenset(phrase for phrase in found if _IN_ANY_TEXT.isdisjoint(phrase.split()))


def _share_han_names(first: Document, second: Document) -> bool:
    """Whether two Chinese texts name the same people and streets, at least two, and no other houses or flats."""
    (ours, our_houses), (theirs, their_houses) = _han_names(first), _han_names(second)
    is_elsewhere = bool(our_houses and their_houses) and our_houses.isdisjoint(their_houses)
    return len(ours & theirs) >= _LEAST_NUMBERS and not is_elsewhere


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _han_names(document: Document) -> tuple[frozenset[str], frozenset[str]]:
    """The people and streets that a Chinese text names, and the houses and flats."""
    text = _text(document)
    return frozenset(_HAN_NAMED.findall(text)), frozenset(_HOUSE.findall(text))


def _text(document: Document) -> str:
    return "\n".join(one.text for one in document.statements)


def are_counted(first: Document, second: Document) -> bool:
    """Whether the names of two files only count them ("1a_minutes.md", "1b_mail.txt")."""
    names = [one.name.rsplit("/", 1)[-1].rsplit(".", 1)[0] for one in (first, second)]
    rests = [_COUNT.sub("", name, count=1) for name in names]
    return rests[0] != rests[1] and all(rest != name for rest, name in zip(rests, names, strict=True))


def _are_of_one_kind(first: Document, second: Document) -> bool:
    """Whether titles name a kind of thing and two of them ("Vacancy: cook", "Vacancy: driver")."""
    kinds = [document.title.casefold().partition(":") for document in (first, second)]
    if not all(colon for _, colon, _ in kinds) or kinds[0][0] != kinds[1][0] or " " in kinds[0][0].strip():
        return False
    ours, theirs = (terms_of(what) - _KINDS_OF_TEXT for _, _, what in kinds)
    told = [some & _said(document) for some, document in ((ours, first), (theirs, second))]
    return all(told) and speak_apart(first, ours, second, theirs)


def _are_of_two(first: Document, second: Document) -> bool:
    """Whether titles say the same of two names ("St Anne's: visiting", "Royal: visiting"); each text has but one."""
    for divided in (_PARTS.split, str.split):
        left, right = divided(first.title), divided(second.title)
        others = [(a, b) for a, b in zip(left, right, strict=False) if a.casefold() != b.casefold()]
        alike = [a for a in left if a not in [one for one, _ in others]]
        if len(left) != len(right) or len(others) != 1 or not alike or _names_one(" ".join(alike), first, second):
            continue
        is_framed = len(distinct(terms_of(" ".join(alike)))) >= _FRAME
        ours, theirs = (_capital(words) if is_framed else _proper(words) for words in others[0])
        if ours and theirs and not ours <= second.vocabulary and not theirs <= first.vocabulary:
            return True
    return False


def _capital(words: str) -> frozenset[str]:
    """Words with a capital but those that tell editions of one text apart."""
    return terms_of(" ".join(_PROPER.findall(words))) - _KINDS_OF_TEXT - _EDITIONS - CARDINALS.keys()


def _names_one(words: str, first: Document, second: Document) -> bool:
    """Whether what two titles have in common is a name; the word they open with is one where it comes again as such."""
    opening, _, rest = words.partition(" ")
    is_opening = first.title.startswith(opening) and opening.isalpha()
    if is_opening and opening.casefold() not in first.names | second.names:
        words = f"{opening.casefold()} {rest}"
    return bool(_proper(words))


def _is_called(first: Document, second: Document) -> bool:
    """Whether the title of one document is a name alone, and that of the other one begins with it ("quill 3.0")."""
    name = first.title.casefold()
    is_name = name.isascii() and name.isalpha() and len(name) >= _LEAST_NAME and not of_term(stem(name))
    return is_name and second.title.casefold().startswith(f"{name} ") and terms_of(name).isdisjoint(_KINDS_OF_TEXT)


def _is_of_variant(first: Document, second: Document) -> bool:
    """Whether one title names a model and the other a variant, of which the first text never speaks ("K20 Plus")."""
    for model in set(_MODEL.findall(first.title)) & set(_MODEL.findall(second.title)):
        texts = [second.title, *(one.text for one in second.statements)]
        called = [text[found.end() :] for text in texts for found in re.finditer(rf"(?<![\w-]){model}(?![\w-])", text)]
        variants = {found[1] if (found := _VARIANT.match(rest)) else "" for rest in called}
        variant = variants.pop() if len(called) > 2 and len(variants) == 1 else ""
        if variant and variant.casefold() not in _words(first):
            return True
    return False


def _words(document: Document) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(f"{document.title}\n{_text(document)}"))


def _are_of_two_models(first: Document, second: Document) -> bool:
    """Whether titles name two models that are written alike ("Orma S3", "Orma S8"), each of which the other lacks."""
    ours, theirs = (frozenset(_MODEL.findall(document.title)) for document in (first, second))
    shapes = [{_shape(model) for model in some} for some in (ours, theirs)]
    if ours & theirs or not shapes[0] & shapes[1]:
        return False
    texts = _text(first), _text(second)
    return not any(one in texts[1] for one in ours) and not any(one in texts[0] for one in theirs)


def _proper(words: str) -> frozenset[str]:
    """Words with a capital: several are a name, and one is where it is no word that everybody uses."""
    names = _PROPER.findall(words)
    terms = frozenset(term for term in terms_of(" ".join(names)) - _KINDS_OF_TEXT - CARDINALS.keys() if term.isalpha())
    return terms if len(names) > 1 else frozenset(term for term in terms if not of_term(term))


def _said(document: Document) -> frozenset[str]:
    return frozenset(term for one in document.statements if one.place.kind != "heading" for term in one.terms)


def _is_few(names: frozenset[str]) -> bool:
    return len(names) < (_FEW_NAMES if _is_latin(names) else _FEW_RUNS)


def _is_latin(names: frozenset[str]) -> bool:
    return 2 * sum(one.isascii() for one in names) >= len(names)


def are_to_others(first: Document, second: Document) -> bool:
    """Whether both are letters, to different people."""
    ours, theirs = _addressee(first), _addressee(second)
    return bool(ours and theirs) and ours != theirs


def _addressee(document: Document) -> str:
    """To whom a letter is written; what it says of "you" is said of them."""
    opening = (statement.text.strip() for statement in document.statements[:_OPENING])
    return next((text for text in opening if SALUTES.match(text)), "")
