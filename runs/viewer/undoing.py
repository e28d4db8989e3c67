"""Takes back what was done on a live page, the last of it first, for as long as the page is served."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from agentic_memory_bank.state.errors import InputError, StorageError

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.state.conversations import MemoryMode
    from agentic_memory_bank.state.records import Record
    from agentic_memory_bank.tools.memories.keeping import MemoryCopy

MOST_UNDONE: Final = 50
"""How many of the last actions can be taken back; copies of what they erased are held no longer."""


class _Done(NamedTuple):
    """An action that was done, and what takes it back."""

    what: str
    undo: Callable[[], object]


class DoneActions:
    """What was done on a page while it is served; safe across threads."""

    def __init__(self) -> None:
        self._done: list[_Done] = []
        self._lock = Lock()

    @property
    def last(self) -> str | None:
        """The name of the action that would be taken back; None where there is none."""
        with self._lock:
            return self._done[-1].what if self._done else None

    def note(self, what: str, undo: Callable[[], object]) -> None:
        """Note an action that was done, with what takes it back."""
        with self._lock:
            self._done = [*self._done, _Done(what, undo)][-MOST_UNDONE:]

    def undo(self) -> str:
        """Take the last action back; its name.

        Raises:
            InputError: There is none, or what it changed has been changed since: it is passed over from now on.
            StorageError: The store failed; it can be tried again.
        """
        with self._lock:
            if not self._done:
                raise InputError("Nothing was done on this page that could be taken back.")
            last = self._done.pop()
        try:
            last.undo()
        except StorageError:
            with self._lock:
                self._done.append(last)
            raise
        return last.what


class Successors:
    """Under which id and version a memory is there after an undo gave it its earlier words again."""

    def __init__(self) -> None:
        self._by: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The id or version that stands in for an id or version; itself where none does."""
        while name in self._by:
            name = self._by[name]
        return name

    def note(self, before: "Record", now: "Record") -> None:
        """Note what is there again."""
        for name, is_now in ((before["id"], now["id"]), (before["version"], now["version"])):
            if name != is_now:
                self._by.pop(is_now, None)
                self._by[name] = is_now


def undo_update(memories: "Memories", before: "Record", after: "Record", user: str, later: Successors) -> None:
    """Give a memory its earlier wording again; both wordings stay in its history.

    Raises:
        InputError: It was changed since.
    """
    id = later.of(after["id"])
    if memories.get(id, user=user)["version"] != later.of(after["version"]):
        raise InputError("This memory was changed again since. Correct it by hand.")
    later.note(before, memories.update(id, before["text"], user=user))


def undo_supersede(memories: "Memories", before: "Record", after: "Record", user: str, later: Successors) -> None:
    """Let the earlier value hold again, in place of the one that took its place; all three stay in the history.

    Raises:
        InputError: Another value took its place since.
    """
    id = later.of(after["id"])
    if memories.get(id, user=user)["replaced_by"]:
        raise InputError("Another value has taken its place since. Correct it by hand.")
    if after["created_at"] == memories.get(before["id"], user=user)["replaced_at"]:
        held = memories.supersede(id, before["text"], user=user)
    else:  # the new value was there before: both hold
        held = memories.store(
            before["text"],
            user=user,
            type=before["type"],
            project=before["project"],
            subject=before["subject"],
            attribute=before["attribute"],
        )
    later.note(before, held)


def undo_forget(memories: "Memories", copy: "MemoryCopy", user: str) -> None:
    """Bring back what was forgotten.

    Raises:
        InputError: It was erased once more since.
    """
    if not memories.restore(copy, user=user):
        raise InputError("What was forgotten here was erased elsewhere since, or is there again: nothing was changed.")


def undo_switch(memories: "Memories", before: "MemoryMode", after: "MemoryMode", user: str) -> None:
    """Switch memory back to what it was.

    Raises:
        InputError: It was switched since.
    """
    if memories.mode(user=user) != after:
        raise InputError("Memory was switched elsewhere since. Switch it by hand.")
    memories.switch(before, user=user)
