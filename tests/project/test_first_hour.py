"""The pages of the first hour and of recipes show what their commands print."""

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    sys.modules[name] = module  # where a dataclass looks for what its fields are
    spec.loader.exec_module(module)
    return module


first_hour = _neighbour("first_hour")


def test_there_are_five_steps_and_the_first_installs() -> None:
    steps = list(first_hour.steps().items())

    assert [title[:2] for title, _ in steps] == ["1.", "2.", "3.", "4.", "5."]
    assert 'pip install -c constraints.txt ".[offline]"' in steps[0][1][0].typed


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [
        ("one\ntwo\nthree", True),
        ("one\n…", True),
        ("…\nthree", True),
        ("one\n…\nthree", True),
        ("o…e\n…\nth…e", True),
        ("…\nt…o\nthree", True),
        ("one\nthree", False),
        ("one\ntwo", False),
        ("two\n…", False),
        ("…\ntwo", False),
        ("…\nthree\n…\none\n…", False),
        ("one\ntwo…two\nthree", False),
    ],
)
def test_what_is_elided_may_be_anything_and_nothing_else_may(shown: str, is_it: bool) -> None:
    assert first_hour.is_as_shown("one\ntwo\nthree\n", shown) == is_it


@pytest.mark.model
@pytest.mark.slow
def test_each_step_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = first_hour.surroundings(Path(sys.executable).parent, tmp_path / "home")
    _, *others = first_hour.steps().values()

    for command in (command for commands in others for command in commands):
        printed = first_hour.typed_in(command, tmp_path, environment)
        assert not command.printed or first_hour.is_as_shown(printed, command.printed), command.typed + printed

    assert (tmp_path / "hall.html").stat().st_mode & 0o077 == 0
    assert "Lisbon" in (tmp_path / "ana.html").read_text(encoding="utf-8")


RECIPES = first_hour.steps(ROOT / "docs" / "recipes.md")


def test_there_are_five_recipes() -> None:
    assert [title[:2] for title in RECIPES] == ["1.", "2.", "3.", "4.", "5."]
    assert all(any(command.printed for command in commands) for commands in RECIPES.values())


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_each_recipe_prints_what_the_page_shows(recipe: str, tmp_path: Path) -> None:
    environment = first_hour.surroundings(Path(sys.executable).parent, tmp_path / "home")

    for command in RECIPES[recipe]:
        printed = first_hour.typed_in(command, tmp_path, environment)
        assert not command.printed or first_hour.is_as_shown(printed, command.printed), command.typed + printed
