"""`import agentic_memory_bank` is for free: nothing heavy is loaded before it is used."""

import json
import subprocess
import sys

import agentic_memory_bank

HEAVY = ("torch", "faiss", "transformers", "sentence_transformers", "langchain_community", "langgraph", "numpy")
"""What importing the package may not load."""
HEAVIEST = ("torch", "faiss", "transformers", "sentence_transformers", "langchain_community")
"""What even the compiled graph may not load before it is run."""


AFTER_EACH = """
import json, sys
for statement in json.loads(sys.argv.pop(1)):
    exec(statement)
    print(*{name.partition(".")[0] for name in sys.modules})
"""


def loaded_by(*statements: str) -> dict[str, set[str]]:
    """The top-level modules a fresh interpreter has after each of the statements, which it carries out one by one."""
    command = [sys.executable, "-c", AFTER_EACH, json.dumps(statements)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {statement: set(line.split()) for statement, line in zip(statements, said, strict=True)}


def test_importing_the_package_loads_nothing_heavy() -> None:
    (found,) = loaded_by("import agentic_memory_bank").values()

    assert found.isdisjoint(HEAVY)


def test_neither_a_public_name_nor_the_command_line_loads_a_model_or_an_index() -> None:
    names = [f"from agentic_memory_bank import {name}" for name in sorted(agentic_memory_bank.__all__)]

    found = loaded_by("import agentic_memory_bank.cli", *names)

    assert {statement: held & set(HEAVIEST) for statement, held in found.items() if held & set(HEAVIEST)} == {}


def test_what_is_refused_is_refused_before_anything_heavy_is_loaded() -> None:
    refused = [
        ["--help"],
        ["runs"],
        ["ask", " "],
        ["ask", "Why?", "--context", "/no/such/file"],
        ["ask", "Why?", "--set", "kk=3"],
        ["ask", "Why?", "--thread", "nobody"],
        ["resume", "nobody"],
        ["show", "nobody"],
        ["view", "nobody", "--out", "page.html"],
        ["view", "--memory", "nothing", "--out", "page.html"],
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
    ]
    program = (
        "import json, sys; from agentic_memory_bank.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = words\n"
        "    try:\n        main()\n    except SystemExit:\n        pass\n"
        "    heavy = {'langgraph', 'langchain_core', 'numpy', 'onnxruntime'} & set(sys.modules)\n"
        "    print('=', words, sorted(heavy))"
    )
    command = [sys.executable, "-c", program, json.dumps(refused)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert [line for line in done.stdout.splitlines() if line[0:2] == "= "] == [f"= {words} []" for words in refused]
