"""What a user may import is chosen, and stays."""

import importlib.metadata

import pytest

import agentic_memory_bank

PUBLIC = {
    "AsyncMemories",
    "BankRetriever",
    "Engine",
    "FourTierMemory",
    "Memories",
    "MemoryBankError",
    "MemoryBankMiddleware",
    "MemoryChatHistory",
    "MemoryRetriever",
    "PageRetriever",
    "Settings",
    "arun",
    "build_conversation",
    "build_memorizer",
    "build_memory_bank",
    "build_react_mem",
    "build_recall",
    "build_remember",
    "build_researcher",
    "clear",
    "conversation",
    "memorizer",
    "memory_bank",
    "react_mem",
    "recall",
    "remember",
    "researcher",
    "resume",
    "run",
    "view",
}


def test_the_public_names_are_those_that_were_chosen() -> None:
    assert set(agentic_memory_bank.__all__) == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(agentic_memory_bank, name) is not None


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_public_name_says_what_it_is_and_shows_how_it_is_used(name: str) -> None:
    """Compiled graphs are shown where they are built, the base of errors is raised by nobody."""
    named = getattr(agentic_memory_bank, name)
    obvious = {"MemoryBankError", "arun", "clear"}

    assert named.__doc__
    assert "Example:" in named.__doc__ or name in obvious or f"build_{name}" in PUBLIC


def test_dir_shows_the_public_names() -> None:
    assert set(dir(agentic_memory_bank)) >= PUBLIC


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = agentic_memory_bank.nothing


def test_the_distribution_and_its_command_are_installed() -> None:
    commands = importlib.metadata.entry_points(group="console_scripts")

    assert commands["memory-bank"].value == "agentic_memory_bank.cli:main"
    assert importlib.metadata.version("agentic-memory-bank")
