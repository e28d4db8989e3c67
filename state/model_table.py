"""The table of models: for every role its model, sampling, window, output limit and timeout, each a setting."""

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pydantic import Field
from pydantic_settings import BaseSettings

Role = Literal["classify", "structure", "analyze", "integrate", "plan", "react"]
"""Who is asked: `react` carries out the planned steps (it validates, reads and answers), the others keep memory."""

ROLES: Final[tuple[Role, ...]] = get_args(Role)


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


def _model(role: str) -> Any:
    return Field(default=None, description=f"Chat model of the role {role}. Default: `model`.")


def _temperature(role: str, default: float) -> Any:
    return Field(default=default, ge=0, le=2, description=f"Sampling temperature of the role {role} (seed 002).")


def _top_p(role: str, default: float) -> Any:
    return Field(default=default, gt=0, le=1, description=f"Nucleus of probability of the role {role} (seed 002).")


def _window(role: str) -> Any:
    return Field(default=32_000, ge=64, le=2_000_000, description=f"Window of the role {role}, in tokens.")


def _output(role: str) -> Any:
    return Field(default=4_096, ge=16, le=200_000, description=f"Longest answer of the role {role}, in tokens.")


def _timeout(role: str) -> Any:
    return Field(default=120.0, gt=0, le=3_600, description=f"Seconds that a request of the role {role} may take.")


class ModelTable(BaseSettings):
    """The cells of the table as settings: `classify_temperature`, `MEMORY_BANK_CLASSIFY_TEMPERATURE`."""

    model: str | None = Field(
        default=None,
        description="Chat model of all roles that name none: `openai:NAME`, `deepseek:NAME` or `local:NAME`. Empty: "
        "the extractive engine, without any model.",
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

    def role(self, role: Role) -> RoleSettings:
        """One row of the table; the model is that of all roles where the role names none."""
        cells = {
            cell: getattr(self, f"{role}_{cell}") for cell in ("temperature", "top_p", "window", "output", "timeout")
        }
        return RoleSettings(role=role, model=getattr(self, f"{role}_model") or self.model, **cells)

    @property
    def names_models(self) -> bool:
        """Whether any role has a chat model."""
        return any(self.role(role).model for role in ROLES)
