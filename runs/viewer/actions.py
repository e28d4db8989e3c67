"""What the live page may do: each action goes through the public API, and so into the history of what it changes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from agentic_memory_bank.runs.viewer.snapshot import Snapshot
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


class LookedAtUser:
    """The memories of a user: recalled, corrected, forgotten after a preview, switched off.

    Args:
        memories: The memories of all users.
        user: Whose are looked at; no action names another.
        question: A message whose recall is shown.
    """

    def __init__(self, memories: "Memories", user: str, question: str | None = None) -> None:
        self._memories, self._user, self._question = memories, user, question
        self._previewed: list[str] = []
        self._lock = Lock()

    def snapshot(self) -> Snapshot:
        """Take the snapshot of now."""
        from agentic_memory_bank.runs.viewer.users import user_snapshot

        return user_snapshot(self._memories, self._user, self._question)

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions by name."""
        return {
            "recall": self._recall,
            "update": lambda given: self._memories.update(text(given, "id"), text(given, "text"), user=self._user)[
                "id"
            ],
            "supersede": self._supersede,
            "preview": self._preview,
            "forget": self._forget,
            "switch": lambda given: self._memories.switch(text(given, "mode"), user=self._user),  # pyright: ignore[reportArgumentType] - is checked there
        }

    def _recall(self, given: Given) -> Any:
        from agentic_memory_bank.runs.viewer.users import shown_recall

        return shown_recall(self._memories, self._user, text(given, "question"))

    def _supersede(self, given: Given) -> str:
        return self._memories.supersede(text(given, "id"), text(given, "text"), user=self._user)["id"]

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
        return list(self._memories.delete(wanted, user=self._user))


class LookedAtBank:
    """A thread: its contradictions may be settled by hand.

    Args:
        thread: The thread.
        home: Folder of all runs.
    """

    def __init__(self, thread: str, home: str | Path | None = None) -> None:
        self._thread, self._home = thread, home

    def snapshot(self) -> Snapshot:
        """Take the snapshot of now."""
        from agentic_memory_bank.runs.viewer.banks import bank_snapshot

        return bank_snapshot(self._thread, self._home)

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions by name."""
        return {"settle": self._settle}

    def _settle(self, given: Given) -> str:
        from agentic_memory_bank.runs.settling import settle

        position, winner = number(given, "position"), number(given, "winner")
        why = text(given, "why")
        return settle(self._thread, text(given, "conflict"), position, winner, why=why, home=self._home)["status"]


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


def text(given: Given, name: str) -> str:
    """Read a text that a page has sent.

    Raises:
        InputError: It is none.
    """
    if not isinstance(value := given.get(name), str):
        raise InputError(f"{name!r} is a text.")
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
