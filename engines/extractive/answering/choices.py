"""Questions that let choose, between A and B or yes and no: both are looked up, and what the texts say is compared."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentic_memory_bank.engines.extractive.reading.countries import Named, countries
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.phrases import QUESTION_WORDS
from agentic_memory_bank.engines.extractive.reading.values import Value, values_of
from agentic_memory_bank.engines.research import Excerpt
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize

Span = tuple[int, int]

_OR: Final = lazy_pattern(r"\bor\b", re.IGNORECASE)
_BETWEEN: Final = lazy_pattern(r"\b(?:out of|between)\b", re.IGNORECASE)
_POLAR: Final = lazy_pattern(
    rf"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could)\b(?!.*\b(?:{QUESTION_WORDS})\b)",
    re.I,
)
_ROLE: Final = lazy_pattern(r"\b(direct|produc|compos|perform|sing|author|writ|creat|found)\w*", re.IGNORECASE)
_LATER: Final = lazy_pattern(r"\b(?:later|latest|younger|youngest|(?:more|most) recent(?:ly)?|last|newer)\b", re.I)
_EARLIER: Final = lazy_pattern(r"\b(?:first|earlier|earliest|older|oldest|before|elder)\b", re.IGNORECASE)
_MORE: Final = lazy_pattern(r"\b(?:more|most|higher|highest|larger|largest|bigger|taller|longer|longest)\b", re.I)
BORN: Final = lazy_pattern(r"\bborn\b|\bolde[rs]|\byounge[rs]|\belder\b|\bbirth", re.IGNORECASE)
"""What asks for the beginning of a life."""
DIED: Final = lazy_pattern(r"\b(?:died?|dead|death)\b", re.IGNORECASE)
"""What asks for its end."""
_LIVED: Final = lazy_pattern(r"\blived (?:a )?(?:the )?long", re.IGNORECASE)
_SAME: Final = lazy_pattern(r"\bsame (?:nationality|country|nation)\b|\bshare .{0,200}nationality", re.IGNORECASE)
_IN_BRACKETS: Final = lazy_pattern(r"(?<!\s)\s*+\([^()]*+\)\s*+$")
_WORD: Final = lazy_pattern(r"\w+")
_BEFORE_SIDE: Final = lazy_pattern(r",|\b(?:is|was|were|are)\b")
_AFTER_SIDE: Final = lazy_pattern(r"(?<!\s)\s+(?:born|released|published)\b.*")
_BRACKETS: Final = lazy_pattern(r"\([^()]*\)")
_LEADING: Final = lazy_pattern(
    r"(?:The |A |An )?([A-Z][\w.'’-]*(?: (?:(?:of|the|and|de|van|von|la|&) )?[A-Z0-9][\w.'’-]*)*)"
)

_OPENING: Final = 400
"""How far into a text the years of a life stand in brackets, in characters."""
_NEAR: Final = 160
"""How far from the word for what somebody did a name is still that of who did it, in characters."""
_FAR: Final = 300
"""How far a name is taken to be where no such word stands."""
_SHORTEST: Final = 3
"""Fewest characters of a name that is looked for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and the stretches it rests on: each the index of a text, and a span in it."""

    text: str
    rests_on: tuple[tuple[int, Span], ...]


@dataclass(frozen=True, slots=True)
class _Option:
    """One of the things to choose from: its name as asked, and the index of the text about it, if there is one."""

    name: str
    place: int | None


def subject(told: Excerpt) -> str:
    """What a text is about, without brackets: its title, or else the name it opens with."""
    if told.title:
        return _IN_BRACKETS.sub("", told.title)
    leading = _LEADING.match(told.text)
    return leading[1] if leading else ""


def life(text: str) -> tuple[Value | None, Value | None]:
    """When whom a text is about was born, and when died; the first date where it does not say."""
    dates = [value for value in values_of(text) if value.kind == "date" and value.date[0]]
    for brackets in _BRACKETS.finditer(text, 0, _OPENING):
        inside = [value for value in dates if brackets.start() <= value.start < brackets.end()]
        if inside:
            return inside[0], inside[1] if len(inside) > 1 else None
    birth, death = (_first_after(rf"\b{word}\b", text, dates) for word in ("born", "died"))
    return birth or next(iter(dates), None), death


def _first_after(pattern: str, text: str, dates: Sequence[Value]) -> Value | None:
    mark = re.search(pattern, text)
    return next((value for value in dates if mark and value.start > mark.start()), None)


def choose(question: str, texts: Sequence[Excerpt]) -> Choice | None:
    """Choose as the question asks, when the texts decide it.

    Args:
        question: "Which is older, A or B?", "Are A and B from the same country?"; any other gives None.
        texts: Where to look, the best first. What a text is about is said by its title or the name it opens with.

    Returns:
        One of the two names in the words of the question, or "yes" or "no"; None when the texts do not tell.
    """
    options = _options(question, texts)
    alternative = _OR.search(question)
    if _POLAR.match(question) and not alternative:
        return _decided(question, texts, options[:2]) if len(options) > 1 else None
    if not (alternative or _BETWEEN.search(question)) or not options:
        return None
    two = _sides(question, options, alternative.span()) if alternative else [o for o, _ in options[-2:]]
    return _picked(question, texts, two) if len(two) == 2 else None


def _options(question: str, texts: Sequence[Excerpt]) -> list[tuple[_Option, Span]]:
    """What texts are about that the question names, in its order; of names inside others the longer ones."""
    asked = question.lower()
    found: list[tuple[int, int, Span]] = []
    for place, told in enumerate(texts):
        for less, name in enumerate((told.title, subject(told))):
            span = _stands(name.lower(), asked)
            if span:
                found.append((less, place, span))
                break
    found.sort(key=lambda one: (one[2][0] - one[2][1], one[0], one[1]))
    kept: list[tuple[int, Span]] = []
    for _, place, span in found:
        if not any(span[0] < end and start < span[1] for _, (start, end) in kept):
            kept.append((place, span))
    kept.sort(key=lambda one: one[1])
    return [(_Option(_IN_BRACKETS.sub("", question[slice(*span)]), place), span) for place, span in kept]


def _stands(name: str, text: str) -> Span | None:
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) if len(name) >= _SHORTEST else None
    return found.span() if found else None


def _sides(question: str, options: Sequence[tuple[_Option, Span]], alternative: Span) -> list[_Option]:
    """What stands on either side of the "or"; a side without a text of its own is taken from the words."""
    left = [option for option, span in options if span[1] <= alternative[0]]
    right = [option for option, span in options if span[0] >= alternative[1]]
    if not left:
        words = _BEFORE_SIDE.split(question[: alternative[0]])[-1].strip(" :")
        left = [_Option(words, None)]
    if not right:
        words = _AFTER_SIDE.sub("", question[alternative[1] :]).strip(" ?.")
        right = [_Option(words, None)]
    return [left[-1], right[0]] if left[-1].name and right[0].name else []


@dataclass(frozen=True, slots=True)
class _Deciding:
    """What decides for or against an option: what is compared, and where it stands."""

    compared: tuple[float, ...]
    place: int
    start: int


def _picked(question: str, texts: Sequence[Excerpt], options: Sequence[_Option]) -> Choice | None:
    """The option that is first, last, most, or most like what is asked for."""
    for asks, known in ((_LIVED, _years), (_LATER, _date), (_EARLIER, _date), (_MORE, _amount)):
        if asks.search(question):
            found = [None if option.place is None else known(question, texts, option.place) for option in options]
            chosen = _extreme(found, least=asks is _EARLIER)
            if chosen is not None:
                rests_on = [(one.place, _sentence(texts[one.place].text, one.start)) for one in found if one]
                return Choice(options[chosen].name, tuple(rests_on))
            break
    return _described(question, texts, options)


def _extreme(found: Sequence[_Deciding | None], *, least: bool) -> int | None:
    """Which of two is the lesser or the greater; None where one is not known or they are the same."""
    known = [one.compared for one in found if one]
    if len(known) < 2 or known[0] == known[1]:
        return None
    return 0 if (known[0] < known[1]) == least else 1


def _sentence(text: str, offset: int) -> Span:
    start, end = next(span for span in sentences(text) if span[0] <= offset < span[1])
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), start + len(said.rstrip())


def _date(question: str, texts: Sequence[Excerpt], place: int) -> _Deciding | None:
    """The date that counts for a thing: of the life of whom the question means, else the first that its text gives.

    The director of an older film tends to be the older one: without a text about the director, the film speaks.
    """
    person = _person(question, texts, place)
    born = BORN.search(question)
    if (born or DIED.search(question)) and person is not None:
        birth, death = life(texts[person].text)
        return _dated(birth if born else death, person)
    dates = (value for value in values_of(texts[place].text) if value.kind == "date" and value.date[0])
    return _dated(next(dates, None), place)


def _dated(value: Value | None, place: int) -> _Deciding | None:
    return _Deciding(tuple(float(part or 0) for part in value.date), place, value.start) if value else None


def _years(question: str, texts: Sequence[Excerpt], place: int) -> _Deciding | None:
    """How many years somebody lived."""
    person = _person(question, texts, place)
    birth, death = life(texts[place if person is None else person].text)
    if birth is None or death is None:
        return None
    years = (death.date[0] or 0) - (birth.date[0] or 0)
    return _Deciding((float(years),), place if person is None else person, death.start)


def _amount(question: str, texts: Sequence[Excerpt], place: int) -> _Deciding | None:
    """The greatest number of what the question counts."""
    counted = {stem(word) for word in _WORD.findall(question)}
    numbers = [v for v in values_of(texts[place].text) if v.kind == "number" and not v.ordinal and v.unit in counted]
    greatest = max(numbers, key=lambda value: value.amount, default=None)
    return _Deciding((greatest.amount,), place, greatest.start) if greatest else None


def _person(question: str, texts: Sequence[Excerpt], place: int) -> int | None:
    """The index of the text about whom the question means: the thing itself, or its director, composer, author."""
    role = _ROLE.search(question)
    if not role:
        return place
    told = texts[place].text.lower()
    marks = [mark.start() for mark in re.finditer(rf"\b{role[1].lower()}", told)]
    near: list[tuple[int, int]] = []
    for other, text in enumerate(texts):
        name = subject(text).lower()
        found = told.find(name) if len(name) > _SHORTEST and name != subject(texts[place]).lower() else -1
        if found >= 0:
            gaps = [found - mark if found > mark else 2 * (mark - found) for mark in marks]
            near.append((min(gaps, default=_FAR), other))
    gap, nearest = min(near, default=(_FAR, -1))
    return nearest if gap < _NEAR else None


def _described(question: str, texts: Sequence[Excerpt], options: Sequence[_Option]) -> Choice | None:
    """The option whose text shares more terms with the question."""
    if any(option.place is None for option in options):
        return None
    asked = _rest(question, options)
    shared = [len(asked & set(tokenize(texts[o.place or 0].text))) for o in options]
    if shared[0] == shared[1]:
        return None
    option = options[0 if shared[0] > shared[1] else 1]
    place = option.place or 0
    return Choice(option.name, ((place, _most_like(asked, texts[place].text)),))


def _rest(question: str, options: Sequence[_Option]) -> set[str]:
    return set(tokenize(question)) - {term for option in options for term in tokenize(option.name)}


def _most_like(terms: set[str], text: str) -> Span:
    best = max(sentences(text), key=lambda span: (len(terms & set(tokenize(text[slice(*span)]))), -span[0]))
    return _sentence(text, best[0])


_ENOUGH: Final = 0.5
"""Share of the terms of a statement that a text must hold to speak for it."""


def _decided(question: str, texts: Sequence[Excerpt], options: Sequence[tuple[_Option, Span]]) -> Choice | None:
    """Whether two things are alike: from one country, or both what the question says."""
    both = [option for option, _ in options]
    if _SAME.search(question):
        return _same_country(question, texts, both)
    asked = _rest(question, both)
    wanted = {named.country for named in countries(question)}
    places = [option.place for option in both if option.place is not None]
    spans = tuple((place, _most_like(asked, texts[place].text)) for place in places)
    speaks = all(_speaks_for(asked, wanted, texts[place]) for place in places)
    return Choice("yes" if speaks else "no", spans)


def _speaks_for(asked: set[str], wanted: set[str], told: Excerpt) -> bool:
    """Whether a text holds enough of a statement, and first of all names the country that it names."""
    if wanted and wanted.isdisjoint(named.country for named in _opening(told)):
        return False
    return len(asked & set(tokenize(told.text))) >= _ENOUGH * len(asked)


def _same_country(question: str, texts: Sequence[Excerpt], options: Sequence[_Option]) -> Choice | None:
    found = [_homes(question, texts, option.place) for option in options if option.place is not None]
    if len(found) < 2 or not all(named for _, named in found):
        return None
    first, second = ([one.country for one in named] for _, named in found)
    same = set(first) & set(second) if "located" in question else first[0] == second[0]
    rests_on = tuple((place, _sentence(texts[place].text, named[0].start)) for place, named in found)
    return Choice("yes" if same else "no", rests_on)


def _homes(question: str, texts: Sequence[Excerpt], place: int) -> tuple[int, list[Named]]:
    """The countries that the text about whom the question means opens with, or else that about the thing itself."""
    person = _person(question, texts, place)
    for where in (place if person is None else person, place):
        named = _opening(texts[where])
        if named:
            return where, named
    return place, []


def _opening(told: Excerpt) -> list[Named]:
    """The countries in the first two sentences, not counting a title above them."""
    head = len(told.title) if told.title and told.text.startswith(told.title) else 0
    spans = [span for span in sentences(told.text) if span[1] > head + 1]
    end = spans[min(1, len(spans) - 1)][1] if spans else 0
    return [named for named in countries(told.text[:end]) if named.start >= head]
