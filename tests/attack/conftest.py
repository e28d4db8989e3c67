"""Marks the tests of this folder: `make attack` runs them, and every run of the tests a sample of the kills."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and not item.get_closest_marker("kill"):
            item.add_marker("attack")
