"""Every value that can be tuned, its default and its bounds; read from `MEMORY_BANK_*`, a form in Studio."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from agentic_memory_bank.state.errors import SettingsError

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


class Settings(BaseSettings):
    """Plain values only: they are stored with a run and shown to people. Explicit beats environment beats default.

    Keys of providers are no fields: they are read from the environment where a client is made.
    """

    model_config = SettingsConfigDict(env_prefix="MEMORY_BANK_", extra="ignore", frozen=True, env_ignore_empty=True)

    k: int = Field(default=5, ge=1, le=100, description="How many memories a search returns, neighbours aside.")
    alpha: float = Field(
        default=0.5, ge=0, le=1, description="Weight of keywords in the score; cosine has the rest (seed 002)."
    )
    alpha_zh: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="The same for Chinese queries, where all-MiniLM-L6-v2 says little. Set to `alpha` with a "
        "multilingual model.",
    )
    neighbours_per_hit: int = Field(
        default=2, ge=0, le=50, description="How many related memories come along with each hit."
    )
    memory_tokens: int = Field(
        default=4_000, ge=100, le=1_000_000, description="Token budget of the recalled memories in the prompt."
    )
    gate_english: float = Field(
        default=0.4,
        ge=-1,
        le=1,
        description="Cosine from which two English memories are judged; a mixed pair needs a name or number in common.",
    )
    gate_chinese: float = Field(
        default=0.55, ge=-1, le=1, description="The same for two Chinese memories, where unrelated text reaches 0.6."
    )
    window_tokens: int = Field(
        default=32_000, ge=64, le=2_000_000, description="Window of the judge that classifies, in tokens."
    )
    window_ratio: float = Field(
        default=0.9, gt=0, le=1, description="Share of the window that one chunk of a long text may fill."
    )
    max_input_characters: int = Field(
        default=200_000_000, ge=1, description="Longest input that is taken, all documents together."
    )
    max_seconds: float | None = Field(
        default=None, gt=0, description="Time a run may take before it pauses and asks. No limit when empty."
    )
    embedding_path: Path | None = Field(
        default=None, description="Folder of a sentence-transformers model. Default: the installed files, then the hub."
    )

    @classmethod
    def of(cls, runtime: "Runtime[Settings] | None") -> Self:
        """The settings of a run, or those of the environment when nobody passed any.

        Raises:
            SettingsError: A `MEMORY_BANK_*` variable has a value that is not allowed.
        """
        context = getattr(runtime, "context", None)
        if isinstance(context, cls):
            return context
        try:
            return cls.model_validate(context) if isinstance(context, dict) else cls()
        except ValidationError as error:
            raise SettingsError(_explain(error)) from None


def _explain(error: ValidationError) -> str:
    found = "; ".join(
        f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in error.errors(include_url=False)
    )
    return f"These settings cannot be used: {found}. Mend the argument or the variable MEMORY_BANK_<NAME>."
