"""Each setting is either a client's to set or the operator's, and nobody has to guess which."""

from typing import Any

import pytest

from agentic_memory_bank import (
    Settings,
    conversation,
    memorizer,
    memory_bank,
    react_mem,
    recall,
    remember,
    researcher,
)
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.state.forms import OF_CLIENTS, check_given, of_clients, used_by
from agentic_memory_bank.state.model_table import ModelTable

OF_THE_OPERATOR = {
    *ModelTable.model_fields,  # models, what they cost, and how long they are waited for
    *("allow_private_addresses", "search_provider", "visit_reader", "embeddings", "prices"),
    *("budget_calls", "budget_tokens", "budget_money", "budget_seconds", "memory_quota", "memory_prune_facts"),
    *("memory_index_megabytes", "stage_timeout"),
    *("max_input_characters", "max_attachment_bytes", "window_ratio", "page_batch", "remember_queue"),
    *("embedding_threads", "embedding_backend"),
    *("retries", "longest_wait", "react_calls", "react_context", "react_result_tokens"),
}


GRAPHS: tuple[Any, ...] = (memory_bank, memorizer, researcher, recall, remember, conversation, react_mem)


def form_of(graph: Any) -> dict[str, Any]:
    return graph.get_context_jsonschema()["properties"]


def test_every_setting_is_a_clients_or_the_operators() -> None:
    assert OF_CLIENTS.isdisjoint(OF_THE_OPERATOR)
    assert set(Settings.model_fields) == OF_CLIENTS | OF_THE_OPERATOR


@pytest.mark.parametrize("name", sorted(OF_THE_OPERATOR))
def test_a_client_that_names_a_setting_of_the_operator_is_told_so(name: str) -> None:
    with pytest.raises(SettingsError, match=f"The setting {name} is the operator's.*MEMORY_BANK_CLIENT_SETTINGS"):
        check_given({name: Settings.model_fields[name].get_default(call_default_factory=True)}, "ana")


def test_a_client_fills_in_what_is_its_own() -> None:
    check_given({"user": "ana", "project": "p", "enable_memory": True, "tool_names": ["x"], "recall_limit": 3}, "ana")
    check_given({"user": None}, "ana")
    check_given({"user": ""}, "ana")


@pytest.mark.parametrize("user", ["bob", "Ana", "ana ", 5, True, ["ana"], {"identity": "bob"}])
def test_a_client_that_names_somebody_else_is_refused(user: Any) -> None:
    with pytest.raises(InputError, match="not the one who is authenticated"):
        check_given({"user": user}, "ana")


def test_the_operator_may_open_a_setting_or_close_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_CLIENT_SETTINGS", "default, model")
    check_given({"model": "local:x", "k": 3}, "ana")
    monkeypatch.setenv("MEMORY_BANK_CLIENT_SETTINGS", "k")
    check_given({"k": 3}, "ana")
    with pytest.raises(SettingsError, match="operator's"):
        check_given({"recall_limit": 3}, "ana")

    monkeypatch.setenv("MEMORY_BANK_CLIENT_SETTINGS", "default,modle")
    with pytest.raises(SettingsError, match="modle, which is no setting. The nearest is `model`"):
        of_clients()


def test_the_form_of_a_server_offers_what_a_client_may_set_of_what_the_graph_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    invocation = {"user", "project", "enable_memory", "auto_store", "tool_names"}
    for graph in GRAPHS:
        offered = set(form_of(graph))
        assert offered <= OF_CLIENTS | invocation
        assert offered == set(used_by(graph.name)) & (OF_CLIENTS | invocation)

    monkeypatch.setenv("MEMORY_BANK_CLIENT_SETTINGS", "model,react_window,rewrite_model")
    assert set(form_of(memory_bank)) == {"model", "react_window"}
    assert set(form_of(recall)) == {"model", "rewrite_model"} | invocation


def test_in_code_nothing_is_restricted(bank: Any) -> None:
    found: Any = bank.invoke(
        {"question": "What is red?", "documents": ["The kite is red."]},
        context=Settings(max_concurrency=1, allow_private_addresses=True),
    )

    assert found["status"] == "completed"
