"""The map holds: no circle, no module too long or a fragment, one meaning a class name, but for what is known."""

from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


map_ = _neighbour("map")


@pytest.fixture(scope="module")
def place() -> Any:
    """The map of the package; it takes seconds to draw."""
    return map_.Map()


@pytest.mark.parametrize("kind", ["circles", "long", "short", "doubled"])
def test_what_is_not_as_it_is_to_be_is_known_and_what_is_mended_is_taken_out(place: Any, kind: str) -> None:
    found, known = place.faults[kind], map_.known()[kind]

    assert found - set(known) == set(), "this is new: mend it"
    assert set(known) - found == set(), "this is mended: run `python tests/project/map.py --shorten`"
    assert known == sorted(set(known))


def test_the_map_has_every_room_and_names_what_it_imports(place: Any) -> None:
    lines = list(map_.drawn(place))

    assert any(line.startswith("cli ") and " runs " in line for line in lines)
    assert any(line.startswith("state ") and line.endswith("> nothing") for line in lines)


@pytest.fixture
def sketch(tmp_path: Path) -> Any:
    """A small package: `files("a", "...")`."""
    (tmp_path / "rooms").mkdir()

    def files(**texts: str) -> Any:
        for name, text in texts.items():
            (tmp_path / "rooms" / f"{name}.py").write_text(text)
        return map_.Map(tmp_path)

    return files


def test_modules_that_import_each_other_are_a_circle_also_from_within_functions(sketch: Any) -> None:
    drawn = sketch(
        a="from agentic_memory_bank.rooms import b\n",
        b="from agentic_memory_bank.rooms.c import thing\n",
        c="def f():\n    import agentic_memory_bank.rooms.a\n",
        d="from agentic_memory_bank.rooms import a\n",
    )

    assert drawn.faults["circles"] == {"rooms.a rooms.b rooms.c"}


def test_what_only_a_type_checker_imports_is_no_circle(sketch: Any) -> None:
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from agentic_memory_bank.rooms import a\n"

    assert sketch(a="from agentic_memory_bank.rooms import b\n", b=types).faults["circles"] == set()


def test_modules_are_neither_too_long_nor_fragments_and_a_fragment_may_say_why(sketch: Any) -> None:
    drawn = sketch(long="\n" * 401, right="\n" * 400, short="x = 1\n", stated='"""A table. Short: all there is."""\n')

    assert (drawn.faults["long"], drawn.faults["short"]) == ({"rooms.long"}, {"rooms.short"})


def test_a_class_name_that_two_modules_define_has_two_meanings(sketch: Any) -> None:
    drawn = sketch(a="class Found: ...\nclass Own: ...\n", b="class Found: ...\n")

    assert drawn.faults["doubled"] == {"Found"}
    assert drawn.where("Found") == ["rooms.a", "rooms.b"]


def test_what_is_known_only_gets_shorter(sketch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_, "KNOWN", tmp_path / "known.toml")
    (tmp_path / "known.toml").write_text('# why\n\nshort = ["rooms.a", "rooms.mended"]\nlong = []\n')

    map_.shorten(sketch(a="x = 1\n", b="x = 1\n"))

    assert map_.known() == {"short": ["rooms.a"], "long": []}
    assert (tmp_path / "known.toml").read_text().startswith("# why\n")
