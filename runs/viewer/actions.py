"""What the live page may do: each action goes through the public API, and so into the history of what it changes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from agentic_memory_bank.runs.viewer.snapshot import Snapshot
from agentic_memory_bank.runs.viewer.undoing import (
    DoneActions,
    Successors,
    undo_forget,
    undo_supersede,
    undo_switch,
    undo_update,
)
from agentic_memory_bank.state.errors import InputError

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.tools.memories.deletion import DeletionPreview

Given = Mapping[str, Any]
Action = Callable[[Given], Any]


class Looked(Protocol):
    """What a live page shows and does."""

    def snapshot(self) -> Snapshot:
        """Take the snapshot of now."""
        ...

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions by name; each raises an error of the package where it is refused."""
        ...

    @property
    def undoable(self) -> str | None:
        """The name of the last action, where it can be taken back by the action `undo`."""
        ...


class LookedAtUser:
    """The memories of a user: recalled, corrected, pinned, forgotten after a preview, switched off; and all undone.

    Args:
        memories: The memories of all users.
        user: Whose are looked at; no action names another.
        question: A message whose recall is shown.
    """

    def __init__(self, memories: "Memories", user: str, question: str | None = None) -> None:
        self._memories, self._user, self._question = memories, user, question
        self._previewed: list[str] = []
        self._lock = Lock()
        self._done, self._later = DoneActions(), Successors()

    def snapshot(self) -> Snapshot:
        """Take the snapshot of now."""
        from agentic_memory_bank.runs.viewer.users import user_snapshot

        return user_snapshot(self._memories, self._user, self._question)

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions by name."""
        return {
            "recall": self._recall,
            "update": self._update,
            "supersede": self._supersede,
            "pin": self._pin,
            "preview": self._preview,
            "forget": self._forget,
            "switch": self._switch,
            "undo": lambda _: self._done.undo(),
        }

    @property
    def undoable(self) -> str | None:
        """The name of the last action, where it can be taken back."""
        return self._done.last

    def _recall(self, given: Given) -> Any:
        from agentic_memory_bank.runs.viewer.users import shown_recall

        return shown_recall(self._memories, self._user, text(given, "question"))

    def _update(self, given: Given) -> str:
        before = self._memories.get(text(given, "id"), user=self._user)
        after = self._memories.update(before["id"], text(given, "text"), user=self._user)
        if after["version"] != before["version"]:
            self._done.note("update", lambda: undo_update(self._memories, before, after, self._user, self._later))
        return after["id"]

    def _supersede(self, given: Given) -> str:
        before = self._memories.get(text(given, "id"), user=self._user)
        after = self._memories.supersede(before["id"], text(given, "text"), user=self._user)
        if after["id"] != before["id"]:
            self._done.note("supersede", lambda: undo_supersede(self._memories, before, after, self._user, self._later))
        return after["id"]

    def _pin(self, given: Given) -> bool:
        id, wanted = text(given, "id"), flag(given, "pinned")
        if bool(self._memories.get(id, user=self._user)["pinned_at"]) != wanted:
            self._memories.pin(id, user=self._user, pinned=wanted)
            self._done.note(
                "pin" if wanted else "unpin",
                lambda: self._memories.pin(self._later.of(id), user=self._user, pinned=not wanted),
            )
        return wanted

    def _switch(self, given: Given) -> str:
        before = self._memories.mode(user=self._user)
        mode: Any = text(given, "mode")
        if (after := self._memories.switch(mode, user=self._user)) != before:
            self._done.note("switch", lambda: undo_switch(self._memories, before, after, self._user))
        return after

    def _preview(self, given: Given) -> Any:
        """Preview a deletion by what it is about, or of one memory; what is shown is what `forget` deletes."""
        if "about" in given:
            found = self._memories.preview_delete_about(text(given, "about"), user=self._user)
        else:
            found = self._memories.preview_delete([text(given, "id")], user=self._user)
        with self._lock:
            self._previewed = list(found.ids)
        return _previewed(found)

    def _forget(self, given: Given) -> Any:
        """Delete what was previewed last, where the page names just that."""
        with self._lock:
            wanted, self._previewed = self._previewed, []
        if not wanted or given.get("ids") != wanted:
            raise InputError(
                "What is to be forgotten is shown first, and this is not what was shown. Preview it again."
            )
        copy = self._memories.copy_of(wanted, user=self._user)
        gone = self._memories.delete(wanted, user=self._user)
        if gone:
            self._done.note("forget", lambda: undo_forget(self._memories, copy, self._user))
        return list(gone)


class LookedAtBank:
    """A thread: its contradictions may be settled by hand, and what was settled here be taken back.

    Args:
        thread: The thread.
        home: Folder of all runs.
    """

    def __init__(self, thread: str, home: str | Path | None = None) -> None:
        self._thread, self._home = thread, home
        self._done = DoneActions()

    def snapshot(self) -> Snapshot:
        """Take the snapshot of now."""
        from agentic_memory_bank.runs.viewer.banks import bank_snapshot

        return bank_snapshot(self._thread, self._home)

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions by name."""
        return {"settle": self._settle, "undo": lambda _: self._done.undo()}

    @property
    def undoable(self) -> str | None:
        """The name of the last action, where it can be taken back."""
        return self._done.last

    def _settle(self, given: Given) -> str:
        from agentic_memory_bank.runs.settling import settle, unsettle

        position, winner = number(given, "position"), number(given, "winner")
        conflict, why = text(given, "conflict"), text(given, "why")
        settled = settle(self._thread, conflict, position, winner, why=why, home=self._home)
        self._done.note("settle", lambda: unsettle(self._thread, conflict, settled=settled, home=self._home))
        return settled["status"]


class LookedAt:
    """What can only be looked at: a memory of pages, and a research in it.

    Args:
        snapshot: What is shown.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def snapshot(self) -> Snapshot:
        """Give the snapshot that was taken."""
        return self._snapshot

    @property
    def actions(self) -> Mapping[str, Action]:
        """None."""
        return {}

    @property
    def undoable(self) -> str | None:
        """Nothing."""
        return None


def text(given: Given, name: str) -> str:
    """Read a text that a page has sent.

    Raises:
        InputError: It is none.
    """
    if not isinstance(value := given.get(name), str):
        raise InputError(f"{name!r} is a text.")
    return value


def flag(given: Given, name: str) -> bool:
    """Read a yes or no that a page has sent.

    Raises:
        InputError: It is none.
    """
    if not isinstance(value := given.get(name), bool):
        raise InputError(f"{name!r} is true or false.")
    return value


def number(given: Given, name: str) -> int:
    """Read a whole number that a page has sent.

    Raises:
        InputError: It is none.
    """
    if isinstance(value := given.get(name), bool) or not isinstance(value, int):
        raise InputError(f"{name!r} is a whole number.")
    return value


def _previewed(found: "DeletionPreview") -> Any:
    return {
        "ids": list(found.ids),
        "erased": [record["text"] for record in (*found.matched, *found.derived)],
        "changed": [{"goes": cut.removed, "stays": cut.remaining} for cut in found.redacted],
    }
