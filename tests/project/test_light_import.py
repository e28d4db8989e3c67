"""`import agentic_memory_bank` is for free: nothing heavy is loaded before it is used."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "faiss", "transformers", "sentence_transformers", "langchain_community", "langgraph", "numpy")
"""What importing the package may not load."""
HEAVIEST = ("torch", "faiss", "transformers", "sentence_transformers", "langchain_community")
"""What even the compiled graph may not load before it is run."""


def loaded_by(statement: str) -> set[str]:
    """The top-level modules a fresh interpreter has after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import agentic_memory_bank").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "name",
    [
        "memory_bank",
        "build_memory_bank",
        "memorizer",
        "build_memorizer",
        "researcher",
        "build_researcher",
        "run",
        "arun",
        "resume",
        "clear",
        "Settings",
        "Engine",
    ],
)
def test_no_public_name_loads_a_model_or_an_index(name: str) -> None:
    assert loaded_by(f"from agentic_memory_bank import {name}").isdisjoint(HEAVIEST)


def test_the_command_line_shows_its_help_without_a_model() -> None:
    assert loaded_by("import agentic_memory_bank.cli").isdisjoint(HEAVIEST)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["runs"],
        ["ask", " "],
        ["ask", "Why?", "--context", "/no/such/file"],
        ["ask", "Why?", "--set", "kk=3"],
        ["ask", "Why?", "--thread", "nobody"],
        ["resume", "nobody"],
        ["show", "nobody"],
        ["export", "nobody", "nobody.json"],
        ["import", "/no/such/file", "--thread", "t"],
        ["clear", "nobody"],
        ["pages", "nothing"],
        ["remember", "--user", "ana"],
        ["forget", "--user", "ana"],
        ["memorize", "/no/such/file", "--memory", "notes"],
        ["research", " ", "--memory", "notes"],
        ["research", "Why?", "--memory", "nothing"],
        ["recall", "Why?", "--user", " "],
    ],
)
def test_what_is_refused_is_refused_before_anything_heavy_is_loaded(words: list[str]) -> None:
    program = (
        "import sys; from agentic_memory_bank.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'langgraph', 'langchain_core', 'numpy', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
