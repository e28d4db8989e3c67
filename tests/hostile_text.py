"""Text made to be slow to read, from a pattern's own atoms and from what has stopped a server; how long it takes.

Loaded by path from the tests of several folders (`tests` is no package).
"""

import ast
import dataclasses
import gc
import importlib
import inspect
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from re import _constants as ops  # pyright: ignore[reportAttributeAccessIssue]
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue]
from types import ModuleType
from typing import Any, Final, NamedTuple

import agentic_memory_bank
from agentic_memory_bank.tools.text.patterns import LazyPattern

SIZES: Final = (4_000, 8_000, 16_000, 32_000)
"""Characters at which CPU times are compared."""
PER_DOUBLING: Final = 2.6
"""How many times as long twice the text may take."""
LONGEST: Final = 1.0
"""CPU seconds that 32,000 characters may take: thrice what the slowest reader takes on two shared cores."""
NOTICEABLE: Final = 0.03
"""CPU seconds below which the growth of a time says nothing: a machine that is busy has such hiccups."""
PATIENCE: Final = 2.0
"""CPU seconds after which a reading is interrupted: what is exponential never ends."""
TRIES: Final = 6

TAILS: Final = ("", "x", "\x00")
"""What ends a hostile text: it matches, or a letter or another character keeps it from matching."""
_CHARACTERS: Final = ' a1A.,中\n"-_?是:(/=“@>'
"""Of these, those that a class of characters holds stand for it, beside its own."""
_REPEATS: Final = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_SINGLE: Final = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)
_MANY: Final = 6
"""How often something has to be repeatable to be worth a text of its own."""


class Text(NamedTuple):
    """A text of any length: how it starts, what is said again and again, and how it ends."""

    start: str
    unit: str
    tail: str = ""

    def of(self, size: int) -> str:
        """The text, of so many characters."""
        room = size - len(self.tail)
        return (self.start + self.unit * (room // len(self.unit) + 1))[:room] + self.tail


_REPORTED: Final = ("a.", "-eyJaaaaaaaa", "I live in ", "“", "中", "1 ", "is ", "first ", "a,", " ", "?", "先")
KNOWN: Final = tuple(
    Text(start, unit, tail)
    for start, units in {
        "pin": (" ",),
        "": (
            *(
                "a.",
                "-eyJaaaaaaaa",
                "I live in ",
                "“",
                "中",
                "1 ",
                "is ",
                "first ",
                "a,",
                " ",
                "?",
                "? ",
                "先",
                "刚",
                "。",
            ),
            *(
                "pin ",
                "password is ",
                "my ",
                "my budget is 5. ",
                "I raise my budget to 5, ",
                "我住在北京。",
                "我的预算是5,",
            ),
            *(
                "<think>",
                "</think>",
                "<task",
                "```",
                '"',
                "“a”",
                "「",
                "《",
                "(",
                "[",
                "{",
                "|",
                "`",
                "'",
                "&amp;",
                "$",
            ),
            *(
                "# ",
                "- ",
                "> ",
                "User: ",
                "login:",
                "http://a:b@c ",
                "sk-aaaaaaaaaaaaaaaaaaa1 ",
                "4111 1111 1111 1111 ",
            ),
            *(
                "0",
                "1,",
                "1.",
                "1-",
                "a-",
                "a_",
                "A.",
                "A ",
                "é",
                "e\u0301",
                "中a",
                "中 ",
                "三",
                "한",
                "\n",
                "a\n",
                "\t",
            ),
            *(
                "and ",
                "but ",
                "not ",
                "two ",
                "twenty-one ",
                "yesterday ",
                "ignore ",
                "translate ",
                "share ",
                "what do ",
            ),
            *(
                "Berlin is the capital of Germany. ",
                "John said no. ",
                "If so, then not. ",
                "不是。",
                "🙂",
                "\u200b",
                "x" * 70,
            ),
        ),
    }.items()
    for unit in units
    for tail in ("", "x")
)
"""What has stopped a server before, and the like."""


REPORTED: Final = tuple(text for text in KNOWN if text.start or text.unit in _REPORTED)
"""What has stopped a server, or grew faster than its text."""


def a_few(texts: Sequence[Text], most: int) -> list[Text]:
    """So many of the texts, spread over all of them, the same each time."""
    return [*texts[:: -(-len(texts) // most)]] if texts else []


# --- texts made of a pattern ---------------------------------------------------------------------------------------


def texts_of(pattern: re.Pattern[Any]) -> list[Text]:
    """What a pattern may take long to refuse: each part that may come again, alone, and after what stands before it."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin1")
    made: dict[tuple[str, str], None] = {}
    for before, unit in _units(parser.parse(source, pattern.flags), ("",)):
        made.update(dict.fromkeys((("", unit), (before, unit), ("", before + unit))))
    return [Text(start, unit, tail) for start, unit in made for tail in TAILS]


def _units(nodes: Iterable[Any], before: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stands before each part that may come again, with that part; at last the whole, as often as one likes."""
    before = list(before)
    for op, argument in nodes:
        if op in _REPEATS:
            yield from _repeated(argument, before)
        elif op in (ops.SUBPATTERN, ops.ASSERT, ops.ASSERT_NOT):
            yield from _units(argument[-1], before[:2])
        elif op is ops.ATOMIC_GROUP:
            yield from _units(argument, before[:2])
        elif op is ops.BRANCH:
            for branch in argument[1]:
                yield from _units(branch, before[:1])
        ways = _ways(op, argument)
        before = list(dict.fromkeys(start + way for start in before[:2] for way in ways[:3]))[:3]
    yield from (("", whole) for whole in before[:2] if whole)


def _repeated(argument: Any, before: Sequence[str]) -> Iterator[tuple[str, str]]:
    _, most, body = argument
    if most > _MANY:
        bodies = [*_samples(body), *(_ways(*body[0]) if len(body) == 1 else ())]
        yield from ((start, unit) for unit in dict.fromkeys(bodies) if unit for start in before[:2])
    yield from _units(body, before[:1])


def _samples(nodes: Iterable[Any]) -> list[str]:
    """A few short texts that a sequence matches, as if it looked neither ahead nor back."""
    found = [""]
    for op, argument in nodes:
        ways = _ways(op, argument)
        found = [*(start + ways[0] for start in found), *(found[0] + way for way in ways[1:3])]
        found = list(dict.fromkeys(found))[:4]
    return found


def _ways(op: Any, argument: Any) -> list[str]:
    """A few short texts that one node matches."""
    if op in _SINGLE:
        return _characters(op, argument)
    if op in _REPEATS:
        least, _, body = argument
        ways = _samples(body)
        return [way * least for way in ways] if least else ["", *ways[:2]]
    if op is ops.BRANCH:
        return list(dict.fromkeys(way for branch in argument[1] for way in _samples(branch)[:1]))
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return _samples(argument[-1] if op is ops.SUBPATTERN else argument)
    return [""]


def _characters(op: Any, argument: Any) -> list[str]:
    if op is ops.LITERAL:
        return [chr(argument)]
    if op is ops.ANY:
        return list(" a中.")
    if op is ops.NOT_LITERAL:
        return [character for character in _CHARACTERS if ord(character) != argument][:4]
    own = [chr(item if kind is ops.LITERAL else item[0]) for kind, item in argument if kind in (ops.LITERAL, ops.RANGE)]
    is_negated = any(kind is ops.NEGATE for kind, _ in argument)
    held = [character for character in _CHARACTERS if _holds(argument, character) != is_negated]
    return list(dict.fromkeys([*held[:3], *(() if is_negated else own[:2])])) or ["a"]


def _holds(items: Iterable[Any], character: str) -> bool:
    return any(
        (kind is ops.LITERAL and item == ord(character))
        or (kind is ops.RANGE and item[0] <= ord(character) <= item[1])
        or (kind is ops.CATEGORY and _is_of(str(item), character))
        for kind, item in items
    )


def _is_of(category: str, character: str) -> bool:
    kinds = {
        "DIGIT": character.isdigit(),
        "SPACE": character.isspace(),
        "WORD": character.isalnum() or character == "_",
    }
    return next(is_one for kind, is_one in kinds.items() if kind in category) != ("NOT" in category)


# --- what the package has ------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """A pattern of the package: where it is, and whether it is only ever tried at the start of a text."""

    name: str
    pattern: re.Pattern[Any]
    is_anchored: bool

    def read(self, text: str) -> object:
        """Read a text as the package does, in the way that takes longest."""
        given: Any = text if isinstance(self.pattern.pattern, str) else text.encode()
        return self.pattern.match(given) if self.is_anchored else sum(1 for _ in self.pattern.finditer(given))


def modules() -> list[ModuleType]:
    """All modules of the package that a user's text can come into; `testing` is for tests."""
    left_out = {"testing", "tests", "benchmarks", "examples", "notebooks", "docs", "build"}
    names = [found.name for found in pkgutil.walk_packages(agentic_memory_bank.__path__, "agentic_memory_bank.")]
    return [found for name in names if left_out.isdisjoint(name.split(".")) if (found := _module(name))]


def _module(name: str) -> ModuleType | None:
    """A module; None where it stands on a package that is not installed, as integrations do."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] == agentic_memory_bank.__name__:
            raise
        return None


def rules() -> list[Rule]:
    """Every compiled pattern that any module holds, also within tables."""
    all_modules = modules()
    anchored = _anchored(all_modules)
    found: dict[int, Rule] = {}
    for module in all_modules:
        short = module.__name__.removeprefix("agentic_memory_bank.")
        for name, value in list(vars(module).items()):
            for place, pattern in enumerate(_patterns(value, 0)):
                rule = Rule(f"{short}.{name}[{place}]", pattern, (module.__name__, name) in anchored)
                known = found.get(id(pattern))
                if known is None or (rule.is_anchored and not known.is_anchored):  # how it is used is said of its home
                    found[id(pattern)] = rule
    return sorted(found.values(), key=lambda rule: rule.name)


def _patterns(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern | LazyPattern):
        yield value.compiled if isinstance(value, LazyPattern) else value
    elif depth < 5 and isinstance(value, dict):
        yield from (found for item in (*value.keys(), *value.values()) for found in _patterns(item, depth + 1))
    elif depth < 5 and isinstance(value, list | tuple | set | frozenset):
        yield from (found for item in value for found in _patterns(item, depth + 1))
    elif depth < 5 and dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = (getattr(value, field.name, None) for field in dataclasses.fields(value))
        yield from (found for item in held for found in _patterns(item, depth + 1))


def _anchored(all_modules: Iterable[ModuleType]) -> set[tuple[str, str]]:
    """The names of patterns of which the whole package calls nothing but `match` and `fullmatch`."""
    used: dict[tuple[str, str], set[str]] = {}
    for module in all_modules:
        nodes = [*ast.walk(ast.parse(inspect.getsource(module)))]
        imported = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        called = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            home = _home(node, module.__name__, imported)
            if home:
                used.setdefault(home, set()).add(called.get(id(node), "handed on"))
    return {home for home, ways in used.items() if ways <= {"match", "fullmatch"}}


def _home(node: ast.AST, module: str, imported: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
    """The module and the name of what a node stands for, where it may be a pattern."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return imported.get(node.id, (module, node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
        return ".".join(imported[node.value.id]), node.attr
    return None


def inline_patterns() -> list[str]:
    """Where a module searches with a pattern that it writes on the spot, where `rules` does not find it."""
    return [
        f"{module.__name__}:{node.lineno}"
        for module in modules()
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr not in ("compile", "escape")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]


# --- how long it takes ---------------------------------------------------------------------------------------------


class _TooLong(BaseException):
    pass


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt what uses more CPU time than that; the machine may be busy with other things meanwhile."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def cpu_seconds(read: Callable[[str], object], text: str, *, tries: int = 1, patience: float = PATIENCE) -> float:
    """CPU seconds that a text takes, the least of some tries; infinite where it took more than the patience."""
    return min(_once(read, text, patience) for _ in range(tries))


def _once(read: Callable[[str], object], text: str, patience: float) -> float:
    try:
        with _interrupted_after(patience):
            gc.disable()  # collecting looks at all that is alive, however little this text has to do with it
            begun = time.thread_time()
            read(text)
            return time.thread_time() - begun
    except _TooLong:
        return float("inf")
    finally:
        gc.enable()


def process_seconds(read: Callable[[str], object], text: str, *, at_most: float) -> float:
    """CPU seconds of all threads that a text takes: the least of some tries, until it is little enough."""
    taken = float("inf")
    for _ in range(3):
        begun = time.process_time()
        read(text)
        taken = min(taken, time.process_time() - begun)
        if taken <= at_most:
            break
    return taken


def fault(read: Callable[[str], object], text: Text) -> str | None:
    """What is wrong with the time that a text takes at the four sizes; None where it grows no faster than the text.

    The growth is that of all three doublings: a single one may be slowed down by what else the machine does.
    """
    texts = [text.of(size) for size in SIZES]
    longest = cpu_seconds(read, texts[-1])
    if longest <= NOTICEABLE:  # however it grew, there is nothing to notice
        return None
    shortest = cpu_seconds(read, texts[0])
    for _ in range(TRIES):
        if longest <= LONGEST and longest <= PER_DOUBLING ** (len(SIZES) - 1) * shortest:
            return None
        longest = min(longest, cpu_seconds(read, texts[-1]))
    between = (cpu_seconds(read, part) for part in texts[1:-1])
    return ", ".join(f"{n:,}: {taken:.3f} s" for n, taken in zip(SIZES, (shortest, *between, longest), strict=True))


_LITTLE: Final = (64, 512, 2_048)
_PER_LITTLE: Final = 7.0
"""How many times as long four times the text may take unsuspected: linear is 4, quadratic 16."""
_LOOKED_AT: Final = 0.0003


def suspects(read: Callable[[str], object], texts: Iterable[Text]) -> list[Text]:
    """Of many texts those worth comparing at full size: where a little of it grows too fast, and the slowest one."""
    found: list[Text] = []
    slowest, longest = None, 0.0
    for text in texts:
        times = _little(read, text)
        if times[-1] > _LOOKED_AT and times[-1] > _PER_LITTLE * times[-2]:
            found.append(text)
        elif times[-1] > longest:
            slowest, longest = text, times[-1]
        if len(found) > 1:
            break
    return [*found, *([slowest] if slowest and longest > 0.00125 else [])]


def _little(read: Callable[[str], object], text: Text) -> list[float]:
    times: list[float] = []
    for size in _LITTLE:
        times.append(cpu_seconds(read, text.of(size), patience=0.5))
        if times[-1] == float("inf"):
            return [0.0, times[-1]]
    if times[-1] > _LOOKED_AT and times[-1] > _PER_LITTLE * times[-2]:
        times = [cpu_seconds(read, text.of(size), tries=3) for size in _LITTLE[-2:]]
    return times
