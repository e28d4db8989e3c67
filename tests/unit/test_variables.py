"""Names that no setting has are refused, in code and in the environment, and the nearest one is told."""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.runtime import Runtime

from agentic_memory_bank import Settings, memorizer, memory_bank, recall, researcher
from agentic_memory_bank.graph.conversation import graph as conversation
from agentic_memory_bank.graph.react_mem import graph as react_mem
from agentic_memory_bank.graph.remember import graph as remember
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.variables import OTHERS

HELLO: Any = {"messages": [("user", "Hello, who is Rex?")]}
GRAPHS: dict[str, tuple[Any, Any]] = {
    "memory_bank": (memory_bank, {"question": "Who is Rex?"}),
    "memorizer": (memorizer, {"texts": ["Rex is a dog."], "memory": "m"}),
    "researcher": (researcher, {"request": "Who is Rex?", "memory": "m"}),
    "recall": (recall, HELLO),
    "remember": (remember, HELLO),
    "conversation": (conversation, HELLO),
    "react_mem": (react_mem, HELLO),
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_context_with_a_name_that_no_setting_has_is_refused_with_the_nearest_one(graph: str) -> None:
    compiled, given = GRAPHS[graph]
    user = {} if graph in ("memory_bank", "memorizer", "researcher") else {"user": "ana"}

    with pytest.raises(SettingsError, match="no setting recal_limit. The nearest is `recall_limit`"):
        compiled.invoke(given, context={**user, "recal_limit": 3})
    with pytest.raises(SettingsError, match="recall_limit"):
        compiled.invoke(given, context={**user, "recall_limit": 0})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Settings(recal_limit=3),  # pyright: ignore[reportCallIssue]
        lambda: MemoryContext(user="ana", recal_limit=3),  # pyright: ignore[reportCallIssue]
        lambda: Memories(settings={"recal_limit": 3}),
        lambda: MemoryContext.of(Runtime(context={"recal_limit": 3})),  # pyright: ignore[reportArgumentType]
    ],
)
def test_in_code_it_is_refused_too(make: Callable[[], Any]) -> None:
    with pytest.raises(SettingsError, match="The nearest is `recall_limit`"):
        make()


def test_what_pydantic_would_take_for_its_own_is_no_setting() -> None:
    with pytest.raises(SettingsError, match="no setting _env_file"):
        Settings(_env_file="/etc/passwd")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("variable", ["MEMORY_BANK_RECAL_LIMIT", "memory_bank_recal_limit"])
@pytest.mark.parametrize("read", [Settings, MemoryContext, lambda: Settings.of(None)])
def test_a_variable_that_no_setting_has_is_refused_with_the_nearest_one_and_without_its_value(
    monkeypatch: pytest.MonkeyPatch, variable: str, read: Callable[[], Any]
) -> None:
    read()
    monkeypatch.setenv(variable, "canary")

    with pytest.raises(SettingsError, match="The nearest is `MEMORY_BANK_RECALL_LIMIT`") as caught:
        read()

    assert "canary" not in str(caught.value)


def test_no_variable_says_on_whose_behalf_something_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_USER", "ana")
    assert MemoryContext().user is None

    monkeypatch.setenv("MEMORY_BANK_PROJECT", "atlas")
    assert MemoryContext().project == ""


def test_variables_of_others_and_empty_ones_disturb_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("MEMORY_BANK_NOTHING", "")
    for name in OTHERS:
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("MEMORY_BANK_K", "7")

    assert (Settings().k, MemoryContext().k) == (7, 7)


def test_a_variable_is_read_again_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_K", "7")
    assert Settings().k == 7
    monkeypatch.setenv("MEMORY_BANK_K", "8")
    assert Settings().k == 8
    monkeypatch.delenv("MEMORY_BANK_K")
    assert Settings().k == 5


def test_settings_of_one_context_are_made_once_until_a_variable_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(cls: type[Settings], **context: Any) -> Settings:
        return cls.of(Runtime(context=context))  # pyright: ignore[reportArgumentType]

    assert of(Settings, k=8) is of(Settings, k=8)
    assert of(MemoryContext, k=8, user="ana").k == 8
    assert of(MemoryContext, k=8, user="ana") is not of(MemoryContext, k=8, user="bob")
    assert of(Settings, k=9).k == 9

    monkeypatch.setenv("MEMORY_BANK_NEIGHBOURS_PER_HIT", "3")

    assert of(Settings, k=8).neighbours_per_hit == 3


@pytest.mark.parametrize("given", ["text", [1], 5])
def test_input_that_is_no_mapping_is_an_error_of_ours(given: Any) -> None:
    from agentic_memory_bank.state.errors import InputError

    for compiled, _ in GRAPHS.values():
        with pytest.raises(InputError, match="Hand over a mapping"):
            compiled.invoke(given)


@pytest.mark.parametrize("messages", [5, [5], [{"x": 1}], [{"role": "nobody", "content": "x"}]])
@pytest.mark.parametrize("graph", GRAPHS)
def test_messages_that_are_none_are_an_error_of_ours(graph: str, messages: Any) -> None:
    from agentic_memory_bank.state.errors import InputError

    with pytest.raises(InputError):
        GRAPHS[graph][0].invoke({"messages": messages}, context={} if graph in list(GRAPHS)[:3] else {"user": "ana"})
