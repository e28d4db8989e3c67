"""What the pages of docs/ and CONTRIBUTING.md name is there, and each says what a reader gets from it."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentic_memory_bank import memory_bank, react_mem, recall, researcher

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
AT_ROOT = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
GRAPHS = {"memory_bank": memory_bank, "memory": recall, "react_mem": react_mem, "research": researcher}
PRIVATE = re.compile(r"\bseeds? 00\d|种子|\bB-\d\d?\b|\bC-\d\d?\b|\bAMB-\d|\b(?<!GitHub )issues? #?\d", re.IGNORECASE)
"""Numbers of plans and lists that are not part of the repository."""
FENCE = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
ROOMS = ("benchmarks", "cli", "engines", "graph", "nodes", "prompts", "runs", "state", "testing", "tests", "tools")


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rendered = _neighbour("rendered")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GRAPHS)
def test_the_diagram_is_that_of_the_graph(name: str) -> None:
    assert rendered.diagram(GRAPHS[name]) in text(f"docs/{name}.md")


@pytest.mark.parametrize("name", [*PAGES, *AT_ROOT])
def test_every_file_that_is_named_is_there(name: str) -> None:
    home = (ROOT / name).parent
    linked = [path for path in LINK.findall(FENCE.sub("", text(name))) if path != "contributing.md"]

    assert [path for path in linked if not (home / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_what_a_reader_gets_from_it(name: str) -> None:
    title, _, rest = text(name).partition("\n\n")

    assert title.startswith("# ")
    assert rest[0].isalpha(), rest[:80]
    assert rest.partition("\n\n")[0].endswith((".", ":"))


def test_every_page_is_in_the_sites_contents() -> None:
    listed = set(re.findall(r"^ +- [^:]+: (\S+\.md)$", text("mkdocs.yml"), re.MULTILINE))

    assert {page.removeprefix("docs/") for page in PAGES} <= listed


@pytest.mark.parametrize("name", re.findall(r"^::: (\S+)$", "\n".join(map(text, PAGES)), re.MULTILINE))
def test_what_the_reference_names_is_there_and_says_what_it_is(name: str) -> None:
    named: Any = import_module("agentic_memory_bank")
    for part in name.split(".")[1:]:
        with suppress(ModuleNotFoundError):
            import_module(f"{named.__name__}.{part}") if isinstance(named, ModuleType) else None
        named = getattr(named, part)

    assert named.__doc__


def test_a_question_is_answered_in_two_hops_at_most() -> None:
    rows = re.findall(r"^\| ([^|]+\?) \|(.+)\|$", text("CONTRIBUTING.md"), re.MULTILINE)

    assert len(rows) >= 6
    assert [question for question, answer in rows if not 1 <= len(LINK.findall(answer)) <= 2] == []


def test_the_functions_that_are_named_beside_a_file_are_in_it() -> None:
    named = re.findall(r"\]\((\S+\.py)\), `(\w+)`", text("CONTRIBUTING.md"))

    assert named
    assert [one for one in named if f"def {one[1]}(" not in text(one[0])] == []


@pytest.mark.parametrize("name", [*PAGES, *AT_ROOT, "README.md", "README.zh.md", ".env.example"])
def test_no_page_refers_to_what_its_reader_cannot_see(name: str) -> None:
    assert PRIVATE.findall(text(name)) == []


def docstrings() -> Iterator[tuple[str, str]]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, holders):
                yield path.name, ast.get_docstring(node) or ""


def test_no_docstring_refers_to_what_its_reader_cannot_see() -> None:
    assert [where for where, said in docstrings() if PRIVATE.search(said)] == []


def test_an_argument_is_named_by_what_it_is() -> None:
    """`settings: Of the run.` leaves its reader to guess what is of the run."""
    guessing = re.compile(r"^ +\w+: Of\b", re.MULTILINE)

    assert [where for where, said in docstrings() if guessing.search(said)] == []


SCREEN = 60
DOORS = ("deepagents", "importing", "integrations", "langchain", "mcp", "runs", "server", "stores")


@pytest.mark.parametrize("door", DOORS)
def test_what_is_said_of_a_door_fits_on_a_screen(door: str) -> None:
    sections = re.split(r"^## ", text(f"docs/{door}.md"), flags=re.MULTILINE)

    assert {part.splitlines()[0]: part.count("\n") for part in sections if part.count("\n") > SCREEN} == {}
