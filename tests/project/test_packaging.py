"""What is packed is what is there, what is imported is declared, and what is declared is pinned."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAME = "agentic_memory_bank"
OPTIONAL = ("deepagents", "networkx", "pandas", "mcp", "metrics", "milvus", "postgres", "openvino", "server", "torch")
"""The extras of which a module of the package may be all there is: it is loaded by those who have installed them."""
NOT_PACKED = {"tests", "benchmarks", "notebooks", "examples", "docs", "build", "dist"}


def folders_with_code() -> Iterator[Path]:
    """The folders of Python modules that belong to the package, the root among them."""
    for init in ROOT.rglob("__init__.py"):
        parts = init.relative_to(ROOT).parts[:-1]
        if not any(part.startswith(".") or part in NOT_PACKED for part in parts):
            yield init.parent


def modules() -> Iterator[Path]:
    for folder in folders_with_code():
        yield from folder.glob("*.py")


def imported() -> set[str]:
    """The top-level modules that the package imports, wherever in a module it does."""
    found: set[str] = set()
    for module in modules():
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {NAME}


def normal(requirement: str) -> str:
    """The name in a requirement, in the form in which names are compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]).lower()


def pinned() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
    return {normal(line): line.partition("==")[2] for line in lines}


def test_the_list_of_packages_is_that_of_the_folders() -> None:
    there = {".".join((NAME, *folder.relative_to(ROOT).parts)) for folder in folders_with_code()}

    assert set(PROJECT["tool"]["setuptools"]["packages"]) == there


def test_no_folder_of_modules_lacks_its_init() -> None:
    packed = {folder.relative_to(ROOT).parts[:1] for folder in folders_with_code()}
    with_modules = {module.parent for top in packed if top for module in (ROOT / top[0]).rglob("*.py")}

    assert with_modules <= set(folders_with_code())


def test_everything_imported_is_declared() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(requirement for name in OPTIONAL for requirement in extras[name])]
    declared = {normal(requirement) for requirement in wanted}
    homes = packages_distributions()

    undeclared = {name for name in imported() if declared.isdisjoint(normal(home) for home in homes.get(name, [name]))}

    assert undeclared == set()


def test_everything_declared_is_pinned() -> None:
    project = PROJECT["project"]
    extras = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]

    declared = {normal(requirement) for requirement in [*project["dependencies"], *extras]} - {normal(NAME)}

    assert declared <= set(pinned())


def test_every_pin_is_one_exact_version_without_a_build_tag() -> None:
    assert all(re.fullmatch(r"[0-9][0-9A-Za-z.]*", version) for version in pinned().values())
    assert pinned()["torch"] == "2.13.0"


def test_no_stage_is_left_out_of_the_contract_of_independence() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    independent = next(contract for contract in contracts if contract["type"] == "independence")["modules"]

    stages = {
        f"agentic_memory_bank.nodes.{module.parent.name}.{module.stem}"
        for module in (ROOT / "nodes").glob("*/*.py")
        if f"\ndef {module.stem}(" in module.read_text(encoding="utf-8")
    }

    assert set(independent) == stages
