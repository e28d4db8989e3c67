"""Keeps the state of conversations between calls, beside their user's memories: turns seen, and turns that wait.

One item for each conversation. A `BaseStore` has no compare-and-swap: within a process `editing` keeps two calls apart;
of two processes that serve one conversation at the same time, the last to write says where it stands.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast, get_args

from langgraph.store.base import PutOp

from agentic_memory_bank.state.conversations import MEMORY_MODES, MemoryMode, StoredConversation, StoredTurn, Trigger
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.memories.deletion import cut_out, find_words
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.validation import conversation_of, project_of, stamp, user_hash
from agentic_memory_bank.tools.storage.sqlite_store import ROOT
from agentic_memory_bank.tools.text.terms import tokenize

FORM: Final = 1
MARKS: Final = timedelta(days=30)
"""How long it is kept when something was forgotten: longer than any job waits."""

_LOG = logging.getLogger(__name__)
_STATE, _MARK = "c", "gone"
_LOCKS: Final = 64
_SAYING: Final = frozenset(StoredTurn.__annotations__)
_TURNS: Final = ("pending", "recent", "drawn")
_KEPT: Final = ("seen", "count", "at", "expires_at")
"""What stays of a conversation that was forgotten: no word of it, and not its name."""


class ConversationStates:
    """The states of the conversations of all users."""

    def __init__(self, adapter: StoreAdapter, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._adapter = adapter
        self._clock = clock
        self._locks = [threading.RLock() for _ in range(_LOCKS)]

    @contextmanager
    def editing(self, user: str) -> Iterator[None]:
        """Keep other threads from the states of this user: between reading one and writing it nothing comes."""
        with self._locks[int(user_hash(user)[:8], 16) % _LOCKS]:
            yield

    def get(self, user: str, project: str, conversation: str) -> StoredConversation | None:
        """The state of a conversation; None where there is none, or it has expired.

        Raises:
            NoUserError: No user is named.
            StorageError: The store failed.
        """
        return self.get_with_deletion(user, project, conversation)[0]

    def get_with_deletion(self, user: str, project: str, conversation: str) -> tuple[StoredConversation | None, str]:
        """Return what `get` and `deleted_at` return, with one read of the store. Raises as `get`."""
        keys = [_key(project, conversation), _mark(None), _mark(project)]
        value, *marks = self._adapter.get(_space(user_hash(user)), keys)
        forgotten = max((str(mark.get("at", "")) for mark in marks if mark), default="")
        state = None if value is None else _read(value)
        if state is None or state["expires_at"] <= self._now():
            return None, forgotten
        names = new_state(project, conversation)  # those of what was forgotten are empty
        return {**state, "project": names["project"], "conversation": names["conversation"]}, forgotten

    def put(self, user: str, state: StoredConversation) -> None:
        """Store the state of a conversation. Raises as `get`."""
        self._write(user_hash(user), {_key(project_of(state), conversation_of(state)): state})

    def list_all(self, user: str) -> list[StoredConversation]:
        """The states of all conversations of a user, the latest last. Raises as `get`."""
        now = self._now()
        found = (state for state in self._states(user_hash(user)).values() if state["expires_at"] > now)
        return sorted(found, key=lambda state: (state["at"], state["conversation"]))

    def delete(self, user: str, project: str | None = None) -> None:
        """Erase the text of a user's conversations, or those of a project, and mark when; hashes of turns stay.

        So nothing that was said before comes back, not from a job that waited, nor when it is handed over again.

        Args:
            project: An empty text means the memories without a project; None all.

        Raises:
            NoUserError, StorageError: As `get`.
        """
        owner = user_hash(user)
        with self.editing(user):
            values: dict[str, Any] = {_mark(project): {"v": FORM, "at": self._now()}}
            nameless = new_state("", "")
            for key, state in self._states(owner).items():
                if project in (None, project_of(state)):
                    values[key] = {**nameless, **{name: cast(Any, state)[name] for name in _KEPT}}
            self._write(owner, values)

    def deleted_at(self, user: str, project: str) -> str:
        """When all memories of this project were last deleted; empty for never. Raises as `get`."""
        marks = self._adapter.get(_space(user_hash(user)), [_mark(None), _mark(project)])
        return max((str(mark.get("at", "")) for mark in marks if mark), default="")

    def redact_turns(self, user: str, words: Mapping[tuple[str, str], Sequence[str]]) -> None:
        """Remove words from the turns of conversations, and their digests. Raises as `get`.

        Args:
            words: What goes, by conversation and turn; nothing means all of a turn.
        """
        named: dict[str, dict[str, Sequence[str]]] = {}
        for (conversation, turn), some in words.items():
            named.setdefault(json.dumps(conversation), {})[turn] = some
        if not named:
            return
        owner = user_hash(user)
        with self.editing(user):
            states = self._states(owner)
            touched = {key: state for key, state in states.items() if state["conversation"] in named}
            self._write(owner, {key: _without(state, named[state["conversation"]]) for key, state in touched.items()})

    def delete_expired(self, owner: str) -> int:
        """Erase expired conversations and marks, and count the conversations.

        Raises:
            StorageError: The store failed.
        """
        now, old = self._now(), stamp(self._clock() - MARKS)
        values = self._adapter.everything(_space(owner))
        over = [key for key, value in values.items() if _is_over(key, value, now)]
        marks = [key for key, value in values.items() if key.startswith(_MARK) and str(value.get("at", "")) < old]
        self._write(owner, dict.fromkeys([*over, *marks]))
        return len(over)

    def _states(self, owner: str) -> dict[str, StoredConversation]:
        values = self._adapter.everything(_space(owner))
        read = {key: _read(value) for key, value in values.items() if key.startswith(_STATE)}
        return {key: state for key, state in read.items() if state is not None}

    def _write(self, owner: str, values: Mapping[str, Any]) -> None:
        if values:
            self._adapter.batch([PutOp(_space(owner), key, value, index=False) for key, value in values.items()])

    def _now(self) -> str:
        return stamp(self._clock())


def new_state(project: str, conversation: str) -> StoredConversation:
    """A conversation of which nothing was said yet."""
    return {
        "v": FORM,
        "project": json.dumps(project),
        "conversation": json.dumps(conversation),
        "seen": [],
        "pending": [],
        "due": None,
        "raw": [],
        "recent": [],
        "drawn": [],
        "digest": {},
        "count": 0,
        "at": "",
        "expires_at": "",
        "failures": 0,
        "to_forget": [],
    }


def _space(owner: str) -> tuple[str, ...]:
    return (ROOT, owner, "conversations")


def _key(project: str, conversation: str) -> str:
    return _STATE + _digest([project, conversation])


def _mark(project: str | None) -> str:
    return _MARK + ("" if project is None else _digest([project]))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:40]


def _without(state: StoredConversation, words: Mapping[str, Sequence[str]]) -> StoredConversation:
    kept = {name: [left for said in cast(Any, state)[name] if (left := _left(said, words))] for name in _TURNS}
    waiting = {said["id"] for said in kept["pending"]}
    raw = [id for id in state["raw"] if id in waiting]
    return cast(StoredConversation, {**state, **kept, "raw": raw, "digest": {}})


def _left(said: StoredTurn, words: Mapping[str, Sequence[str]]) -> StoredTurn | None:
    """What is left of a turn; None for nothing that says anything."""
    gone = words.get(said["id"])
    if gone is None:
        return said
    text = cut_out(said["text"], find_words(said["text"], gone)) if gone else ""
    return {**said, "text": text} if tokenize(text) else None


def _is_over(key: str, value: Mapping[str, Any], now: str) -> bool:
    if not key.startswith(_STATE):
        return False
    state = _read(value)
    return state is None or state["expires_at"] <= now


# --- reading what somebody else may have written ---------------------------------------------------------------------


def _read(value: Mapping[str, Any]) -> StoredConversation | None:
    """A state as it was kept; None, with a warning, for what is none."""
    if value.get("v") == FORM and all(is_right(value.get(name)) for name, is_right in _FORMS.items()):
        said = {name: one for name, one in value.items() if one is not None}
        return cast(StoredConversation, {**new_state("", ""), **said})
    _LOG.warning("The state of a conversation cannot be read: it counts as new.")
    return None


def _is_name(value: object) -> bool:
    try:
        return isinstance(value, str) and isinstance(json.loads(value), str)
    except ValueError:
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast(list[object], value))


def _are_sayings(value: object) -> bool:
    return isinstance(value, list) and all(_is_saying(one) for one in cast(list[object], value))


def _is_saying(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    said = cast(dict[str, object], value)
    return said.keys() >= _SAYING and all(isinstance(said[name], str) for name in _SAYING) and _is_role(said["role"])


def _is_role(value: object) -> bool:
    return value in ("user", "assistant")


def _is_digest(value: object) -> bool:
    return isinstance(value, dict) and all(_are_texts(one) for one in cast(dict[str, object], value).values())


_FORMS: Final[Mapping[str, Callable[[object], bool]]] = {
    "project": _is_name,
    "conversation": _is_name,
    "seen": _are_texts,
    "pending": _are_sayings,
    "due": lambda value: value is None or value in get_args(Trigger),
    "raw": lambda value: value is None or _are_texts(value),
    "recent": _are_sayings,
    "drawn": _are_sayings,
    "digest": _is_digest,
    "count": _is_number,
    "at": _is_text,
    "expires_at": _is_text,
    "failures": _is_number,
    "to_forget": lambda value: value is None or _are_texts(value),
}

_EVERYWHERE: Final = "all"


class MemorySwitches:
    """The switches of all users. They outlast what is forgotten: who has switched memory off finds it off."""

    def __init__(self, adapter: StoreAdapter) -> None:
        self._adapter = adapter

    def mode(self, user: str, project: str = "", conversation: str | None = None) -> MemoryMode:
        """What holds for a user, or for a conversation: the stricter of what was said for either.

        Args:
            project: The conversation's project; an empty text for none.
            conversation: Id of the conversation; None for what holds for the user everywhere.

        Raises:
            NoUserError: No user is named.
            StorageError: The store failed.
        """
        keys = [_EVERYWHERE] if conversation is None else [_EVERYWHERE, _digest([project, conversation])]
        return strictest(_mode(value) for value in self._adapter.get(_switches(user_hash(user)), keys))

    def set(self, user: str, mode: MemoryMode, project: str = "", conversation: str | None = None) -> None:
        """Set the mode of a user or of one conversation, from now on. Args and errors as `mode`.

        Raises:
            InputError: There is no such mode.
        """
        if mode not in MEMORY_MODES:
            raise InputError(f"Memory is switched to one of {', '.join(MEMORY_MODES)}, not to {mode!r}.")
        key = _EVERYWHERE if conversation is None else _digest([project, conversation])
        value: Any = None if mode == "on" else {"v": FORM, "mode": mode}
        self._adapter.batch([PutOp(_switches(user_hash(user)), key, value, index=False)])


def strictest(modes: Iterable[MemoryMode]) -> MemoryMode:
    """The mode that allows least."""
    found: list[MemoryMode] = ["on", *modes]
    return max(found, key=MEMORY_MODES.index)


def _mode(value: Any) -> MemoryMode:
    """A mode as it was kept; what somebody else may have written, and cannot be read, is taken for the strictest."""
    if value is None:
        return "on"
    said = value.get("mode")
    known: list[MemoryMode] = [mode for mode in MEMORY_MODES if mode == said]
    return known[0] if known else "off"


def _switches(owner: str) -> tuple[str, ...]:
    return (ROOT, owner, "switches")
