"""The table of models: for every role its model, sampling, window, output limit and timeout, each a setting."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pydantic import Field
from pydantic_settings import BaseSettings

Role = Literal[
    "classify",
    "structure",
    "analyze",
    "integrate",
    "plan",
    "react",
    "abstract",
    "research",
    "rewrite",
    "extract",
    "summarise",
]
"""Who is asked: `react` carries out the planned steps (it validates, reads and answers), the others keep memory;
`abstract` makes pages of what is to be searched later, `research` searches them; `rewrite` says what to recall for a
message, `extract` what of a conversation is worth remembering, `summarise` where a conversation stands."""

ROLES: Final[tuple[Role, ...]] = get_args(Role)
BANK_ROLES: Final = ROLES[:6]
"""Roles that a memory bank asks."""
MEMORIZER_ROLES: Final[tuple[Role, ...]] = ("abstract",)
RESEARCHER_ROLES: Final[tuple[Role, ...]] = ("research",)
RECALL_ROLES: Final[tuple[Role, ...]] = ("rewrite",)
REMEMBER_ROLES: Final[tuple[Role, ...]] = ("extract", "summarise")
CONVERSATION_ROLES: Final[tuple[Role, ...]] = ("react", *RECALL_ROLES, *REMEMBER_ROLES)

FRAME: Final = 0.06
"""Share of a window that is reserved for instructions, numbers and tags."""
MOST_OUTPUT: Final = 0.25
"""Largest share of a window that an answer may take."""

LOCAL: Final = "local:"
"""How the names of models begin whose server is somebody's own."""
MOST_AT_ONCE: Final = 8

_DENSE: Final = (
    (re.compile(r"\bgpt-(?:3\.5|4(?=$|-))"), 1.28),
    (re.compile(r"qwen|mi[sx]tral|ministral|codestral|devstral|magistral"), 1.1),
)
"""Models whose tokenizers count more than is estimated somewhere, and how much more: Chinese by `cl100k_base`, single
pieces of English and code by the others (`benchmarks/token_estimate.py`)."""


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """One row of the table."""

    role: Role
    model: str | None
    """`provider:name`, or None for the extractive engine."""
    temperature: float
    top_p: float
    window: int
    """Tokens of prompt and answer together."""
    output: int
    """Longest answer, in tokens."""
    timeout: float
    """Seconds after which a request has failed."""
    concurrency: int = 8
    """How many requests of one stage may be in flight at the same time."""
    slots: int = 0
    """How many of all runs together; 0 for any number."""

    def text_tokens(self, ratio: float) -> int:
        """Tokens of text that one prompt may hold: a share of the window, beside the longest answer and the frame."""
        return max(1, min(int(self.window * ratio), int(self.window * (1 - FRAME)) - self.output))


def _model(role: str) -> Any:
    return Field(default=None, description=f"Chat model of the role {role}. Default: `model`.")


def _temperature(role: str, default: float) -> Any:
    return Field(default=default, ge=0, le=2, description=f"Sampling temperature of the role {role}.")


def _top_p(role: str, default: float) -> Any:
    return Field(default=default, gt=0, le=1, description=f"Nucleus of probability of the role {role}.")


def _window(role: str) -> Any:
    return Field(default=32_000, ge=64, le=2_000_000, description=f"Window of the role {role}, in tokens.")


def _output(role: str, default: int = 4_096) -> Any:
    return Field(default=default, ge=16, le=200_000, description=f"Longest answer of the role {role}, in tokens.")


def _timeout(role: str, default: float = 120.0) -> Any:
    return Field(default=default, gt=0, le=3_600, description=f"Seconds that a request of the role {role} may take.")


class ModelTable(BaseSettings):
    """The cells of the table as settings: `classify_temperature`, `MEMORY_BANK_CLASSIFY_TEMPERATURE`."""

    model: str | None = Field(
        default=None,
        description="Chat model of all roles that name none: `openai:NAME`, `deepseek:NAME` or `local:NAME`. Empty: "
        "the extractive engine, without any model.",
    )
    window: int | None = Field(
        default=None,
        ge=64,
        le=2_000_000,
        description="Window of all roles, in tokens, where a role says nothing else. Empty: 32000, or less where the "
        "server of a `local:` model says so.",
    )
    output: int | None = Field(
        default=None,
        ge=16,
        le=200_000,
        description="Longest answer of all roles, in tokens; those whose answers are shorter keep their own.",
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=3_600,
        description="Seconds that a request of any role may take, but for `rewrite`, which an answer waits for.",
    )
    max_concurrency: int | None = Field(
        default=None,
        ge=1,
        le=256,
        description="How many requests of one stage are in flight at the same time. Empty: 8; for a `local:` model as "
        "many as its server says it serves at once, or 1, of all runs together.",
    )

    classify_model: str | None = _model("classify")
    classify_temperature: float = _temperature("classify", 0.4)
    classify_top_p: float = _top_p("classify", 0.9)
    classify_window: int = _window("classify")
    classify_output: int = _output("classify")
    classify_timeout: float = _timeout("classify")

    structure_model: str | None = _model("structure")
    structure_temperature: float = _temperature("structure", 0.1)
    structure_top_p: float = _top_p("structure", 0.8)
    structure_window: int = _window("structure")
    structure_output: int = _output("structure")
    structure_timeout: float = _timeout("structure")

    analyze_model: str | None = _model("analyze")
    analyze_temperature: float = _temperature("analyze", 0.4)
    analyze_top_p: float = _top_p("analyze", 0.9)
    analyze_window: int = _window("analyze")
    analyze_output: int = _output("analyze")
    analyze_timeout: float = _timeout("analyze")

    integrate_model: str | None = _model("integrate")
    integrate_temperature: float = _temperature("integrate", 0.2)
    integrate_top_p: float = _top_p("integrate", 0.85)
    integrate_window: int = _window("integrate")
    integrate_output: int = _output("integrate")
    integrate_timeout: float = _timeout("integrate")

    plan_model: str | None = _model("plan")
    plan_temperature: float = _temperature("plan", 0.6)
    plan_top_p: float = _top_p("plan", 0.95)
    plan_window: int = _window("plan")
    plan_output: int = _output("plan")
    plan_timeout: float = _timeout("plan")

    react_model: str | None = _model("react")
    react_temperature: float = _temperature("react", 0.6)
    react_top_p: float = _top_p("react", 0.95)
    react_window: int = _window("react")
    react_output: int = _output("react")
    react_timeout: float = _timeout("react")

    abstract_model: str | None = _model("abstract")
    abstract_temperature: float = _temperature("abstract", 0.3)
    abstract_top_p: float = _top_p("abstract", 0.9)
    abstract_window: int = _window("abstract")
    abstract_output: int = _output("abstract")
    abstract_timeout: float = _timeout("abstract")

    research_model: str | None = _model("research")
    research_temperature: float = _temperature("research", 0.3)
    research_top_p: float = _top_p("research", 0.95)
    research_window: int = _window("research")
    research_output: int = _output("research")
    research_timeout: float = _timeout("research")

    rewrite_model: str | None = _model("rewrite")
    rewrite_temperature: float = _temperature("rewrite", 0.1)
    rewrite_top_p: float = _top_p("rewrite", 0.9)
    rewrite_window: int = _window("rewrite")
    rewrite_output: int = _output("rewrite", 100)
    rewrite_timeout: float = _timeout("rewrite", 5.0)

    extract_model: str | None = _model("extract")
    extract_temperature: float = _temperature("extract", 0.1)
    extract_top_p: float = _top_p("extract", 0.9)
    extract_window: int = _window("extract")
    extract_output: int = _output("extract", 500)
    extract_timeout: float = _timeout("extract", 30.0)

    summarise_model: str | None = _model("summarise")
    summarise_temperature: float = _temperature("summarise", 0.1)
    summarise_top_p: float = _top_p("summarise", 0.9)
    summarise_window: int = _window("summarise")
    summarise_output: int = _output("summarise", 500)
    summarise_timeout: float = _timeout("summarise", 30.0)

    def role(self, role: Role) -> RoleSettings:
        """One row of the table; the model is that of all roles where the role names none.

        A window is in tokens as we estimate them: for a model that counts more, it is that much smaller.
        """
        model = getattr(self, f"{role}_model") or self.model
        limits = _LIMITS.get(model or "", ServerLimits())
        window = int(min(self._cell(role, "window"), limits.context or math.inf) / _density(model or ""))
        output = max(1, min(self._cell(role, "output"), int(window * MOST_OUTPUT)))
        slots = (limits.slots or 1) if not self.max_concurrency and (model or "").startswith(LOCAL) else 0
        return RoleSettings(
            role=role,
            model=model,
            temperature=getattr(self, f"{role}_temperature"),
            top_p=getattr(self, f"{role}_top_p"),
            window=window,
            output=output,
            timeout=self._cell(role, "timeout"),
            concurrency=self.max_concurrency or slots or MOST_AT_ONCE,
            slots=slots,
        )

    def _cell(self, role: Role, cell: str) -> Any:
        """A number of a role; that of all roles where the role has the default one, and none that is its own."""
        name = f"{role}_{cell}"
        own, default = getattr(self, name), type(self).model_fields[name].default
        everyone = getattr(self, cell)
        if everyone is None or own != default:
            return own
        if cell == "timeout":
            return own if role == "rewrite" else everyone
        return min(own, everyone) if default != type(self).model_fields[f"classify_{cell}"].default else everyone

    @property
    def names_models(self) -> bool:
        """Whether any role has a chat model."""
        return self.has_models(ROLES)

    def has_models(self, roles: Iterable[Role]) -> bool:
        """Whether any of these roles has a chat model."""
        return any(self.role(role).model for role in roles)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What the server of a local model says it can do."""

    context: int | None = None
    """Tokens of prompt and answer together."""
    slots: int | None = None
    """Requests that it serves at the same time."""


_LIMITS: dict[str, ServerLimits] = {}


def note_limits(model: str, limits: ServerLimits) -> None:
    """Note what a server says of a model, `local:NAME`; from then on the table keeps to it."""
    _LIMITS[model] = limits


def _density(model: str) -> float:
    """How many tokens a model may count where we estimate one."""
    return next((density for names, density in _DENSE if names.search(model.casefold())), 1.0)
