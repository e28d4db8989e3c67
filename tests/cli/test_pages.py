"""`memory-bank pages`: which memories of pages there are, and how one of them is erased."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def letters(memory_bank: Command, document: Path) -> None:
    assert memory_bank("memorize", document, "--memory", "letters", "--set", "page_ttl_days=30").exit_code == 0


@pytest.mark.usefixtures("letters")
def test_memories_of_pages_are_listed_with_how_long_they_stay(memory_bank: Command) -> None:
    shown = memory_bank("pages")
    found = json.loads(memory_bank("pages", "--json").stdout)["pages"]

    assert "letters" in shown.stdout
    assert "30 days" in shown.stdout
    assert [(one["memory"], one["pages"], one["ttl_seconds"]) for one in found] == [("letters", 1, 30 * 86_400)]


@pytest.mark.usefixtures("letters")
def test_a_memory_of_pages_is_erased_by_its_name(memory_bank: Command) -> None:
    refused = memory_bank("pages", "letters", "--clear")
    erased = memory_bank("pages", "letters", "--clear", "--yes")

    assert refused.exit_code == 2
    assert erased.stdout == "Erased 1 page.\n"
    assert memory_bank("pages").stdout == "There are no memories of pages.\n"


def test_an_unknown_memory_of_pages_is_an_error_and_erasing_needs_a_name(memory_bank: Command) -> None:
    assert "no memory of pages 'letters'" in memory_bank("pages", "letters").stderr
    assert memory_bank("pages", "--clear").exit_code == 2
