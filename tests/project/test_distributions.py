"""What `make wheel-test` has built holds the package and nothing else. Run by that target, not by `make test`."""

import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.distributions

DIST = Path(__file__).parents[2] / "build" / "dist"
FOREIGN = {"tests", "benchmarks", "notebooks", "examples", "docs", "build"}


def names(pattern: str) -> list[str]:
    (path,) = DIST.glob(pattern)
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_the_wheel_holds_one_package_and_its_metadata() -> None:
    tops = {name.partition("/")[0].partition("-")[0] for name in names("*.whl")}

    assert tops == {"agentic_memory_bank"}


def test_the_wheel_says_that_it_is_typed() -> None:
    assert "agentic_memory_bank/py.typed" in names("*.whl")


@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_nothing_is_shipped_that_does_not_run(pattern: str) -> None:
    seconds = {name.split("/")[1] for name in names(pattern) if name.count("/") > 1}

    assert seconds.isdisjoint(FOREIGN)


def test_the_licence_is_shipped() -> None:
    assert any(name.endswith("LICENSE") for name in names("*.whl"))
