"""Sentences of a text taken apart for comparison: their words, values, names, denials, and the offsets of each."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading import lexicon
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.values import Value, values_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import trimmed

UnitKind = Literal["word", "stop", "value", "denial", "han", "name"]

_TOKEN: Final = lazy_pattern(
    r"[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ0-9_]*(?:['’.-][A-Za-zÀ-ɏ0-9_]+)*|[0-9][A-Za-z0-9_.,:/-]*|[\u3400-\u9fff]+|[^\W\s]+"
)
_HAN: Final = lazy_pattern(r"[\u3400-\u9fff]")
_QUESTION: Final = lazy_pattern(r"(?:[?？]\s*+[\"”’』」）)]*+\s*+|[吗呢嘛么]\W*+)$")
_CHOICE: Final = lazy_pattern(r"([\u3400-\u9fff])[不没]\1")
_CLAUSE_MARKS: Final = frozenset(",;:()[]，；：、（）—–")
_CITATION: Final = lazy_pattern(r"\[\s?[0-9]{1,3}\s?\]")
_QUALIFIED: Final = lazy_pattern(
    r"[A-Z0-9][^()\n]{0,60}?\s?\(\s?(?!\W{0,42}(?:born|b\.|died|d\.|[0-9\s]{1,42}[-–—]|[^()]{0,42}[–—−]|[^()]{0,42}--))([^()]{2,40}?)\s?\)"
)
_UNDENIED: Final = lexicon.UNDENIED_VERBS | {"only"}
_MAX_UNITS: Final = 160
_NAME_JOIN: Final = frozenset({"of", "the", "de", "van", "von", "la", "le", "del", "der", "and", "&"})


def _chinese_words() -> tuple[dict[str, str], int]:
    words: dict[str, str] = {}
    plain = (
        {word for pair in lexicon.OPPOSITES for word in pair} | set(lexicon.WORD_CLASSES) | set(lexicon.CHINESE_ROLES)
    )
    words.update({word: "han" for word in plain if not word.isascii() and len(word) > 1})
    words.update({word: "han" for word in lexicon.CHINESE_NOT_NEGATION})
    words.update({word: "han" for word in lexicon.CHINESE_CONDITIONS})
    words.update({word: "denial" for word in lexicon.CHINESE_NEGATORS})
    return words, max(len(word) for word in words)


_CHINESE, _CHINESE_LONGEST = _chinese_words()


@dataclass(frozen=True, slots=True)
class Unit:
    """One word, Chinese character or value of a sentence.

    Attributes:
        key: What is compared: the stem, the character, or the value in base units.
        kind: "word" and "name" and "han" carry content, "stop" does not, "value" is a number or date, "denial"
            a negating word.
        start: Offset of its first character in the text.
        end: Offset past its last character.
        value: The number or date, for kind "value".
        clause: Which clause of the sentence it stands in, counted from 0 at commas, brackets and the like.
    """

    key: str
    kind: UnitKind
    start: int
    end: int
    value: Value | None = None
    clause: int = 0

    @property
    def carries(self) -> bool:
        """Whether the unit says something of its own."""
        return self.kind != "stop"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with what can clash in it.

    Attributes:
        start: Offset of its first character in the text.
        end: Offset past its last character.
        units: Its units in order, at most 160 (the rest of a longer one is not read).
        content: Keys of the words, names and characters that carry content, without values and denials.
        names: Lower-cased names (runs of capitalised words, or Latin words inside Chinese).
        chinese: Whether it is written in Chinese.
        question: Whether it asks and so states nothing.
        qualifier: What a bracket right after the name at its head says ("1951 film"), dates of a life left out.
    """

    start: int
    end: int
    units: tuple[Unit, ...]
    content: frozenset[str]
    names: frozenset[str]
    chinese: bool
    question: bool
    qualifier: str = ""

    @property
    def values(self) -> tuple[Value, ...]:
        """Numbers and dates in order."""
        return tuple(unit.value for unit in self.units if unit.value is not None)

    @property
    def denials(self) -> tuple[Unit, ...]:
        """The negating words in order."""
        return tuple(unit for unit in self.units if unit.kind == "denial")


@lru_cache(maxsize=256)
def sentences_of(text: str) -> tuple[Sentence, ...]:
    """Every sentence of a text, parsed; sentences without any word are left out."""
    spans = (trimmed(text, span) for span in sentences(text))
    parsed = (_sentence(text, start, end) for start, end in spans if start < end)
    return tuple(sentence for sentence in parsed if sentence.units)


def _sentence(text: str, start: int, end: int) -> Sentence:
    body = text[start:end]
    units = _mark_denials(_mark_names(body, _units(body)))[:_MAX_UNITS]
    clauses = _clauses(body, units)
    shifted = tuple(_shift(unit, start, clause) for unit, clause in zip(units, clauses, strict=True))
    content = frozenset(unit.key for unit in shifted if unit.kind in ("word", "name", "han"))
    names = frozenset(unit.key for unit in shifted if unit.kind == "name")
    return Sentence(start, end, shifted, content, names, is_cjk(body), bool(_QUESTION.search(body)), _qualifier(body))


def _qualifier(body: str) -> str:
    match = _QUALIFIED.match(body)
    return " ".join(match.group(1).lower().split()) if match else ""


def _clauses(body: str, units: list[Unit]) -> list[int]:
    clauses: list[int] = []
    clause = end = 0
    for unit in units:
        clause += any(char in _CLAUSE_MARKS for char in body[end : unit.start])
        clauses.append(clause)
        end = unit.end
    return clauses


def _shift(unit: Unit, offset: int, clause: int) -> Unit:
    value = unit.value
    if value is not None and offset:
        value = replace(value, start=value.start + offset, end=value.end + offset)
    return Unit(unit.key, unit.kind, unit.start + offset, unit.end + offset, value, clause)


def _units(body: str) -> list[Unit]:
    citations = {match.start() + 1 for match in _CITATION.finditer(body)}
    values = [value for value in values_of(body) if not {value.start, value.start - 1} & citations]
    units = [Unit(value_key(value), "value", value.start, value.end, value) for value in values]
    covered = 0
    spans = [(value.start, value.end) for value in values]
    for match in _TOKEN.finditer(body):
        start, end = match.span()
        while covered < len(spans) and spans[covered][1] <= start:
            covered += 1
        for piece_start, piece_end in _outside(start, end, islice(spans, covered, None)):
            units.extend(_tokens(body, piece_start, piece_end))
    return sorted(units, key=lambda unit: (unit.start, unit.end))


def _outside(start: int, end: int, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    for left, right in spans:
        if left >= end:
            break
        if start < left:
            pieces.append((start, left))
        start = max(start, right)
    return [*pieces, (start, end)] if start < end else pieces


def _tokens(body: str, start: int, end: int) -> list[Unit]:
    if _HAN.match(body, start):
        return _chinese_units(body, start, end)
    word = body[start:end].strip("'’.-_,:/")
    if not word:
        return []
    return _latin_units(word, start + body[start:end].index(word))


def _latin_units(word: str, start: int) -> list[Unit]:
    parts = word.split("-") if "-" in word and not any(char.isdigit() for char in word) else [word]
    units: list[Unit] = []
    for part in parts:
        if part:
            units.append(_latin(part, start))
        start += len(part) + 1
    return units


def _latin(word: str, start: int) -> Unit:
    lowered = word.lower().replace("’", "'")
    if lowered in lexicon.NEGATORS or lowered.endswith("n't"):
        key = lowered if lowered == "without" or word == "No" else "not"
        return Unit(key, "denial", start, start + len(word))
    acronym = len(word) > 1 and word.isupper()
    kind: UnitKind = "stop" if lowered in lexicon.STOP_WORDS and not acronym else "word"
    return Unit(stem(word) or lowered, kind, start, start + len(word))


def _chinese_units(body: str, start: int, end: int) -> list[Unit]:
    units: list[Unit] = []
    choices = {index for match in _CHOICE.finditer(body, start, end) for index in range(match.start(), match.end())}
    while start < end:
        word = _longest(body, start, end)
        kind: UnitKind = "denial" if _CHINESE.get(word) == "denial" else "han"
        if (
            start in choices
            or start + len(word) - 1 in choices
            or (kind == "denial" and body.startswith("有", start + 1) and body[max(0, start - 1)] == "有")
        ):
            kind, word = "han", body[start]
        if word in lexicon.CHINESE_FUNCTION_CHARACTERS:
            kind = "stop"
        units.append(Unit("not" if kind == "denial" else word, kind, start, start + len(word)))
        start += len(word)
    return units


def _longest(body: str, start: int, end: int) -> str:
    for size in range(min(_CHINESE_LONGEST, end - start), 1, -1):
        if body[start : start + size] in _CHINESE:
            return body[start : start + size]
    return body[start]


def value_key(value: Value) -> str:
    """What a value is compared by: equal for `two` and `2`, `1 km` and `1,000 m`, `30 Aug` and `August 30`."""
    if value.kind == "date":
        return "#" + "-".join("" if part is None else str(part) for part in value.date)
    return f"#{'th' if value.ordinal else ''}{value.amount:.6g}{value.unit if value.measured else ''}"


def _mark_names(body: str, units: list[Unit]) -> list[Unit]:
    """Turn capitalised words into names; at the head of a sentence only with a sign that it is one."""
    latin_is_name = len(_HAN.findall(body)) > 0
    marked: list[Unit] = []
    for index, unit in enumerate(units):
        surface = body[unit.start : unit.end]
        if unit.kind == "word" and surface[:1].isalpha() and surface.isascii() and latin_is_name and len(surface) > 1:
            marked.append(Unit(unit.key, "name", unit.start, unit.end))
        elif surface == "A" and index > 0:
            marked.append(Unit("A", "name", unit.start, unit.end))
        elif unit.kind == "word" and surface[:1].isupper() and (index > 0 or _heads_name(body, units)):
            marked.append(Unit(unit.key, "name", unit.start, unit.end))
        else:
            marked.append(unit)
    return marked


def _heads_name(body: str, units: list[Unit]) -> bool:
    surface = body[units[0].start : units[0].end]
    if any(char.isupper() or char.isdigit() for char in surface[1:]):
        return True
    return len(units) > 1 and (
        body[units[1].start : units[1].end][:1].isupper()
        or units[1].key in ("is", "was", "has", "are", "were", "had", "s")
    )


def _mark_denials(units: list[Unit]) -> list[Unit]:
    """What denies without a negator does ("fail to"), and what only looks like it does not ("not only", "No. 5")."""
    marked = list(units)
    for index, (unit, following) in enumerate(zip(units, units[1:], strict=False)):
        if (
            unit.kind == "word"
            and unit.key in lexicon.NEGATING_VERBS
            and following.key in lexicon.NEGATIVE_VERB_OBJECTS
        ):
            marked[index] = Unit("not", "denial", unit.start, unit.end)
        elif unit.kind == "denial" and (
            following.key in _UNDENIED or (unit.key == "no" and following.value and following.start > unit.end + 1)
        ):
            marked[index] = Unit("not", "stop", unit.start, unit.end)
    return marked
