"""`Settings`: every value that can be tuned, with its default and bounds; read from `MEMORY_BANK_*`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, Field
from pydantic_settings import PydanticBaseSettingsSource, SettingsConfigDict

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.model_table import ModelTable
from agentic_memory_bank.state.variables import PREFIX, Environment, explained, nearest, once, renewed

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


Sensitive = Literal["health", "religion", "politics", "sexuality"]
"""Topics that can be left out of memories."""
EmbeddingBackend = Literal["onnx", "openvino", "pytorch"]
"""What runs all-MiniLM-L6-v2. Its vectors hardly differ. PyTorch takes seconds to load; any other model needs it."""


def _named_embeddings(name: str | None) -> str | None:
    """A name of embeddings, if it can be one; whether its package and key are there is seen where they are made."""
    if name is None:
        return None
    provider, colon, model = (part.strip() for part in name.partition(":"))
    provider = provider.casefold()
    if not colon or not model or not _is_provider(provider):
        raise ValueError(f"{name!r} names no embeddings; write local:FOLDER, huggingface:NAME, or openai:NAME")
    return f"{provider}:{model}"


def _is_provider(name: str) -> bool:
    if name in ("local", "huggingface", "openai"):
        return True
    from langchain.embeddings import base

    return name in getattr(base, "_BUILTIN_PROVIDERS", (name,))


class Settings(ModelTable):
    """Settings of a run: plain values, which are stored with it. Explicit beats environment beats default.

    Keys of providers are no settings: they are read from the environment where a client is made. Clients of a server
    may set those of `state.forms.OF_CLIENTS` alone.

    Raises:
        SettingsError: A name is unknown, here or as a variable `MEMORY_BANK_*`, or a value is not allowed.

    Example:
        >>> run("How wide is the mirror?", documents=["report.txt"], settings=Settings(k=8, budget_calls=50))
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    _from_callers_alone: ClassVar[frozenset[str]] = frozenset()
    """Fields that no variable sets."""

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __init__(self, **values: Any) -> None:
            values = renewed(values)
            for name in values:  # first: pydantic-settings has arguments of its own, files to read among them
                if name not in type(self).model_fields:
                    raise SettingsError(f"There is no setting {name}. {nearest(name, type(self).model_fields)}")
            with explained():
                super().__init__(**values)

    @classmethod
    def over(cls, settings: "Settings", **more: Any) -> Self:
        """Make settings of others and more values; no variable is read again, which takes as long as a search.

        Raises:
            SettingsError: A value is not allowed.
        """
        made = cls.__new__(cls)
        with explained():
            BaseModel.__init__(made, **{name: getattr(settings, name) for name in Settings.model_fields} | more)
        return made

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[Any],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read what was given first, then the environment."""
        return (init_settings, Environment(settings_cls, env_settings, cls._from_callers_alone))

    k: int = Field(default=5, ge=1, le=100, description="How many memories a search returns, neighbours aside.")
    alpha: float = Field(default=0.5, ge=0, le=1, description="Weight of keywords in the score; cosine has the rest.")
    alpha_zh: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="Weight of keywords for Chinese queries, where all-MiniLM-L6-v2 says little. Set it to `alpha` "
        "with a multilingual model.",
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
        default=0.55,
        ge=-1,
        le=1,
        description="Cosine from which two Chinese memories are judged; unrelated ones reach 0.6.",
    )
    window_ratio: float = Field(
        default=0.9,
        gt=0,
        le=1,
        description="Share of a window that text may fill: one chunk of a long text, or what is packed into a call.",
    )
    max_input_characters: int = Field(
        default=200_000_000, ge=1, description="Longest input, in characters, all documents together."
    )
    page_tokens: int = Field(
        default=2_048,
        ge=64,
        le=100_000,
        description="Longest page of a memory, in tokens; longer texts are cut.",
    )
    page_batch: int = Field(
        default=128, ge=1, le=10_000, description="How many pages are memorized between two checkpoints."
    )
    page_ttl_days: float = Field(
        default=0,
        ge=0,
        le=365_000,
        description="Days that new pages stay; hours and minutes are added. All 0: for ever.",
    )
    page_ttl_hours: float = Field(default=0, ge=0, le=8_760_000, description="Hours that new pages stay.")
    page_ttl_minutes: float = Field(default=0, ge=0, le=525_600_000, description="Minutes that new pages stay.")
    page_ttl_seconds: float | None = Field(
        default=None,
        ge=0,
        le=31_536_000_000,
        description="Seconds that new pages stay, in place of days, hours and minutes. 0: for ever. None of the four "
        "given: as it was said last for this memory.",
    )
    abstract_context: int = Field(
        default=3, ge=0, le=20, description="How many earlier abstracts a page is given, besides the one before it."
    )
    abstract_context_tokens: int = Field(
        default=1_500, ge=0, le=100_000, description="Token budget of the earlier abstracts in one prompt."
    )
    abstract_instructions: str = Field(
        default="", max_length=20_000, description="Your own instructions for abstracts, put after ours."
    )
    research_rounds: int = Field(
        default=3, ge=1, le=50, description="Rounds of research before the answer is what there is."
    )
    research_pages: int = Field(default=10, ge=1, le=200, description="How many pages one search brings.")
    research_fusion: Literal["score", "rrf"] = Field(
        default="score",
        description="How keywords and meaning are fused: by their scores, or by reciprocal ranks, which loses "
        "where one of the two is weak, as on Chinese.",
    )
    research_tokens: int = Field(
        default=8_000, ge=200, le=1_000_000, description="Token budget of the text of pages in one prompt of research."
    )
    research_instructions: str = Field(
        default="",
        max_length=20_000,
        description="Your own instructions for planning, gathering, reflecting and answering, put after ours.",
    )
    max_attachment_bytes: int = Field(
        default=20_000_000, ge=1, le=1_000_000_000, description="Largest attachment, in bytes."
    )
    retries: int = Field(default=1, ge=0, le=5, description="How often a failed request to a model is sent again.")
    longest_wait: float = Field(
        default=60.0,
        ge=0,
        le=3_600,
        description="Longest `Retry-After` that is waited for, in seconds; over it, it failed.",
    )
    react_calls: int = Field(
        default=60,
        ge=1,
        le=1_000,
        description="Calls of the model within one step, or one invocation of `react_mem`; the last one has to answer.",
    )
    react_context: int = Field(
        default=128_000,
        ge=1_000,
        le=2_000_000,
        description="Tokens of an agent's context; near it, the agent has to answer.",
    )
    react_result_tokens: int = Field(
        default=4_000,
        ge=100,
        le=200_000,
        description="Longest result of a tool that an agent is shown whole, in tokens.",
    )
    recall_limit: int = Field(
        default=5, ge=1, le=100, description="How many memories of the user a message recalls at most."
    )
    recall_threshold: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Least cosine of a recalled memory that shares no rare name or number with the message. Empty: by "
        "embedder, language and kind of memory.",
    )
    recall_tokens: int = Field(
        default=250, ge=20, le=100_000, description="Token budget of the memories recalled for a message."
    )
    recall_timeout: float = Field(
        default=1.0,
        gt=0,
        le=600,
        description="Seconds that recalling may delay a message; then it is answered without memories.",
    )
    recall_hyde: bool = Field(
        default=False, description="Whether a model also writes what a memory with the answer might say (HyDE)."
    )
    recall_elbow: bool = Field(
        default=False, description="Whether memories below the largest gap between two cosines are left out."
    )
    recall_routing: bool = Field(
        default=False, description="Whether the wording of a message chooses the types of memories that are searched."
    )
    recall_recency_days: float = Field(
        default=30,
        ge=0,
        le=365_000,
        description="Days in which the weight of recency halves among memories that fit alike. 0: age does not count.",
    )
    remember_every: int = Field(
        default=10, ge=1, le=1_000, description="Turns after which memories are extracted from a conversation."
    )
    remember_idle_minutes: float = Field(
        default=30, gt=0, le=525_600, description="Minutes without a turn after which a conversation has ended."
    )
    remember_drift: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Cosine of a message and those before it below which the topic has changed, so that memories are "
        "extracted at once. Empty: topics are not compared.",
    )
    remember_turns: bool = Field(
        default=True,
        description="Whether turns are kept word for word beside the memories that are extracted from them.",
    )
    remember_without: tuple[Sensitive, ...] = Field(
        default=(),
        description="What is left out of all that is kept of conversations, as a list in JSON of some of health, "
        "religion, politics, sexuality.",
    )
    remember_queue: int = Field(
        default=100, ge=1, le=100_000, description="How many conversations wait at most to be remembered."
    )
    conversation_tokens: int = Field(
        default=650,
        ge=100,
        le=1_000_000,
        description="Tokens that stand for a long conversation: where it stands, its last turns, and memories.",
    )
    conversation_limit: int = Field(
        default=14, ge=1, le=100, description="How many memories a message of such a conversation recalls at most."
    )
    conversation_days: float = Field(
        default=30, gt=0, le=365_000, description="Days after its last turn that the state of a conversation is kept."
    )
    fact_limit: int = Field(
        default=5, ge=1, le=100, description="How many facts an agent's invocation recalls at most."
    )
    episode_limit: int = Field(
        default=3, ge=1, le=100, description="How many episodes an agent's invocation recalls at most."
    )
    working_memory_tokens: int | None = Field(
        default=2_000,
        ge=200,
        le=1_000_000,
        description="Tokens of an agent's steps from which the older ones are condensed. Empty: by share.",
    )
    working_memory_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Share of the window of the role react from which an agent's older steps are condensed; "
        "`working_memory_tokens` wins where both are given.",
    )
    keep_steps: int = Field(
        default=5, ge=1, le=100, description="How many of an agent's last steps are shown word for word."
    )
    condense_with_model: bool = Field(
        default=False,
        description="Whether a model (role summarise) condenses an agent's older steps and says what an episode "
        "teaches. Otherwise rules do.",
    )
    auto_facts: bool = Field(
        default=True, description="Whether facts are extracted from what an agent was told and answered."
    )
    record_episodes: bool = Field(default=True, description="Whether an agent's tasks are recorded as episodes.")
    memory_tools: bool = Field(
        default=False,
        description="Whether an agent is offered retrieve_facts, recall_episodes and store_fact.",
    )
    additional_context: str = Field(
        default="",
        max_length=20_000,
        description="Your own words, put after the agent's instructions while memory is on.",
    )
    memory_index_megabytes: int = Field(
        default=512, ge=1, le=1_000_000, description="Megabytes of memory that users' indexes take in a process."
    )
    memory_quota: int = Field(
        default=10_000, ge=1, le=10_000_000, description="How many memories a user has at most; the weakest go first."
    )
    memory_prune_facts: bool = Field(
        default=False, description="Whether maintenance also prunes facts that were not used for long, not turns alone."
    )
    memory_ttl_days: float = Field(
        default=0, ge=0, le=365_000, description="Days that new memories stay. 0: for ever, until they are pruned."
    )
    search_provider: Literal["serper", "tavily", "none"] = Field(
        default="serper", description="Whose search an agent uses; needs SERPER_API_KEY or TAVILY_API_KEY."
    )
    visit_reader: Literal["direct", "jina", "none"] = Field(
        default="direct", description="How an agent reads a page: by itself, or through Jina Reader (JINA_API_KEY)."
    )
    allow_private_addresses: bool = Field(
        default=False, description="Whether an agent may open addresses of your own network. Never those of metadata."
    )
    budget_calls: int | None = Field(
        default=None, ge=1, description="Requests to models before a run pauses and asks. No limit when empty."
    )
    budget_tokens: int | None = Field(
        default=None, ge=1, description="Tokens, in and out, before a run pauses and asks. No limit when empty."
    )
    budget_money: float | None = Field(
        default=None, gt=0, description="Money, in the unit of `prices`, before a run pauses and asks. Needs `prices`."
    )
    budget_seconds: float | None = Field(
        default=None, gt=0, description="Time a run may take before it pauses and asks. No limit when empty."
    )
    stage_timeout: float | None = Field(
        default=None, gt=0, description="Seconds a stage, its executor too, may take; then a run goes on without it."
    )
    prices: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description='Price of a million tokens, in and out, by model: `{"openai:NAME": [0.15, 0.6]}`, or else unknown.',
    )
    embeddings: Annotated[str | None, AfterValidator(_named_embeddings)] = Field(
        default=None,
        description="Model of embeddings: `local:FOLDER` or `huggingface:NAME` of a sentence-transformers model, "
        "`openai:NAME`, or whatever else `init_embeddings` of LangChain takes. Empty: all-MiniLM-L6-v2.",
    )
    embedding_threads: int | None = Field(
        default=None, ge=1, le=1_024, description="Cores that the local embedding model uses at most. Empty: all."
    )
    embedding_backend: EmbeddingBackend = Field(
        default="onnx",
        description="What runs all-MiniLM-L6-v2: `openvino`, an extra, is faster. Others need PyTorch.",
    )

    @classmethod
    def of(cls, runtime: "Runtime[Settings] | None") -> Self:
        """Get the settings of a run, or those of the environment where its context has none.

        Raises:
            SettingsError: A name or a value is not allowed, in what was passed or in a `MEMORY_BANK_*` variable.
        """
        context = getattr(runtime, "context", None)
        if isinstance(context, cls):
            return context
        if isinstance(context, Settings):  # which say nothing of a user
            return cls(**dict(context))
        return once(cls, context if isinstance(context, dict) else {})


def checked_settings(given: object) -> Settings:
    """Make settings of those that were given, over those of the environment.

    Args:
        given: `Settings`, a mapping of their values by name, or `None`.

    Raises:
        SettingsError: `given` is neither, or a name or a value is not allowed, here or in a variable `MEMORY_BANK_*`.
    """
    if isinstance(given, Settings):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise SettingsError(f"The settings are of type {type(given).__name__}. Give `Settings`, or a dict of values.")
    return Settings(**{str(name): value for name, value in (given or {}).items()})
