"""Each graph has a form of its own: what it uses, in groups; and what another graph uses does it no harm."""

from typing import Any

import pytest
from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from agentic_memory_bank import (
    Settings,
    build_conversation,
    build_memorizer,
    build_memory_bank,
    build_react_mem,
    build_recall,
    build_remember,
    build_researcher,
)
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import NoUserError, SettingsError
from agentic_memory_bank.state.forms import GROUPS, used_by
from agentic_memory_bank.state.model_table import ROLES
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

SAID: Any = {"messages": [("user", "I live in Lisbon.")], "conversation_id": "c"}
ASKS: dict[str, Any] = {
    "memory_bank": {"question": "What is red?", "documents": ["The kite is red."]},
    "memorizer": {"texts": ["The kite is red."], "memory": "kites"},
    "researcher": {"request": "What is red?", "memory": "kites"},
    "recall": SAID,
    "remember": SAID,
    "conversation": SAID,
    "react_mem": SAID,
}
BUILDERS: dict[str, Any] = {
    "memory_bank": build_memory_bank,
    "memorizer": build_memorizer,
    "researcher": build_researcher,
    "recall": build_recall,
    "remember": build_remember,
    "conversation": build_conversation,
    "react_mem": build_react_mem,
}
CELLS = ("temperature", "top_p", "window", "output", "timeout")


def built(graph: str) -> Any:
    return BUILDERS[graph](**({} if graph == "memorizer" else {"embeddings": HashEmbeddings()}))


@pytest.mark.parametrize("graph", ASKS)
def test_a_form_is_short_has_the_user_first_and_says_what_each_field_is(graph: str) -> None:
    made = built(graph)
    context, taken = made.get_context_jsonschema(), made.get_input_jsonschema()

    assert 0 < len(context["properties"]) <= 25
    assert graph == "memory_bank" or next(iter(context["properties"])) == "user"
    for name, field in {**context["properties"], **taken["properties"]}.items():
        assert field.get("description"), name
    for name, field in context["properties"].items():
        group, _, words = field["title"].partition(": ")
        assert name in GROUPS[group]
        assert words
    required = taken.get("required", [])
    assert required == (["messages"] if graph in ("recall", "conversation") else [])
    either = [name for name, field in taken["properties"].items() if "Required unless" in field["description"]]
    assert required or either


@pytest.mark.parametrize("graph", ASKS)
def test_the_older_form_that_servers_hand_out_is_the_same(graph: str) -> None:
    made = built(graph)

    older = TypeAdapter(made.config_schema().model_fields["configurable"].annotation).json_schema()

    assert older == made.get_context_jsonschema()


@pytest.mark.parametrize("graph", ASKS)
def test_a_setting_that_only_another_graph_uses_is_no_error_and_a_name_of_none_is(graph: str) -> None:
    whole = MemoryContext(user="ana", recall_timeout=10).model_dump()
    given = {name: whole[name] for name in sorted({name for other in ASKS for name in used_by(other)})}
    made = built(graph)

    assert made.invoke(ASKS[graph], context=given)
    with pytest.raises(SettingsError, match="There is no setting recall_limits. The nearest is `recall_limit`"):
        made.invoke(ASKS[graph], context={**given, "recall_limits": 3})


def test_every_setting_is_in_one_group_or_a_number_of_a_role() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    numbers = {f"{role}_{cell}" for role in ROLES for cell in CELLS}

    assert len(grouped) == len(set(grouped))
    assert set(grouped) | numbers == set(MemoryContext.model_fields)


def test_pages_belong_to_the_user_who_is_named() -> None:
    build_memorizer().invoke(ASKS["memorizer"], context={"user": "ana"})
    researcher = built("researcher")

    assert researcher.invoke(ASKS["researcher"], context={"user": "ana"})["sources"]
    assert not researcher.invoke(ASKS["researcher"], context={"user": "bob"})["sources"]
    assert not researcher.invoke(ASKS["researcher"])["sources"]


def test_settings_that_say_nothing_of_a_user_are_obeyed_by_the_graphs_of_memories() -> None:
    with pytest.raises(SettingsError, match="not 'local:/elsewhere'"):
        build_remember().invoke({**SAID}, context=MemoryContext(user="ana", embeddings="local:/elsewhere"))
    with pytest.raises(NoUserError):
        built("recall").invoke(SAID, context=Settings(recall_limit=3))
    asked: Any = Runtime(context=Settings(recall_limit=3))
    assert MemoryContext.of(asked).recall_limit == 3


@pytest.mark.parametrize("graph", ASKS)
def test_what_comes_back_has_every_key_that_its_type_promises(graph: str) -> None:
    made = built(graph)

    found = made.invoke(ASKS[graph], context={"user": "ana"})

    assert set(made.get_output_jsonschema()["required"]) <= set(found)
