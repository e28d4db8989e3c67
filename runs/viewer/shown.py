"""`view`: a bank, a user's memories or a memory of pages as something to look at, in a notebook or as a file."""

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_memory_bank.runs.viewer.page import page
from agentic_memory_bank.runs.viewer.snapshot import Snapshot
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.storage.disk import write_whole

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_HEIGHT = 640
"""Height in a notebook, in pixels."""


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """A memory to look at: a notebook shows it, and `save` writes it to a file.

    Attributes:
        snapshot: What is shown, as plain data.
    """

    snapshot: Snapshot

    def __repr__(self) -> str:
        """Name what is shown: a notebook keeps this beside the page."""
        return f"<View of the {self.snapshot['kind']} {self.snapshot['name'][:80]!r}>"

    def html(self) -> str:
        """Write the page as one text: it loads nothing, and nothing of a memory is ever markup."""
        return page(self.snapshot)

    def save(self, file: str | Path) -> Path:
        """Write the page to a file that only its owner may read, and that any browser opens.

        Raises:
            StorageError: It cannot be written.
        """
        place = Path(file)
        write_whole(place, self.html().encode("utf-8", "replace"), place.with_name(f".{place.name}.{os.getpid()}"))
        return place

    def _repr_html_(self) -> str:
        """Show it in a notebook, in a frame that reaches nothing outside."""
        return (
            f'<iframe sandbox="allow-scripts" title="Agentic Memory Bank" width="100%" height="{_HEIGHT}" '
            f'frameborder="0" srcdoc="{html.escape(self.html())}"></iframe>'
        )


def view(
    thread: str | None = None,
    *,
    memory: str | None = None,
    user: str | None = None,
    question: str | None = None,
    home: str | Path | None = None,
    embeddings: "Embeddings | None" = None,
) -> View:
    """Look at a memory: the way from a sentence of an answer to the words it rests on, contradictions, history.

    Args:
        thread: A thread that is kept: its memories, contradictions, answer and run.
        memory: A memory of pages, in place of a thread.
        user: A user, in place of a thread: what is known of them, since when, and what it replaced.
        question: With `memory`, what is to be researched there; with `user`, a message: what it recalls is shown.
        home: Folder of all that is kept. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        embeddings: Any LangChain embeddings. Default: those that the settings name, or else all-MiniLM-L6-v2.

    Raises:
        InputError: Not just one of `thread`, `memory` and `user` is given, or a question with a thread.
        UnknownThreadError, UnknownMemoryError: There is no such thread or memory.
        StorageError: It cannot be read.

    Example:
        >>> run("How wide is the mirror?", documents=["report.txt"], thread="observatory")
        >>> view("observatory").save("observatory.html")
    """
    if sum(name is not None for name in (thread, memory, user)) != 1:
        raise InputError("Name one thing to look at: a thread, memory=... or user=...")
    if thread is not None:
        if question is not None:
            raise InputError("A thread is asked with `run`; view shows what came of it. Leave the question out.")
        from agentic_memory_bank.runs.viewer.banks import bank_snapshot

        return View(bank_snapshot(thread, home))
    if memory is not None:
        return View(_pages(memory, question, home, embeddings))
    return View(_user(str(user), question, home, embeddings))


def _pages(memory: str, question: str | None, home: str | Path | None, embeddings: Any) -> Snapshot:
    from agentic_memory_bank.runs.viewer.pages import pages_snapshot

    if question is None:
        return pages_snapshot(memory, home)
    from agentic_memory_bank.runs.page_runs import PageRunOptions, research

    pages_snapshot(memory, home)  # a memory that is not there is refused before anything is researched
    place = None if home is None else Path(home)
    found = research(question, memory, home=place, given=PageRunOptions(embeddings=embeddings))
    return pages_snapshot(memory, home, found, question)


def _user(user: str, question: str | None, home: str | Path | None, embeddings: Any) -> Snapshot:
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.runs.viewer.users import user_snapshot

    with Memories(home=home, embeddings=embeddings) as memories:
        return user_snapshot(memories, user, question)
