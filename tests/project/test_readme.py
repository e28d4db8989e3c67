"""What README and .env.example say is what the code does."""

import re
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from agentic_memory_bank.cli.app import app

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh.md")
SHOWING = ("README.md", "docs/index.md", "docs/first_hour.md", "docs/memory_bank.md", "docs/runs.md")
"""Pages whose Python is run."""
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


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


def blocks(name: str, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(text(name)) if kind == language]


@pytest.mark.parametrize("name", READMES)
def test_the_diagram_is_that_of_the_graph(name: str) -> None:
    assert rendered.diagram() in text(name)


@pytest.mark.parametrize("name", READMES)
def test_the_first_screen_shows_how_to_begin(name: str) -> None:
    first = text(name).partition("\n## ")[0]

    assert [
        word
        for word in ("pip install", "make demo", "make test", "langgraph dev", "```mermaid", "```python")
        if word in first
    ] == [
        "pip install",
        "make demo",
        "make test",
        "langgraph dev",
        "```mermaid",
        "```python",
    ]


def test_the_table_of_settings_is_that_of_the_code() -> None:
    assert rendered.settings_table() in text("README.md")


def test_the_page_of_settings_is_that_of_the_code_and_has_every_variable() -> None:
    page = text("docs/settings.md")

    assert page == rendered.settings_page()
    numbers = {f"{role}_{cell}" for role in rendered.ROLES for cell in (*rendered.CELLS, "model")}
    for name in {*rendered.Settings.model_fields} - numbers:
        assert page.count(f"| `MEMORY_BANK_{name.upper()}` |") == 1, name


def test_the_chinese_table_has_the_same_settings_and_defaults() -> None:
    row = re.compile(r"^\| `MEMORY_BANK_(\w+)` \| (\S+) \|", re.MULTILINE)
    expected = [(name.upper(), rendered.default(name) or "无") for name in rendered.EVERYDAY]

    assert [found for found in row.findall(text("README.zh.md")) if found[0] != "HOME"] == expected


def test_the_example_of_an_environment_names_every_variable() -> None:
    assert text(".env.example") == rendered.environment()


def test_both_readmes_show_the_same_code() -> None:
    for language in ("mermaid", "python", "bash"):
        assert blocks("README.md", language) == blocks("README.zh.md", language), language


@pytest.mark.parametrize("name", READMES)
def test_a_readme_is_read_in_one_go(name: str) -> None:
    assert len(text(name).splitlines()) <= 200


@pytest.mark.parametrize("name", [*READMES, "docs/runs.md", "docs/memory.md"])
def test_every_command_that_is_named_exists(name: str) -> None:
    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    named = {word for body in blocks(name, "bash") for word in re.findall(r"^memory-bank ([\w-]+)", body, re.MULTILINE)}

    assert named
    assert named <= known


@pytest.mark.parametrize("name", READMES)
def test_every_folder_and_file_that_is_named_is_there(name: str) -> None:
    linked = re.findall(r"\]\((?!http|#)([^)#]+)\)", text(name))

    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_the_page_of_runs_has_every_command() -> None:
    (commands,) = [body for body in blocks("docs/runs.md", "bash") if "memory-bank runs" in body]

    hidden = {"memories", "memory"}  # of the page on conversations
    named = set(re.findall(r"^memory-bank ([\w-]+)", commands, re.MULTILINE))
    assert named == set(get_command(app).commands) - hidden  # type: ignore[attr-defined]


EACH = """
import os, runpy, sys

for folder in sys.argv[1:]:
    os.chdir(folder)
    os.environ["MEMORY_BANK_HOME"] = f"{folder}/home"
    print(folder, file=sys.stderr)
    runpy.run_path("code.py", run_name="__main__")
"""


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWING)
def test_the_python_that_is_shown_runs(name: str, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(len(blocks(name, "python")))]
    for folder, code in zip(folders, blocks(name, "python"), strict=True):
        folder.mkdir()
        (folder / "report.txt").write_text("The Meridian Array's mirror has a diameter of 8.2 m. It opened in 2014.")
        (folder / "code.py").write_text(code)

    done = subprocess.run(
        [sys.executable, "-c", EACH, *map(str, folders)], capture_output=True, text=True, timeout=300, check=False
    )

    assert folders
    assert done.returncode == 0, done.stderr[-2000:]
