"""What docs/memory.md and docs/react_mem.md show is what the code does."""

import re
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from agentic_memory_bank import react_mem, recall

ROOT = Path(__file__).parents[2]
GRAPHS = {"memory.md": recall, "react_mem.md": react_mem}


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rendered = _neighbour("rendered")


@pytest.mark.parametrize("name", GRAPHS)
def test_the_diagram_is_that_of_the_graph(name: str) -> None:
    assert rendered.diagram(GRAPHS[name]) in (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GRAPHS)
def test_every_file_that_is_named_is_there(name: str) -> None:
    linked = re.findall(r"\]\((?!http|#)([^)#]+)\)", (ROOT / "docs" / name).read_text(encoding="utf-8"))

    assert linked
    assert [path for path in linked if not (ROOT / "docs" / path).exists()] == []
