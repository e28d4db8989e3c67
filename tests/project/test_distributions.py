"""What `make wheel-test` has built holds the package and nothing else. Run by that target, not by `make test`."""

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.distributions

ROOT = Path(__file__).parents[2]
DIST = ROOT / "build" / "dist"
PACKAGE = "agentic_memory_bank"
FOREIGN = {"tests", "benchmarks", "notebooks", "examples", "docs", "build"}


def shipped() -> list[Path]:
    """The folders of the packages that pyproject.toml lists; a test of `make test` compares it with what is there."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    return [ROOT.joinpath(*name.split(".")[1:]) for name in listed]


def names(pattern: str) -> list[str]:
    (path,) = DIST.glob(pattern)
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_the_wheel_holds_one_package_and_its_metadata() -> None:
    tops = {name.partition("/")[0].partition("-")[0] for name in names("*.whl")}

    assert tops == {"agentic_memory_bank"}


def test_the_wheel_holds_every_module_as_it_is_here_so_that_what_tests_say_of_these_holds_of_it() -> None:
    (path,) = DIST.glob("*.whl")
    here = {f"{PACKAGE}/{file.relative_to(ROOT)}": file for folder in shipped() for file in folder.glob("*.py")}

    with zipfile.ZipFile(path) as wheel:
        there = {name: wheel.read(name) for name in wheel.namelist() if name.endswith((".py", ".onnx"))}

    assert there.keys() - here.keys() == {f"{PACKAGE}/tools/embeddings/minilm.onnx"}
    assert {name for name, file in here.items() if there.get(name) != file.read_bytes()} == set()


def test_the_wheel_holds_every_file_that_the_modules_read() -> None:
    read = {f"{PACKAGE}/{file.relative_to(ROOT)}" for folder in shipped()[1:] for file in folder.glob("*.*")}

    assert {name for name in read if not name.endswith(".py")} - {*names("*.whl")} == set()


def test_the_wheel_says_that_it_is_typed() -> None:
    assert "agentic_memory_bank/py.typed" in names("*.whl")


@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_nothing_is_shipped_that_does_not_run(pattern: str) -> None:
    seconds = {name.split("/")[1] for name in names(pattern) if name.count("/") > 1}

    assert seconds.isdisjoint(FOREIGN)


def test_the_licence_is_shipped() -> None:
    assert any(name.endswith("LICENSE") for name in names("*.whl"))
