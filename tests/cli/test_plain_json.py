"""`--json`: whatever is printed is JSON as the standard has it, and says nothing of how the package is made."""

import json
import math

import pytest

from agentic_memory_bank.cli import terminal
from agentic_memory_bank.runs.ledger import Ledger

from .conftest import Command


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def test_numbers_without_a_word_in_json_become_null() -> None:
    text = terminal.to_json({"a": math.inf, "b": [-math.inf, (math.nan, 1.5)], "c": {"d": 1}})

    assert json.loads(text, parse_constant=refuse) == {"a": None, "b": [None, [None, 1.5]], "c": {"d": 1}}


def test_an_infinite_setting_does_not_spoil_the_list_of_runs(
    memory_bank: Command, document: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_bank("ask", "Why?", "-c", document, "--thread", "t")
    real = Ledger.all

    def endless(ledger: Ledger) -> list[object]:
        for run in (found := real(ledger)):
            run.settings["limit"] = math.inf
        return found

    monkeypatch.setattr(Ledger, "all", endless)

    found = json.loads(memory_bank("runs", "--json").stdout, parse_constant=refuse)

    assert found["runs"][0]["settings"]["limit"] is None


def test_an_error_has_the_name_that_the_tree_of_errors_gives_it(memory_bank: Command, tmp_path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "zeros.bin").write_bytes(bytes(range(256)) * 8)

    for file in ("empty.txt", "zeros.bin", "missing.txt"):
        told = json.loads(memory_bank("ask", "Why?", "--json", "-c", tmp_path / file).stderr.splitlines()[-1])
        assert told["error"] == "LoadError", file
