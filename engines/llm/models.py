"""The chat models of a run, one per role, and the form of structured output that each of them takes."""

import hashlib
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_function, convert_to_openai_tool
from pydantic import BaseModel

from agentic_memory_bank.engines.providers import provider_of
from agentic_memory_bank.engines.streamed_answer import STREAMED
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.model_table import BANK_ROLES, LOCAL, ROLES, Role, RoleSettings
from agentic_memory_bank.state.settings import Settings

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

GivenModels = BaseChatModel | Mapping[str, BaseChatModel]
"""A chat model for all roles, or one for each of some roles; its own parameters hold, not those of the table."""

IGNORED_TWICE: Final = 2
_STREAM: Final = "_stream"
"""What LangChain's chat models with a stream of their own override."""
LONGEST: Final = 2_400
"""Characters of a text that a model writes, at most: 400 words of a summary."""
MOST_ITEMS: Final = 40
"""More than one window asks for."""
HIGHEST: Final = 9_999
_LENGTHS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("context", "reason", "explanation", "description", "request", "queries", "topic"), 400),
    **dict.fromkeys(("kind", "keywords", "subject", "attribute"), 60),
}
"""Characters of texts that are a sentence, or a few words; those of a list are each so long."""
_COUNTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("keywords", "evidence", "excerpts", "turns", "quotes"), 8),
    **dict.fromkeys(("queries", "pages", "missing", "requests"), 5),
    **dict.fromkeys(("topics", "paragraphs"), 16),
}
"""Items of lists that have few."""
_ALL: Final = ("json_schema", "function_calling", "json_mode", "prompt")
_MODES: Final = {"openai": _ALL, "local": _ALL, "deepseek": ("function_calling", "json_mode", "prompt")}


class OutputModes:
    """The modes of structured output that a server may support, the best first; a refused one is not tried again."""

    def __init__(self, modes: Sequence[str]) -> None:
        self.streams = True
        """Whether a stream may be asked for; set once a server refused one."""
        self._modes = list(modes)
        self._ignored = 0
        self._lock = threading.Lock()

    @property
    def mode(self) -> str:
        """The mode to use now."""
        return self._modes[0]

    @property
    def left(self) -> tuple[str, ...]:
        """Those that were not refused, the best first."""
        return tuple(self._modes)

    def step_down(self, refused: str) -> bool:
        """Give up a mode; False when there is none below it."""
        with self._lock:
            if self._modes[0] == refused and len(self._modes) > 1:
                self._modes.pop(0)
            return self._modes[0] != refused

    def kept_to(self) -> None:
        """Note that an answer kept to the mode, so that an earlier one that did not was an exception."""
        with self._lock:
            self._ignored = 0

    def ignored(self, mode: str) -> None:
        """Note that a server accepted a mode and did not keep to it; the second time in a row it is given up."""
        with self._lock:
            self._ignored += mode == self._modes[0]
            is_habit = self._ignored >= IGNORED_TWICE
            if is_habit:
                self._ignored = 0
        if is_habit:
            self.step_down(mode)


@dataclass(frozen=True, slots=True)
class RoleModel:
    """The model of one role."""

    row: RoleSettings
    name: str
    """As in the table of models and prices, or the name of the class and model that was passed in code."""
    client: BaseChatModel
    modes: OutputModes
    parameters: str
    """What else an answer depends on; part of the key under which it is kept."""
    is_openai: bool
    """Whether the client always says why an answer ended."""

    @property
    def is_slow(self) -> bool:
        """Whether its answers take so long that it is worth listening to them."""
        return self.name.startswith(LOCAL)

    @property
    def can_stream(self) -> bool:
        """Whether its client has a stream of its own: others answer whole, whatever is asked for."""
        return getattr(type(self.client), _STREAM) is not getattr(BaseChatModel, _STREAM)

    def streamed(self) -> BaseChatModel:
        """The client of a model at home, whose answers come piece by piece and are joined below it."""
        return self.client.model_copy(update={"extra_body": self._body(STREAMED)})

    def within(
        self, asked: Runnable[LanguageModelInput, AIMessage], seconds: float
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The request with a deadline, where the client supports one."""
        return asked.bind(timeout=seconds) if self.is_openai else asked

    def bound(
        self, mode: str, answer: type[BaseModel], extra: Mapping[str, Any] = MappingProxyType({})
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The client, asked to answer in one form.

        Args:
            mode: The form of structured output.
            answer: What is to be answered.
            extra: Said in the request besides, past the SDK.
        """
        if mode == "json_schema":
            form = {"type": "json_schema", "json_schema": _strict_schema(answer, self.is_slow)}
            return self._saying({**extra, "response_format": form})
        if mode == "function_calling":
            # A string, since llama.cpp and LM Studio know no other; there is but this tool.
            choice = "required" if self.is_openai else answer.__name__
            said = {"extra_body": self._body(extra)} if extra else {}
            return self.client.bind_tools([tool_of(answer)], tool_choice=choice, **said)
        if mode == "json_mode":
            return self._saying({**extra, "response_format": {"type": "json_object"}})
        return self._saying(extra) if extra else cast("Runnable[LanguageModelInput, AIMessage]", self.client)

    def _saying(self, extra: Mapping[str, Any]) -> Runnable[LanguageModelInput, AIMessage]:
        """The client with more in its requests, past its SDK, whose parser costs much and raises what we read."""
        return self.client.bind(extra_body=self._body(extra))

    def _body(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        return {**(getattr(self.client, "extra_body", None) or {}), **extra}


@cache
def tool_of(answer: type[BaseModel]) -> dict[str, Any]:
    """An answer as a tool that bears its name."""
    return convert_to_openai_tool(answer)


@cache
def example_of(answer: type[BaseModel]) -> dict[str, Any]:
    """An answer as it is written, each text what its field is for: small models copy a form, and no schema."""
    return _example(tool_of(answer)["function"]["parameters"], "")


def _example(schema: Mapping[str, Any], said: str) -> Any:
    match schema.get("type"):
        case "object":
            return {name: _example(of, of.get("description", "")) for name, of in schema.get("properties", {}).items()}
        case "array":
            return [_example(schema["items"], said)]
        case "integer":
            return 1
        case "boolean":
            return True
        case _:
            return " or ".join(schema["enum"]) if "enum" in schema else said


@cache
def _strict_schema(answer: type[BaseModel], is_local: bool) -> dict[str, Any]:
    schema = convert_to_openai_function(answer, strict=True)
    return {"name": schema["name"], "strict": True, "schema": _bounded(schema["parameters"], is_local)}


def _bounded(schema: Any, is_local: bool, named: str = "") -> Any:
    """A schema with an end to everything: a small model that is held to it cannot go on for ever.

    OpenAI refuses lengths of strings, and needs none; a server at home builds a grammar of the schema.
    """
    if isinstance(schema, list):
        return [_bounded(one, is_local) for one in cast("list[Any]", schema)]
    if not is_local or not isinstance(schema, dict):
        return schema
    fields: dict[str, Any] = schema.get("properties", {})
    bounded = {key: _bounded(value, is_local, named) for key, value in cast("dict[str, Any]", schema).items()}
    if fields:
        bounded["properties"] = {name: _bounded(of, is_local, name) for name, of in fields.items()}
    match bounded.get("type"):
        case "string" if "enum" not in bounded:
            return {"maxLength": _LENGTHS.get(named, LONGEST), **bounded}
        case "array":
            return {"maxItems": _COUNTS.get(named, MOST_ITEMS), **bounded}
        case "integer":
            return {"minimum": 0, "maximum": HIGHEST, **bounded}
        case _:
            return bounded


_KNOWN_MODES: dict[str, OutputModes] = {}


@dataclass(frozen=True)
class ChatModels:
    """The chat models of a run. A role without one is judged by the offline engine."""

    roles: Mapping[Role, RoleModel] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, given: GivenModels | None = None, roles: Sequence[Role] = BANK_ROLES) -> Self:
        """The models that were passed in code, and for the other ones of these roles those that the settings name.

        Raises:
            SettingsError: A name is not known, or its key is not set.
        """
        passed = by_role(given)
        found: dict[Role, RoleModel] = {}
        for role in roles:
            row = settings.role(role)
            if role in passed:
                found[role] = _passed(row, passed[role])
            elif row.model:
                found[role] = _named(row, row.model)
        return cls(found)

    @property
    def name(self) -> str:
        """What runs are recorded under: the models, each once, in the order of the roles."""
        return f"models {', '.join(dict.fromkeys(model.name for model in self.roles.values()))}"


def names_of(settings: Settings, given: GivenModels | None, roles: Sequence[Role] = BANK_ROLES) -> list[str]:
    """The names of the models of these roles, each once."""
    passed = by_role(given)
    names = [name_of(passed[role]) if role in passed else settings.role(role).model for role in roles]
    return list(dict.fromkeys(name for name in names if name))


def by_role(given: GivenModels | None) -> dict[Role, BaseChatModel]:
    """Give the models that were passed by their roles.

    Raises:
        SettingsError: They are neither a chat model nor a mapping of roles to chat models.
    """
    if given is None:
        return {}
    if isinstance(given, BaseChatModel):
        return dict.fromkeys(ROLES, given)
    if not isinstance(given, Mapping) or not all(isinstance(model, BaseChatModel) for model in given.values()):
        raise SettingsError(
            "Pass a LangChain chat model, or a mapping of roles to chat models, as `models`. A model is named in the "
            "settings: `Settings(model='openai:NAME')` or MEMORY_BANK_MODEL."
        )
    if unknown := sorted(set(given) - set(ROLES)):
        raise SettingsError(f"There is no role {', '.join(unknown)}. The roles are {', '.join(ROLES)}.")
    return {cast("Role", role): model for role, model in given.items()}


def named_model(row: RoleSettings) -> RoleModel:
    """The model that a row of the table names, with forms of output of its own.

    Raises:
        SettingsError: It names none, or one that cannot be asked.
    """
    found = _named(row, row.model or "")
    return replace(found, modes=OutputModes(_MODES[provider_of(found.name)[0].name]))


def _named(row: RoleSettings, name: str) -> RoleModel:
    from agentic_memory_bank.engines.openai_client import chat_model

    client = chat_model(row)
    provider, _ = provider_of(name)
    address = str(getattr(client, "openai_api_base", "") or "")
    modes = _modes_for(f"{name}\n{address}", _MODES[provider.name])
    parameters = f"{_hash(address)} {row.temperature} {row.top_p} {row.output}"
    return RoleModel(row, name, client, modes, parameters, is_openai=True)


def _passed(row: RoleSettings, client: BaseChatModel) -> RoleModel:
    from langchain_openai.chat_models.base import BaseChatOpenAI

    is_openai = isinstance(client, BaseChatOpenAI)
    modes = _ALL if is_openai else _ALL[1:2] * _takes_tools(client) + _ALL[-1:]
    asked = _without_retries(client) if isinstance(client, BaseChatOpenAI) else client
    return RoleModel(row, name_of(client), asked, _modes_of(client, modes), _hash(_parameters(client)), is_openai)


def _without_retries(client: "BaseChatOpenAI") -> "BaseChatOpenAI":
    """A copy of a client without retries of its own: two layers of retries would multiply."""
    if client.root_client is None:
        return client
    root = client.root_client.with_options(max_retries=0)
    return client.model_copy(update={"max_retries": 0, "root_client": root, "client": root.chat.completions})


def _takes_tools(client: BaseChatModel) -> bool:
    return type(client).bind_tools is not BaseChatModel.bind_tools


def name_of(client: BaseChatModel) -> str:
    """What a model that was passed in code is called, among prices as well: class and model."""
    model = getattr(client, "model_name", None) or getattr(client, "model", None)
    return f"{type(client).__name__}:{model}" if isinstance(model, str) else type(client).__name__


def _parameters(client: BaseChatModel) -> str:
    """What a client says of itself, and whom it asks. Its fields are left alone: reading an iterator uses it up."""
    said = sorted((key, str(value)) for key, value in client.asdict().items())
    return f"{said} {getattr(client, 'openai_api_base', '')}"


def _modes_for(key: str, modes: Sequence[str]) -> OutputModes:
    return _KNOWN_MODES.setdefault(_hash(key), OutputModes(modes))


def _modes_of(client: BaseChatModel, modes: Sequence[str]) -> OutputModes:
    """The modes of a client that was passed; they go with the client, whose number another may get."""
    key = str(id(client))
    if _hash(key) not in _KNOWN_MODES:
        weakref.finalize(client, _KNOWN_MODES.pop, _hash(key), None)
    return _modes_for(key, modes)


def _hash(value: object) -> str:
    return hashlib.sha256(str(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
