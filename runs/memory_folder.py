"""Keeps a user's memories and a folder of Markdown files in step, both ways.

A line that somebody has edited is a revision, one that is new is remembered, one that is gone is asked about before its
memory is forgotten. What was written last is known by hashes, in a file beside the others, so that it can be told who
has changed what. No file is replaced that has changed since it was read: it is read again.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from filelock import FileLock

from agentic_memory_bank.runs import memory_files
from agentic_memory_bank.runs.memory_files import MemoryLine, mark
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.storage.disk import storage_errors, write_whole

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories

TRIES: Final = 20
"""How often a file is read again that somebody changes all the time."""
WAITING: Final = 60.0
"""Seconds to wait for another process that keeps the same folder in step."""
LONGEST_FILE: Final = 4_000_000
"""Bytes of a file that is read."""

_KNOWN: Final = ".memory-bank.json"
_LOCK: Final = ".memory-bank.lock"


class FolderReport(TypedDict):
    """What was done to bring a folder and memories in step, as ids of memories."""

    stored: list[str]
    """From lines that were new."""
    revised: list[str]
    """From lines that were edited."""
    erased: list[str]
    missing: list[Record]
    """Whose lines are gone: they are forgotten, or their lines put back, once somebody says so."""


class MemoryFolder:
    """The folder of one user's memories in one project.

    Args:
        memories: All memories.
        folder: Where the files are; made where it is not there.
    """

    def __init__(self, memories: "Memories", folder: Path, user: str, project: str) -> None:
        self._memories, self._folder = memories, folder
        self._whose: Any = {"user": user, "project": project}
        self._user = user

    def sync(self, erase: Collection[str], restore: Collection[str]) -> FolderReport:
        """Bring both in step.

        Args:
            erase: Ids of missing lines whose memories are to be forgotten.
            restore: Ids of missing lines that are put back.

        Raises:
            InputError: It is no folder, or one of another user or project.
            StorageError: A file, or the store, failed.
        """
        with storage_errors(self._folder):
            if self._folder.exists() and not self._folder.is_dir():
                raise InputError(f"{self._folder} is no folder. Name one, or one that is to be made.")
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder / _LOCK, timeout=WAITING, mode=0o600):
                return self._synced(erase, restore)

    def _synced(self, erase: Collection[str], restore: Collection[str]) -> FolderReport:
        self._recover()
        known = self._known()
        report: FolderReport = {"stored": [], "revised": [], "erased": [], "missing": []}
        self._take_in(known, report)
        there = {line.id for _, lines in self._files() for line in lines}
        current = self._current()
        gone = [id for id in known if id in current and id not in there]
        wanted = [id for id in gone if id in erase]
        report["erased"] = list(self._memories.delete(wanted, user=self._user)) if wanted else []
        asked = [id for id in gone if id not in erase and id not in restore]
        current = self._current()
        report["missing"] = [current[id] for id in asked if id in current]
        self._write_out(known, {id: record for id, record in current.items() if id not in asked})
        return report

    # --- from the files --------------------------------------------------------------------------------------------

    def _take_in(self, known: dict[str, str], report: FolderReport) -> None:
        """Keep what somebody has written: it is in the store before any file is touched."""
        current = self._current()
        for path, lines in self._files():
            subject = memory_files.subject_in(path.name, _text(path))
            fresh: list[tuple[str, str]] = []
            for line in lines:
                is_edited = bool(line.id) and mark(line.text) != known.get(line.id)
                if line.id in current and is_edited:
                    self._revise(current[line.id], line, report)
                    known[line.id] = mark(line.text)
                elif not line.id:
                    fresh.append((line.text, self._store(line.text, subject, report)))
                elif is_edited and self._is_rewritten(line):
                    self._store(line.text, subject, report)
            if self._name(path, fresh, subject, report):
                known.update((id, mark(text)) for text, id in fresh)

    def _revise(self, record: Record, line: MemoryLine, report: FolderReport) -> None:
        if memory_files.shown(record["text"]) == line.text:
            return  # both sides say so
        self._memories.update(record["id"], line.text, user=self._user)
        report["revised"].append(record["id"])

    def _is_rewritten(self, line: MemoryLine) -> bool:
        """Whether a memory that is no longer current was edited: the words are somebody's, and are kept as new ones."""
        try:
            record = self._memories.get(line.id, user=self._user)
        except UnknownMemoryError:
            return True
        return memory_files.shown(record["text"]) != line.text

    def _store(self, text: str, subject: str | None, report: FolderReport) -> str:
        about: Any = {} if subject is None else {"subject": subject}
        id = self._memories.store(text, **self._whose, **about)["id"]
        report["stored"].append(id)
        return id

    def _name(self, path: Path, fresh: list[tuple[str, str]], subject: str | None, report: FolderReport) -> bool:
        """Write the ids of new memories behind their lines, wherever these stand by now; whether that was done.

        Lines that came meanwhile are stored first: whoever reads just while a file is replaced may find none, and put
        one in its place that lacks them.
        """
        for _ in range(TRIES if fresh else 0):
            before, named = _text(path), {text for text, _ in fresh}
            later = [one.text for one in memory_files.parsed(before) if not one.id and one.text not in named]
            fresh += [(text, self._store(text, subject, report)) for text in later]
            if self._replace(path, before, memory_files.named(before, fresh)):
                return True
        return False

    # --- to the files ----------------------------------------------------------------------------------------------

    def _write_out(self, known: dict[str, str], current: Mapping[str, Record]) -> None:
        """Write what has changed in the store; lines that came meanwhile wait for the next time."""
        for _ in range(TRIES):
            files = list(self._files())
            placed = {line.id for _, lines in files for line in lines}
            lacking: dict[str, list[Record]] = {}
            for record in current.values():
                if record["id"] not in placed:
                    lacking.setdefault(memory_files.file_name(record["subject"]), []).append(record)
            paths = dict.fromkeys([path for path, _ in files] + [self._folder / name for name in sorted(lacking)])
            if all([self._update(path, known, current, lacking.get(path.name, [])) for path in paths]):
                break
        placed = {line.id for _, lines in self._files() for line in lines}
        known.update((id, mark(record["text"])) for id, record in current.items() if id in placed)
        kept = {id: value for id, value in known.items() if id in current or self._is_there(id)}
        self._note(kept)

    def _update(
        self, path: Path, known: Mapping[str, str], current: Mapping[str, Record], more: Sequence[Record]
    ) -> bool:
        before = _text(path)
        lines = memory_files.parsed(before)
        if any(line.id in known and line.id in current and mark(line.text) != known[line.id] for line in lines):
            return True  # edited since it was taken in: the next time sees to it
        if not all(line.id for line in lines):
            return True  # so with new lines: what is stored nowhere else is never moved aside
        subject = more[0]["subject"] if more else None
        after = memory_files.updated(before, subject, current, more)
        return after == before or self._replace(path, before, after)

    def _replace(self, path: Path, before: str, after: str) -> bool:
        """Put a file in the place of what was read; whether that was still there.

        The file is moved aside, looked at, and the new one linked to its name, which fails where somebody has written
        another one since.
        """
        part, aside = path.with_name(f".{path.name}.part"), path.with_name(f".{path.name}.aside")
        write_whole(part, after.encode("utf-8", "surrogatepass"), path.with_name(f".{path.name}.new"))
        is_done = False
        try:
            with suppress(FileNotFoundError):
                path.rename(aside)
            is_same = _text(aside) == before
            with suppress(FileNotFoundError, FileExistsError):
                os.link(part if is_same else aside, path)
                is_done = is_same
        finally:
            part.unlink(missing_ok=True)
            self._put_away(path, aside, is_copied=is_done)
        return is_done

    def _recover(self) -> None:
        """Put back what a killed process had moved aside."""
        for aside in sorted(self._folder.glob(".*.md.aside")):
            path = aside.with_name(aside.name[1:].removesuffix(".aside"))
            with suppress(FileExistsError):
                os.link(aside, path)
            self._put_away(path, aside, is_copied=False)

    def _put_away(self, path: Path, aside: Path, *, is_copied: bool) -> None:
        """Erase what was moved aside, unless it says what stands nowhere else: then it is a file of its own."""
        text = _text(aside)
        if text and not is_copied and text != _text(path):
            aside.rename(path.with_name(f"{path.stem}-{mark(text)}.md"))
        aside.unlink(missing_ok=True)

    # --- what is there ---------------------------------------------------------------------------------------------

    def _files(self) -> Iterator[tuple[Path, list[MemoryLine]]]:
        for path in sorted(self._folder.glob("*.md")):
            if path.is_file() and not path.name.startswith("."):
                yield path, memory_files.parsed(_text(path))

    def _current(self) -> dict[str, Record]:
        """The memories that have lines, the oldest first."""
        return {record["id"]: record for record in memory_files.current(self._memories, **self._whose)}

    def _is_there(self, id: str) -> bool:
        try:
            return self._memories.get(id, user=self._user)["replaced_by"] is None
        except UnknownMemoryError:
            return False

    def _known(self) -> dict[str, str]:
        """What was written last, by the ids of memories: hashes of lines.

        Raises:
            InputError: The folder is of another user or project.
        """
        try:
            given: Any = json.loads((self._folder / _KNOWN).read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        if not isinstance(given, dict) or given.get("of") != self._of():
            raise InputError(f"{self._folder} holds the memories of another user or project. Name another folder.")
        return cast("dict[str, str]", given.get("lines", {}))

    def _note(self, known: Mapping[str, str]) -> None:
        place = self._folder / _KNOWN
        content = json.dumps({"of": self._of(), "lines": known}, indent=0, sort_keys=True)
        write_whole(place, content.encode(), place.with_name(f"{_KNOWN}.part"))

    def _of(self) -> str:
        return mark(json.dumps([self._user, self._whose["project"]]))


def _text(path: Path) -> str:
    """A file as it reads; empty where there is none.

    Raises:
        InputError: It is too long.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_FILE + 1)
    except FileNotFoundError:
        return ""
    if len(data) > LONGEST_FILE:
        raise InputError(f"{path} has more than {LONGEST_FILE:,} bytes. Divide it.")
    return data.decode("utf-8-sig", "replace")
