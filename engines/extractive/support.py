"""What a model says beyond the texts it names: names, numbers and dates of its own, and what it denies or affirms."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby, islice, takewhile
from operator import itemgetter
from typing import Final

from agentic_memory_bank.engines.extractive.answering.quoting import parts_of
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, may_hold
from agentic_memory_bank.engines.extractive.reading.lexicon import OPPOSITES, STOP_WORDS
from agentic_memory_bank.engines.extractive.reading.sentence import Unit, sentences_of
from agentic_memory_bank.engines.extractive.reading.values import Value
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import Span

OF_THE_TEXT: Final = 0.35
"""Share of the words of a summary that stand in its text, from which it is one of it."""
TOLD: Final = 0.2
"""Share of the words of an answer that stand in a quote, from which it gives what that does: models say more."""
MOST_READ: Final = 20
"""How many sentences of an answer are looked up, and how many that may bear one are read."""
_REACH: Final = 4
"""How many words a denial denies."""
_SEEN: Final = 24
"""Among how many units behind it these are."""
_CONDITION: Final = "without"
"""Says under which condition something holds, and denies nothing."""
_LINK: Final = re.compile(
    r"\b(?:https?://(?:www\.)?|www\.)(?P<place>(?:[^\s<>()\[\]\"'“”‘’，。；、（）]|\([^\s<>()]*\))+(?<=[\w/)]))",
    re.IGNORECASE,
)
"""An address; texts may have it without how it is reached."""
_CONTENT: Final = ("word", "name", "han")
_JOINTS: Final = frozenset(("and", "but", "while", "because", "although", "而", "但"))
_MORE_OR_LESS: Final = "more less fewer later earlier longer exceed over above below 超 低 多 少 高 晚 早"
_COMPARED: Final = frozenset(_MORE_OR_LESS.split())
_NONE: Final[frozenset[str]] = frozenset()
_OPPOSITES: Final = {a: frozenset(b for _, b in pairs) for a, pairs in groupby(sorted(OPPOSITES), itemgetter(0))}
_RECKONED: Final = 40
"""Of how many numbers it is seen whether two of them make a third."""
_ROUNDED: Final = 0.005
_YES_OR_NO = ("yes", "no", "not found", "unknown", "sure", "certainly", "absolutely", "indeed", "okay", "great")
_SAID_OF_ITSELF: Final = frozenset((*_YES_OR_NO, "sorry", "hello"))


@dataclass(frozen=True, slots=True)
class _SaidClause:
    """What one clause speaks of, and what of that it denies."""

    content: frozenset[str]
    denied: frozenset[str]
    denial: str = ""
    """The first word that denies, as written."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Texts, read for what may be said of them.

    Attributes:
        words: Keys of all words and names.
        values: Numbers and dates.
        clauses: Each with whether it denies what it says.
        affirmed: Words that some clause does not deny.
        denied: Words that some clause denies.
        beside: By word that has an opposite, the words that stand in its clauses.
        letters: The texts as they stand, in small letters.
        is_chinese: Whether all of them are.
    """

    words: frozenset[str]
    values: tuple[Value, ...]
    clauses: tuple[_SaidClause, ...]
    affirmed: frozenset[str]
    denied: frozenset[str]
    beside: Mapping[str, frozenset[str]] = field(repr=False)
    letters: str = field(repr=False)
    is_chinese: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Evidence":
        """Read texts."""
        given = [text for text in texts if text.strip()]
        read = [(text, sentence.units) for text in given for sentence in sentences_of(text)]
        units = [unit for _, those in read for unit in those]
        clauses = tuple(clause for text, those in read for clause in _clauses(text, those))
        beside: dict[str, set[str]] = {}
        for clause in clauses:
            for word in clause.content & _OPPOSITES.keys():
                beside.setdefault(word, set()).update(clause.content)
        return cls(
            words=frozenset(unit.key for unit in units),
            values=tuple(unit.value for unit in units if unit.value),
            clauses=clauses,
            affirmed=frozenset(key for one in clauses for key in one.content - one.denied),
            denied=frozenset(key for one in clauses for key in one.denied),
            beside={word: frozenset(others) for word, others in beside.items()},
            letters="\n".join(given).casefold(),
            is_chinese=bool(given) and all(map(is_cjk, given)),
        )


def unsupported(said: str, texts: Sequence[str], known: Sequence[str] = ()) -> tuple[str, ...]:
    """List what of a model's words the texts do not say, as it is written.

    A number that two numbers of the texts make (a difference, a sum) is one of theirs.

    Args:
        said: By the model.
        texts: What it rests on.
        known: Texts whose names and numbers may be used besides; what they deny or affirm says nothing.

    Example:
        >>> unsupported("Zork Ltd built it in 1066.", ["The tower was built in 1889."])
        ('Ltd', '1066')
        >>> unsupported("The lift is open.", ["The lift is not open."])
        ('(not)',)
        >>> unsupported("See https://vega.example/2024/lift.", ["The lift is open."])
        ('https://vega.example/2024/lift',)
    """
    own = Evidence.of(texts)
    return _beyond(said, own, Evidence.of((*texts, *known)) if known else own)


def _beyond(said: str, own: Evidence, both: Evidence) -> tuple[str, ...]:
    found: list[str] = [link[0] for link in _LINK.finditer(said) if not _is_told(link, both.letters)]
    said = _LINK.sub(lambda link: "x" * len(link[0]), said)  # what stands in an address is neither name nor number
    for sentence in sentences_of(said):
        found += [said[u.start : u.end] for u in _foreign(said, sentence.units, both)]
        found += _turned(said, sentence.units, own)
    return tuple(dict.fromkeys(found))


def _is_told(link: re.Match[str], letters: str) -> bool:
    place = link["place"].rstrip("/").casefold()
    return link[0].casefold() in letters or ("." in place and place in letters)


def support_for(said: str, quoted: Sequence[str], texts: Sequence[str]) -> list[tuple[int, Span]]:
    """The sentences of texts that bear what the quotes of an answer do not: models quote less than they read.

    Args:
        said: The answer.
        quoted: Its quotes, and what else is known.
        texts: What it was made of.

    Returns:
        For each sentence of the answer one at most, by the index of its text.
    """
    found: list[tuple[int, Span]] = []
    for start, end in sentences(said)[:MOST_READ]:
        one = said[start:end]
        missing = [word.casefold() for word in unsupported(one, quoted)]
        if not missing:
            continue
        likely = [
            (number, span)
            for number, text in enumerate(texts)
            for span in sentences(text)
            if any(word in text[span[0] : span[1]].casefold() for word in missing)
        ]
        bearing = [
            (_likeness(one, texts[number][span[0] : span[1]]), -number, span)
            for number, span in likely[:MOST_READ]
            if not unsupported(one, [*quoted, texts[number][span[0] : span[1]]])
        ]
        likeness, number, span = max(bearing, default=(0.0, 0, (0, 0)))
        if likeness >= OF_THE_TEXT:
            piece = texts[-number][span[0] : span[1]]
            found.append((-number, (span[0] + len(piece) - len(piece.lstrip()), span[0] + len(piece.rstrip()))))
    return found


def borne(
    said: str, quoted: Sequence[str], known: Sequence[str], beside: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """What of an answer its quotes bear, and what of it they do not, as written.

    Args:
        said: The answer.
        quoted: Its quotes; without any, nothing of it is borne.
        known: What else is taken for true: the question, what was established.
        beside: Texts whose names and numbers may be used besides.

    Returns:
        The sentences that are borne, none where what is left speaks of nothing that is quoted; and the words.
    """
    if not quoted:
        return "", ()
    own = unsupported(said, [*known, *quoted], beside)
    if not own:
        return said.strip(), ()
    kept = supported_part(said, [*known, *quoted], beside)
    return (kept if kept and _likeness(kept, "\n".join(quoted)) >= OF_THE_TEXT else ""), own


def undisputed(said: str, quoted: Sequence[str]) -> list[str]:
    """Words that may be taken for true, a question's for one; nothing where quotes deny what they affirm, or affirm it.

    Example:
        >>> undisputed("How far is it visible?", ["It is not visible."]), undisputed("Who saw it?", ["Ana saw it."])
        ([], ['Who saw it?'])
    """
    held = Evidence.of(quoted)
    clauses = [clause for sentence in sentences_of(said) for clause in _clauses(said, sentence.units)]
    is_disputed = any(
        clause.denied & (held.affirmed - held.denied)
        or (clause.content - clause.denied) & (held.denied - held.affirmed)
        for clause in clauses
    )
    return [] if is_disputed else [said]


def _likeness(said: str, text: str) -> float:
    """Share of the words of a sentence that stand in a text."""
    own, held = Evidence.of([said]), Evidence.of([text])
    content = frozenset(key for clause in own.clauses for key in clause.content)
    return len(content & held.words) / len(content) if content else 0.0


def speaks_of(said: str, text: str) -> bool:
    """Whether a model's words speak of a text at all, in its language: many of them stand in it."""
    return is_cjk(said) == is_cjk(text) and _likeness(said, text) >= OF_THE_TEXT


def may_answer(question: str, said: str) -> bool:
    """Whether words hold the kind of thing that is asked for; where that is not clear, they may.

    Example:
        >>> may_answer("What does a licence cost?", "# Harrowgate, a program for backups")
        False
    """
    return may_hold(asked_for(question), said)


def may_answer_all(question: str, said: str) -> bool:
    """Whether words hold what each part of a question asks for; where that is not clear, they may.

    Example:
        >>> may_answer_all("When did it open, and who built it?", "It opened on 3 May 2016.")
        False
    """
    return all(may_answer(part, said) for part in parts_of(question))


def asks_several(question: str) -> bool:
    """Whether a question asks for several things.

    Example:
        >>> asks_several("When did it open, and who built it?"), asks_several("Who built the tower and the lift?")
        (True, False)
    """
    return len(parts_of(question)) > 1


def tells(said: str, quoted: str, asked: str) -> bool:
    """Whether an answer gives what a quote does beyond the words of the question; true where they share no language.

    Example:
        >>> tells("Your dog is called Rex.", "We named the dog Rex.", "What is my dog called?")
        True
        >>> tells("That is a very good question.", "We named the dog Rex.", "What is my dog called?")
        False
    """
    if is_cjk(said) != is_cjk(quoted):
        return is_cjk(said) == is_cjk(asked)
    known = Evidence.of([asked]).words
    answered, held = (_content(text) - known for text in (said, quoted))
    shared = len(answered & held)
    return not held or bool(shared) and (shared >= TOLD * len(answered) or shared >= OF_THE_TEXT * len(held))


def _content(text: str) -> frozenset[str]:
    """Keys of the words that say something, and of the numbers and dates."""
    units = (unit for sentence in sentences_of(text) for unit in sentence.units)
    return frozenset(unit.key for unit in units if unit.kind in _CONTENT or unit.value)


def is_quotable(words: str) -> bool:
    """Whether words are enough to be a quote: two that say something, one of three, a figure, two characters."""
    said = [unit for sentence in sentences_of(words) for unit in sentence.units]
    units = [unit for unit in said if unit.kind != "stop"]
    if any(unit.value and any(map(str.isalpha, words[unit.start : unit.end])) for unit in units):
        return True
    characters = sum(unit.end - unit.start for unit in units if unit.kind == "han")
    is_enough = len(units) > 1 or len(said) > 2
    return characters > 1 or (is_enough and any(unit.kind in ("word", "name", "han") for unit in units))


def supported_part(said: str, texts: Sequence[str], known: Sequence[str] = ()) -> str:
    """The sentences of a model's words that the texts support."""
    own, both = Evidence.of(texts), Evidence.of((*texts, *known))
    spans = [said[start:end] for start, end in sentences(said)]
    return "".join(one for one in spans if not _beyond(one, own, both)).strip()


def _foreign(said: str, units: Sequence[Unit], held: Evidence) -> Iterator[Unit]:
    """The names, numbers and dates that stand nowhere in the evidence."""
    for place, unit in enumerate(units):
        if unit.value is not None:
            if not _is_held(unit, unit.value, held):
                yield unit
        elif _is_name(said, place, units) and not (held.is_chinese and not is_cjk(said)):
            words = said[unit.start : unit.end].casefold()
            if unit.key not in held.words and words not in held.letters and words not in _SAID_OF_ITSELF:
                yield unit


def _is_name(said: str, place: int, units: Sequence[Unit]) -> bool:
    """Whether a word is a name or has figures in it; at the head of a sentence only where it stands alone."""
    unit = units[place]
    words = said[unit.start : unit.end]
    if unit.kind not in ("name", "word") or words.casefold() in STOP_WORDS:
        return False
    if any(map(str.isdigit, words)) or any(map(str.isupper, words[1:])):
        return True
    if place:
        return unit.kind == "name"
    return words[:1].isupper() and sum(unit.carries for unit in units) == 1


def _is_held(unit: Unit, value: Value, held: Evidence) -> bool:
    if unit.key in held.words or (value.amount == 1 and not value.measured and value.kind == "number"):
        return True
    if value.kind == "date":
        dates = [one.date for one in held.values if one.kind == "date"]
        return all(part is None or any(part == date[i] for date in dates) for i, part in enumerate(value.date))
    numbers = [one for one in held.values if one.kind == "number"]
    if any(_same_amount(value, one) for one in numbers):
        return True
    plain = [*dict.fromkeys(round(_plain(one), 6) for one in numbers)]
    plain += [float(one.date[0]) for one in held.values if one.kind == "date" and one.date[0]]
    return any(_near(_plain(value), made) for made in _reckoned(plain))


def _same_amount(said: Value, held: Value) -> bool:
    if said.measured and held.measured:
        return said.unit == held.unit and _near(said.amount, held.amount)
    return _near(_plain(said), _plain(held))


def _plain(value: Value) -> float:
    """The number as it is written, whatever its unit."""
    return value.amount / (value.factor or 1.0)


def _near(first: float, second: float) -> bool:
    return abs(first - second) <= _ROUNDED * max(abs(first), abs(second))


def _reckoned(numbers: Sequence[float]) -> Iterator[float]:
    """What two numbers make together."""
    for a, b in combinations(islice(numbers, _RECKONED), 2):
        yield abs(a - b)
        yield a + b


def _clauses(text: str, units: Sequence[Unit]) -> Iterator[_SaidClause]:
    for _, group in groupby(units, lambda unit: unit.clause):
        own = list(group)
        content = frozenset(unit.key for unit in own if unit.kind in _CONTENT)
        denials = [place for place, unit in enumerate(own) if unit.kind == "denial" and unit.key != _CONDITION]
        if content:
            denied = frozenset(key for place in denials for key in _scope(own[place + 1 : place + _SEEN]))
            yield _SaidClause(content, denied, text[own[denials[0]].start : own[denials[0]].end] if denials else "")


def _scope(behind: Sequence[Unit]) -> Iterator[str]:
    """The words that a denial in front of them denies; of a limit ("not more than six") the comparison alone."""
    same = list(takewhile(lambda unit: unit.key not in _JOINTS, behind))
    measure = next((place for place, unit in enumerate(same) if unit.value), 0)
    compared = [unit.key for unit in same[: min(measure, _REACH)] if unit.key in _COMPARED]
    return islice(compared or (unit.key for unit in same if unit.kind in _CONTENT), _REACH)


def _turned(said: str, units: Sequence[Unit], held: Evidence) -> Iterator[str]:
    """What a clause denies that the texts affirm, or the other way round: "not" as written, "(not)" where it is gone.

    A word in place of its opposite counts as well.
    """
    affirmed, denied = held.affirmed, held.denied
    for clause in _clauses(said, units):
        if clause.denial:
            opposites = frozenset(other for word in clause.denied for other in _OPPOSITES.get(word, _NONE))
            is_foreign = not clause.content & (affirmed | denied)  # in another language, say
            if not (denied & clause.denied or opposites & affirmed or (is_foreign and denied) or not clause.denied):
                yield clause.denial
            continue
        if clause.content & (denied - affirmed):
            yield "(not)"
        for word in sorted(clause.content - affirmed - denied):
            others = _OPPOSITES.get(word, _NONE) & affirmed - clause.content
            if any(held.beside.get(other, _NONE) & clause.content for other in others):
                yield word
