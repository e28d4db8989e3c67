"""Keeps what an agent did in each conversation: a summary of every invocation, and the results of its tools whole.

One item for each invocation and each result, so that nothing is lost where two processes serve one conversation: what
is written twice is written once. None of it is searched; a conversation is read in its order.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from langgraph.store.base import GetOp, PutOp, SearchItem, SearchOp

from agentic_memory_bank.state.react_mem import AgentConversation, Invocation, KeptStep
from agentic_memory_bank.state.records import MemorySource
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.validation import conversation_of, project_of, stamp, user_hash
from agentic_memory_bank.tools.storage.sqlite_store import ROOT

FORM: Final = 1
KEPT: Final = 20
"""How many invocations of a conversation are kept as they are; the ones before become a line each."""
LINES: Final = 20
"""How many such lines are kept."""
LINE: Final = 100
"""Characters of such a line."""

_LOG = logging.getLogger(__name__)
_PAGE: Final = 1_000
_INVOCATION: Final = Invocation.__required_keys__


class AgentHistory(NamedTuple):
    """What an agent did in a conversation so far."""

    invocations: list[Invocation]
    """Oldest first."""
    state: AgentConversation | None
    """Its state; None where nothing was done in it."""

    @property
    def earlier(self) -> list[str]:
        """Lines for the invocations before these, oldest first."""
        known = {one["id"] for one in self.invocations}
        return [line for id, line in (self.state or _NONE)["earlier"].items() if id not in known]


_NONE: Final[AgentConversation] = {
    "v": FORM,
    "project": '""',
    "conversation": '""',
    "at": "",
    "ended": "",
    "episode": "",
    "earlier": {},
    "expires_at": "",
}


class AgentConversations:
    """The conversations of all users with agents."""

    def __init__(self, adapter: StoreAdapter, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._adapter = adapter
        self._clock = clock

    def load(self, user: str, project: str, conversation: str) -> AgentHistory:
        """Load the history of a conversation in one read of the store.

        Raises:
            NoUserError: No user is named.
            StorageError: The store failed.
        """
        owner, key = user_hash(user), _key(project, conversation)
        space = _space(owner, "invocations", key)
        ops = [SearchOp(space, limit=_PAGE, refresh_ttl=False), GetOp(_talks(owner), key, refresh_ttl=False)]
        items, talk = cast("tuple[list[SearchItem], Any]", self._adapter.batch(ops))
        known = _talk(talk.value) if talk is not None else None
        if known is None or known["expires_at"] <= self._now():
            return AgentHistory([], None)
        values = (item.value for item in items if item.namespace == space)
        return AgentHistory(sorted(filter(_is_invocation, values), key=lambda i: (i["at"], i["id"])), known)  # pyright: ignore[reportArgumentType]

    def add(
        self,
        user: str,
        project: str,
        conversation: str,
        done: Invocation,
        steps: Sequence[KeptStep],
        days: float,
    ) -> AgentConversation | None:
        """Append an invocation; done twice, it is done once. A conversation that had ended goes on.

        Returns:
            Where the conversation stood before; None where nothing was done in it.

        Args:
            steps: The texts that can be read under their ids.
            days: How long the conversation is kept from now on.

        Raises:
            NoUserError, StorageError: As `load`.
        """
        owner, key = user_hash(user), _key(project, conversation)
        before = self.load(user, project, conversation)
        puts = [PutOp(_space(owner, "steps", key), step["id"], cast(Any, step), index=False) for step in steps]
        puts.append(PutOp(_space(owner, "invocations", key), done["id"], cast(Any, done), index=False))
        over = [one for one in before.invocations if one["id"] != done["id"]][: -KEPT + 1]
        lines = {**(before.state or _NONE)["earlier"], **{one["id"]: _line(one) for one in over}}
        end = stamp(self._clock() + timedelta(days=days))
        talk: AgentConversation = {
            **(before.state or _NONE),
            "project": json.dumps(project),
            "conversation": json.dumps(conversation),
            "at": max(done["at"], (before.state or _NONE)["at"]),
            "ended": "",
            "earlier": dict(list(lines.items())[-LINES:]),
            "expires_at": end,
        }
        puts.append(PutOp(_talks(owner), key, cast(Any, talk), index=False))
        puts += [PutOp(_space(owner, "invocations", key), one["id"], None) for one in over]
        self._adapter.batch(puts)
        return before.state

    def step(self, user: str, project: str, conversation: str, id: str) -> KeptStep | None:
        """A text of this conversation by its id; None where there is none. Raises as `load`."""
        owner, key = user_hash(user), _key(project, conversation)
        found, talk = self._adapter.batch(
            [
                GetOp(_space(owner, "steps", key), id, refresh_ttl=False),
                GetOp(_talks(owner), key, refresh_ttl=False),
            ]
        )
        known = _talk(cast(Any, talk).value) if talk is not None else None
        if found is None or known is None or known["expires_at"] <= self._now():
            return None
        return cast(KeptStep, cast(Any, found).value)

    def list_all(self, user: str) -> list[AgentConversation]:
        """The states of all conversations of a user, the latest last. Raises as `load`."""
        now = self._now()
        found = (_talk(value) for value in self._adapter.everything(_talks(user_hash(user))).values())
        return sorted((t for t in found if t and t["expires_at"] > now), key=lambda t: (t["at"], t["conversation"]))

    def end(self, user: str, project: str, conversation: str, episode: str = "", *, goes_on: bool = False) -> None:
        """Note that a conversation has ended, and which memory was made of it. Raises as `load`."""
        talk = self.load(user, project, conversation).state
        if talk is None:
            return
        at = talk["ended"] if goes_on else talk["ended"] or self._now()
        ended: AgentConversation = {**talk, "ended": at, "episode": episode or talk["episode"]}
        owner = user_hash(user)
        self._adapter.batch([PutOp(_talks(owner), _key(project, conversation), cast(Any, ended), index=False)])

    def delete(self, user: str, project: str | None = None, conversation: str | None = None) -> int:
        """Erase conversations of a user: all, those of a project, or one; how many they were.

        Args:
            project: An empty text means the memories without a project; None all.

        Raises:
            NoUserError, StorageError: As `load`.
        """
        owner = user_hash(user)
        gone = [
            key
            for key, value in self._adapter.everything(_talks(owner)).items()
            if (talk := _talk(value)) is None or _is_meant(talk, project, conversation)
        ]
        for key in gone:
            self._erase(owner, key)
        return len(gone)

    def delete_turns(self, user: str, sources: Sequence[MemorySource]) -> None:
        """Erase the invocations that turns belong to, with all their texts. Raises as `load`."""
        named: dict[str, set[str]] = {}
        for source in sources:
            named.setdefault(source["conversation"], set()).update(source["turns"])
        owner = user_hash(user)
        for key, value in self._adapter.everything(_talks(owner)).items() if named else ():
            talk = _talk(value)
            turns = named.get(conversation_of(talk), set()) if talk else set[str]()
            if talk and turns:
                self._drop(owner, key, turns, talk)

    def delete_expired(self, owner: str) -> int:
        """Erase expired conversations, and count them.

        Raises:
            StorageError: The store failed.
        """
        now, values = self._now(), self._adapter.everything(_talks(owner))
        over = [key for key, value in values.items() if (talk := _talk(value)) is None or talk["expires_at"] <= now]
        for key in over:
            self._erase(owner, key)
        return len(over)

    def _drop(self, owner: str, key: str, turns: set[str], talk: AgentConversation) -> None:
        space = _space(owner, "invocations", key)
        done = [one for one in self._adapter.everything(space).values() if _is_invocation(one)]
        gone = [one["id"] for one in done if turns & set(one["turns"])]
        if not gone:
            return
        steps = self._adapter.everything(_space(owner, "steps", key))
        texts = [id for id, step in steps.items() if step.get("of") in gone]
        ops = [PutOp(_space(owner, "steps", key), id, None) for id in texts]
        ops += [PutOp(space, id, None) for id in gone]
        kept = {id: line for id, line in talk["earlier"].items() if id not in gone}
        ops.append(PutOp(_talks(owner), key, cast(Any, {**talk, "earlier": kept}), index=False))
        self._adapter.batch(ops)

    def _erase(self, owner: str, key: str) -> None:
        """The texts first: what is half erased is not shown any more, and its heading is still there to erase it by."""
        for space in (_space(owner, "steps", key), _space(owner, "invocations", key)):
            ops = [PutOp(space, id, None) for id in self._adapter.everything(space)]
            self._adapter.batch(ops) if ops else None
        self._adapter.batch([PutOp(_talks(owner), key, None)])

    def _now(self) -> str:
        return stamp(self._clock())


def _talks(owner: str) -> tuple[str, ...]:
    return (ROOT, owner, "talks")


def _space(owner: str, kind: str, key: str) -> tuple[str, ...]:
    return (ROOT, owner, kind, key)


def _key(project: str, conversation: str) -> str:
    return hashlib.sha256(json.dumps([project, conversation]).encode()).hexdigest()[:40]


def _line(done: Invocation) -> str:
    return " ".join(done["query"].split())[:LINE]


def _is_meant(talk: AgentConversation, project: str | None, conversation: str | None) -> bool:
    in_project = project is None or project_of(talk) == project
    return in_project and (conversation is None or conversation_of(talk) == conversation)


def _is_invocation(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("v") == FORM and value.keys() >= _INVOCATION


def _talk(value: Any) -> AgentConversation | None:
    """A heading as it was kept; None, with a warning, for what is none."""
    try:
        if value["v"] == FORM and all(isinstance(json.loads(value[name]), str) for name in ("project", "conversation")):
            return cast(AgentConversation, {**_NONE, **value})
    except (KeyError, TypeError, ValueError):
        pass
    _LOG.warning("What is kept of a conversation with an agent cannot be read: it counts as new.")
    return None
