"""A memory bank whose saved state is edited by hand, as in Studio: whole layers, edits of them, another question."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import START
from langgraph.types import Overwrite, StateSnapshot, StateUpdate
from pydantic import ConfigDict, TypeAdapter, ValidationError

from agentic_memory_bank.graph.chainable import ChainableGraph
from agentic_memory_bank.state import interaction_tree
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.insight_doc import InsightDoc, InsightEdit
from agentic_memory_bank.state.interaction_tree import InteractionTree, TreeEdit
from agentic_memory_bank.state.memory_bank import MemoryBankFields, MemoryBankInput
from agentic_memory_bank.state.query_graph import GraphEdit, MemoryNode, QueryGraph, apply_graph_edits
from agentic_memory_bank.tools.text.cleaning import checked_text

_WHOLE: Final = "__overwrite__"
"""How LangGraph writes a value past the reducer of its channel, in a form that survives JSON."""
_LAYERS: Final[Mapping[str, tuple[Any, Any]]] = {
    "insight_doc": (InsightDoc, InsightEdit),
    "query_graph": (QueryGraph, GraphEdit),
    "interaction_tree": (InteractionTree, TreeEdit),
}
"""Each layer: its form, and that of an edit."""
_NEEDS: Final[Mapping[str, frozenset[str]]] = {
    **{"open": frozenset(("id", "goal")), "plan": frozenset(("task",))},
    **{"finish": frozenset(("id", "status", "learned")), "supersede": frozenset(("ids",))},
    **{"put": frozenset(("node",)), "relate": frozenset(("pairs",)), "unrelate": frozenset(("pairs",))},
    **{"embed": frozenset(("keys",)), "revise": frozenset(("id", "context", "keywords", "at"))},
    **{"merge": frozenset(("ids", "node")), "forget": frozenset(("ids",)), "conflict": frozenset(("conflict",))},
    **{"settle": frozenset(("conflict",)), "judge": frozenset(("judged",))},
    **{"append": frozenset(("entry",)), "merged": frozenset(("event",))},
}
"""What an edit has to name, by its operation."""
_ASKED: Final = frozenset(get_type_hints(MemoryBankInput))

Read = Callable[[], tuple[StateSnapshot, CheckpointTuple | None]]
"""Reads the state that is edited."""


class EditableGraph(ChainableGraph[Any, Any, Any, Any]):
    """A memory bank that understands what people write into its state, and refuses the rest in words.

    A layer is written as a whole, as it is read, or as a list of edits. Another question, also one that is written as
    the goal of the Insight Doc, is asked, over the documents that were still waiting there.
    """

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Edit the state.

        Raises:
            InputError: It cannot be edited so. Nothing was written.
        """

        def read() -> tuple[StateSnapshot, CheckpointTuple | None]:
            saver = self.checkpointer
            saved = saver.get_tuple(config) if saver and not isinstance(saver, bool) else None
            return self._whole().get_state(config), saved

        return super().bulk_update_state(config, [[_edited(update, read) for update in step] for step in supersteps])

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state.

        Raises:
            InputError: It cannot be edited so. Nothing was written.
        """
        saver = self.checkpointer
        saved = await saver.aget_tuple(config) if saver and not isinstance(saver, bool) else None
        found = await self._whole().aget_state(config)
        edited = [[_edited(update, lambda: (found, saved)) for update in step] for step in supersteps]
        return await super().abulk_update_state(config, edited)

    def _whole(self) -> "EditableGraph":
        """The same graph, with the layers that a brief one does not show: they are what is edited."""
        return self.copy({"stream_channels": None})


def _edited(update: StateUpdate, read: Read) -> StateUpdate:
    """An update in the form in which the channels take it."""
    if not isinstance(update.values, Mapping):
        return update
    given = cast("Mapping[str, Any]", update.values)
    if "entries" in given or "memories" in given:
        raise InputError(
            "'entries' shows what interaction_tree holds, and 'memories' shows what query_graph holds. Write those."
        )
    if unknown := [name for name in given if name not in (*_ASKED, *_LAYERS, *_fields())]:
        known = ", ".join((*_LAYERS, *sorted(_fields()), *sorted(_ASKED)))
        raise InputError(f"The state has no {', '.join(map(repr, unknown))}. It has {known}.")
    values = {name: value for name, value in given.items() if value is not None}
    written = {name: _written(name, value, read) for name, value in values.items() if name not in _ASKED}
    asked = {name: value for name, value in values.items() if name in _ASKED}
    doc = written.get("insight_doc")
    if isinstance(doc, Mapping) and "question" in doc:
        asked["question"] = written.pop("insight_doc")["question"]
    if not asked:
        return update._replace(values={**given, **written})
    known = read()[0].values
    if changed := [name for name in written if values[name] != known.get(name)]:
        raise InputError(f"Another question is asked by itself: write {', '.join(changed)} in an update before it.")
    return StateUpdate(_asked(asked, read), START)


def _written(name: str, value: Any, read: Read) -> Any:
    """A value as its channel takes it."""
    if name not in _LAYERS:
        _check(_fields()[name], value, name)
        return value
    if isinstance(value, Overwrite):  # code that knows what it does, such as an import
        return value
    whole, edit = _LAYERS[name]
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        given = given[_WHOLE] if set(given) == {_WHOLE} else given
        _check(whole, given, name)
        return _replaced(name, given, read()[0].values.get(name, {}))
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise InputError(f"'{name}' is written as a whole, as it is read, or as a list of edits.")
    edits = cast("Sequence[Any]", value)
    for one in edits:
        _check(edit, one, f"{name}: an edit")
        if missing := _NEEDS[one["op"]].difference(one):
            raise InputError(f"{name}: an edit '{one['op']}' needs {', '.join(sorted(missing))}.")
    if name == "query_graph":
        _check_names(edits, read()[0].values.get(name, {}))
    return value


def _check_names(edits: Sequence[GraphEdit], known: QueryGraph) -> None:
    """Check that each edit names what is there once those before it are made: folding leaves out what it cannot apply.

    Raises:
        InputError: One names what is not there, or does nothing.
    """
    for edit in edits:
        nodes, conflicts = known.get("nodes", {}), known.get("conflicts", {})
        op, ids = edit["op"], _named(edit)
        if gone := [id for id in dict.fromkeys(ids) if id not in nodes]:
            raise InputError(f"query_graph: an edit '{op}' names {', '.join(map(repr, gone))}, which is no memory.")
        if any(len(set(pair)) != 2 or len(pair) != 2 for pair in edit.get("pairs", [])):
            raise InputError(f"query_graph: an edit '{op}' needs pairs of two memories each.")
        if op == "merge" and len(set(ids)) < 2:
            raise InputError("query_graph: an edit 'merge' needs two memories or more. Change a single one by 'put'.")
        if op == "merge" and edit.get("node", {}).get("id") in set(nodes) - set(ids):
            raise InputError("query_graph: an edit 'merge' makes a memory with the id of another. Give it its own.")
        is_known = edit.get("conflict", {}).get("id") in conflicts
        if (op == "settle" and not is_known) or (op == "conflict" and is_known):
            state = "not there" if op == "settle" else "there already"
            raise InputError(f"query_graph: an edit '{op}' names a conflict that is {state}.")
        known = apply_graph_edits(known, [[edit]])


def _named(edit: GraphEdit) -> list[str]:
    """The memories that an edit takes for known."""
    claims = [claim for found in edit.get("conflict", {}).get("contradictions", []) for claim in found["claims"]]
    opened = [*edit.get("conflict", {}).get("nodes", []), *(claim["node"] for claim in claims)]
    return [
        *edit.get("ids", []),
        *(id for pair in edit.get("pairs", []) for id in pair),
        *edit.get("keys", {}),
        *([edit["id"]] if "id" in edit else []),
        *(opened if edit["op"] == "conflict" else []),
    ]


def _replaced(name: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """What puts a whole layer in the place of what is known."""
    if name == "insight_doc":
        return _doc(given, known)
    if name == "interaction_tree":
        return _tree_edits(given, known)
    return {_WHOLE: _graph(given, known)}


def _doc(given: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """The Insight Doc; with another goal, a question."""
    if not known or given.get("goal") == known.get("goal"):
        return {_WHOLE: dict(given)}
    if {**given, "goal": known.get("goal")} == dict(known):
        return {"question": given.get("goal")}
    raise InputError("Another goal is another question: write it as `question`, by itself.")


def _graph(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The Query Graph, if its parts name each other rightly; a memory in other words has its vector made anew."""
    nodes, before = cast("dict[str, Any]", given.get("nodes", {})), known.get("nodes", {})
    related = {**{node_id: [] for node_id in nodes}, **given.get("related", {})}
    for node_id, node in nodes.items():
        if node["id"] != node_id:
            raise InputError(f"query_graph: the memory under '{node_id}' has the id '{node['id']}'.")
    for node_id, others in related.items():
        for other in (node_id, *others):
            if other not in nodes:
                raise InputError(f"query_graph: `related` names '{other}', which is no memory. Take it out there, too.")
            if node_id != other and node_id not in related.get(other, []):
                raise InputError(f"query_graph: '{other}' is related to '{node_id}', and not the other way round.")
    for conflict in given.get("conflicts", {}).values():
        if conflict["status"] != "settled" and (gone := [n for n in conflict["nodes"] if n not in nodes]):
            raise InputError(
                f"query_graph: the conflict '{conflict['id']}' names {', '.join(gone)}, which is no memory."
            )
    kept = {
        node_id: {**node, "embedding": None}
        if node_id in before and _embedded(node) != _embedded(before[node_id])
        else node
        for node_id, node in nodes.items()
    }
    return {"conflicts": {}, "judged": {}, **given, "nodes": kept, "related": related}


def _embedded(node: MemoryNode) -> tuple[object, ...]:
    """What the vector of a memory is made of."""
    return node["anchors"], node["summary"], node["context"], node["keywords"]


def _tree_edits(given: Mapping[str, Any], known: Mapping[str, Any]) -> list[TreeEdit]:
    """Entries may be added and forgotten; what stays is as it was."""
    entries, before = given.get("entries", {}), known.get("entries", {})
    merges, events = given.get("merges", []), known.get("merges", [])
    if changed := [id for id, entry in entries.items() if entry != before.get(id, entry) or entry["id"] != id]:
        raise InputError(
            f"interaction_tree: raw text is never rewritten, and {', '.join(changed)} would be. Take it out, and hand "
            "the text over anew as one of the `documents` of a question."
        )
    if merges[: len(events)] != events:
        raise InputError("interaction_tree: what was merged stays on record. Leave `merges` as they are.")
    return [
        interaction_tree.forget_entries([id for id in before if id not in entries]),
        *(interaction_tree.append(entry) for id, entry in entries.items() if id not in before),
        *(interaction_tree.merged(event) for event in merges[len(events) :]),
    ]


def _asked(given: Mapping[str, Any], read: Read) -> dict[str, Any]:
    """A question as the first stage takes it: with what was handed over at this point and is not taken in yet."""
    if "question" in given:
        checked_text(given["question"], "question")
    found, saved = read()
    pending = (saved.checkpoint["channel_values"].get(START) if saved else None) or found.values
    waiting = {name: value for name in _ASKED if (value := pending.get(name))} if _is_waiting(found) else {}
    if "question" in given or "messages" in given:
        waiting = {name: value for name, value in waiting.items() if name not in ("question", "messages")}
    return {**waiting, **given}


def _is_waiting(found: StateSnapshot) -> bool:
    return found.next == (START,) or bool(_ASKED.intersection(found.values) & {"question", "messages"})


@cache
def _fields() -> dict[str, Any]:
    """What is written as it stands, beside the layers."""
    return get_type_hints(MemoryBankFields)


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    """What checks a form, unknown names included; in a list, since a form by itself takes no such setting."""
    return TypeAdapter(cast("Any", list)[form], config=ConfigDict(extra="forbid", strict=True))


def _check(form: Any, value: Any, what: str) -> None:
    """Check that a value has its form.

    Raises:
        InputError: It has not.
    """
    try:
        _adapter(form).validate_python([value])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"][1:]))
        at = f" at {where}" if where else ""
        raise InputError(f"{what} cannot be written{at}: {first['msg']}.") from error
