"""What docs/research.md says is what the code does."""

import re
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from agentic_memory_bank import researcher
from agentic_memory_bank.state.research import ResearchStatus

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "research.md").read_text(encoding="utf-8")
FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rendered = _neighbour("rendered")


def test_the_diagram_is_that_of_the_graph() -> None:
    assert rendered.diagram(researcher) in TEXT


def test_every_stage_and_every_status_is_explained() -> None:
    stages = {name for name in researcher.get_graph().nodes if "__" not in name}
    statuses = set(ResearchStatus.__args__) - {"running"}

    explained = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    assert stages <= explained
    assert statuses <= explained


def test_settings_are_named_with_their_defaults() -> None:
    rows = re.findall(r"^\| `MEMORY_BANK_(\w+)` \| (\S+) \|", TEXT, re.MULTILINE)

    assert rows
    assert [(name, rendered.default(name.lower())) for name, _ in rows] == rows


def test_every_file_that_is_named_is_there() -> None:
    linked = re.findall(r"\]\((?!http|#)([^)#]+)\)", TEXT)

    assert [path for path in linked if not (ROOT / "docs" / path).exists()] == []


@pytest.mark.model
@pytest.mark.slow
def test_the_python_runs_from_top_to_bottom() -> None:
    names: dict[str, object] = {}
    for block in FENCE.findall(TEXT):
        exec(block, names)

    assert names["found"]["status"] in {"answered", "partial"}  # type: ignore[index]
