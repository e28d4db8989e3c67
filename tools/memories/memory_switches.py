"""Keeps whether a user, or a conversation of a user, wants a memory at all: said once, obeyed ever after."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from langgraph.store.base import PutOp

from agentic_memory_bank.state.conversations import MEMORY_MODES, MemoryMode
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.sqlite_store import ROOT

FORM: Final = 1
_EVERYWHERE: Final = "all"


class MemorySwitches:
    """The switches of all users. They outlast what is forgotten: who has switched memory off finds it off.

    Args:
        adapter: The store of their memories.
    """

    def __init__(self, adapter: StoreAdapter) -> None:
        self._adapter = adapter

    def mode(self, user: str, project: str = "", conversation: str | None = None) -> MemoryMode:
        """What holds for a user, or for a conversation: the stricter of what was said for either.

        Args:
            user: Id of the user whose memories are meant.
            project: The conversation's project; an empty text for none.
            conversation: Id of the conversation; None for what holds for the user everywhere.

        Raises:
            NoUserError: No user is named.
            StorageError: The store failed.
        """
        keys = [_EVERYWHERE] if conversation is None else [_EVERYWHERE, _key(project, conversation)]
        return strictest(_read(value) for value in self._adapter.get(_space(user_hash(user)), keys))

    def set(self, user: str, mode: MemoryMode, project: str = "", conversation: str | None = None) -> None:
        """Say what holds from now on. Args and errors as `mode`.

        Raises:
            InputError: There is no such mode.
        """
        if mode not in MEMORY_MODES:
            raise InputError(f"Memory is switched to one of {', '.join(MEMORY_MODES)}, not to {mode!r}.")
        key = _EVERYWHERE if conversation is None else _key(project, conversation)
        value: Any = None if mode == "on" else {"v": FORM, "mode": mode}
        self._adapter.batch([PutOp(_space(user_hash(user)), key, value, index=False)])


def strictest(modes: Iterable[MemoryMode]) -> MemoryMode:
    """The mode that allows least."""
    found: list[MemoryMode] = ["on", *modes]
    return max(found, key=MEMORY_MODES.index)


def _read(value: Any) -> MemoryMode:
    """A mode as it was kept; what somebody else may have written, and cannot be read, is taken for the strictest."""
    if value is None:
        return "on"
    said = value.get("mode")
    known: list[MemoryMode] = [mode for mode in MEMORY_MODES if mode == said]
    return known[0] if known else "off"


def _space(owner: str) -> tuple[str, ...]:
    return (ROOT, owner, "switches")


def _key(project: str, conversation: str) -> str:
    return hashlib.sha256(json.dumps([project, conversation]).encode()).hexdigest()[:40]
