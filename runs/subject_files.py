"""A user's memories as files for an agent that reads and writes files: a subject is a file, a memory is a line.

Nothing but lines is kept: what stands above a list, as a heading or before a colon, begins each of its lines, so that
each can be understood alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentic_memory_bank.engines.extractive.forgetting import plain_wish_in
from agentic_memory_bank.nodes.recall.ranking import is_harmful, jaccard
from agentic_memory_bank.runs.memory_files import OWN, SHOWN, current, file_name, shown
from agentic_memory_bank.state.errors import InputError, InputTooLarge
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.validation import MAX_TEXT
from agentic_memory_bank.tools.text.attribution import USER
from agentic_memory_bank.tools.text.terms import tokenize

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories

ABOUT: Final = "/about/"
"""The folder in which a file is what is remembered about the words of its name."""
MOST_CHANGES: Final = 200
"""Lines that one write may add, or take away."""
ALIKE: Final = 0.2
"""Share of words from which a line of a rewritten file is a revision of one that is gone."""
LONGEST_PATH: Final = 120

_PATH: Final = re.compile(r"\w[\w '.,&+-]*(?:/\w[\w '.,&+-]*)*")
_ROW: Final = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<heading>#{1,6}) |(?P<bullet>[-*+•] |(?=[0-9]{1,3}[.)] )))?(?P<text>[^\n]*)"
)
_WORD: Final = re.compile(r"\w")


class SubjectFile(NamedTuple):
    """What is remembered of one subject, as a file."""

    path: str
    title: str
    lines: Mapping[str, Sequence[Record]]
    """The memories of each line, the oldest first."""

    @property
    def text(self) -> str:
        """The file as it reads."""
        return "\n".join([f"# {self.title}", "", *(f"- {line}" for line in self.lines)]) + "\n"

    @property
    def records(self) -> list[Record]:
        """All memories of the file."""
        return [record for those in self.lines.values() for record in those]


class SubjectFiles:
    """The files of one user's memories in one project.

    Args:
        memories: All memories.
        user: Id of the user.
        project: The project; an empty text for none.
    """

    def __init__(self, memories: "Memories", user: str, project: str = "") -> None:
        self._memories = memories
        self._whose: Any = {"user": user, "project": project}
        self._user = user

    def all(self) -> dict[str, SubjectFile]:
        """All files by their paths; none where memory is switched off. What gives orders is in no file."""
        if self._memories.mode(**self._whose) == "off":
            return {}
        files: dict[str, SubjectFile] = {}
        lines: dict[str, dict[str, list[Record]]] = {}
        for record in current(self._memories, **self._whose):
            if not is_harmful(record["text"]):
                path = path_of(record["subject"])
                there = lines.setdefault(path, {})
                files.setdefault(path, SubjectFile(path, _title(record["subject"]), there))
                there.setdefault(shown(record["text"]), []).append(record)
        return files

    def about(self, words: str) -> str:
        """What is remembered about some words, by meaning, each line with its file."""
        found = [f"- {line} ({path.removeprefix('/')})" for path, _, line in self.found(words, 10)]
        return "\n".join([f"# About {shown(words)}", "", *(found or ["Nothing is remembered about this."])]) + "\n"

    def found(self, query: str, limit: int) -> list[tuple[str, int, str]]:
        """The lines that fit a query by meaning, best first: path, number and text of each."""
        files = self.all()
        hits = self._memories.search(query, types=SHOWN, limit=limit, **self._whose) if files else []
        places = {
            record["id"]: (path, number, line)
            for path, file in files.items()
            for number, (line, records) in enumerate(file.lines.items(), 3)
            for record in records
        }
        return [places[hit.record["id"]] for hit in hits if hit.record["id"] in places]

    def write(self, path: str, content: str, *, may_erase: bool = False) -> None:
        """Make a file read as given: lines that changed are revisions, those that are new are remembered.

        Args:
            path: Path of the file, such as `/trip.md`.
            content: Markdown.
            may_erase: Whether memories are erased whose lines are gone; otherwise that is refused.

        Raises:
            InputError: It is no path of a file, has no lines, says what is not to be kept, or would erase memories.
            InputTooLarge: It changes too many lines, or one is too long.
            StorageError: The store failed.
        """
        subject, wanted = subject_of(path), list(dict.fromkeys(lines_in(content)))
        file = self.all().get(path)
        there = file.lines if file else {}
        if not wanted and not (there and may_erase):
            raise InputError("A file of memories has lines, such as `- The user prefers window seats.`")
        kept = frozenset(wanted)
        gone, new = [line for line in there if line not in kept], [line for line in wanted if line not in there]
        _check(gone, new)
        revised = _paired(gone, new, in_order=may_erase)
        erased = [line for line in gone if line not in revised]
        if erased and not may_erase:
            raise InputError(
                f"This would forget {len(erased)} memories of {path}, such as {erased[0]!r}. Write its lines as well, "
                "or take single lines away by an edit."
            )
        for old, line in revised.items():
            for record in there[old]:
                self._memories.update(record["id"], line, user=self._user)
        changed = frozenset(revised.values())
        for line in new:
            if line not in changed:
                self._memories.store(line, subject=subject, **self._whose)
        self._erase(record for line in erased for record in there[line])

    def erase(self, path: str) -> bool:
        """Erase the memories of a file, with what was drawn from them; whether there was such a file.

        Raises:
            StorageError: The store failed.
        """
        file = self.all().get(path)
        self._erase(iter(file.records if file else ()))
        return file is not None

    def _erase(self, records: Iterator[Record]) -> None:
        if ids := [record["id"] for record in records]:
            self._memories.delete(ids, user=self._user)


def path_of(subject: str | None) -> str:
    """The path of a subject's file: its name, where that can be one."""
    if subject is None or subject == USER:
        return f"/{OWN}.md"
    is_path = len(subject) <= LONGEST_PATH and _PATH.fullmatch(subject) and subject.casefold() != OWN
    return f"/{subject}.md" if is_path and not f"/{subject}".startswith(ABOUT) else f"/{file_name(subject)}"


def subject_of(path: str) -> str | None:
    """The subject of a file.

    Raises:
        InputError: No file can have this path.
    """
    if path == f"/{OWN}.md":
        return None
    subject = path.removeprefix("/").removesuffix(".md")
    if path_of(subject) != path:
        raise InputError(
            f"Memories are not kept in {path!r}. Name a Markdown file after its subject, such as trip.md; what is "
            f"about the user is in {OWN}.md."
        )
    return subject


def lines_in(content: str) -> Iterator[str]:
    """The memories of a text, each with what stands above its list; the title of the text is none."""
    rows = [row for row in map(_row, content.splitlines()) if row is not None]
    if rows and rows[0][0] < 0:
        rows = rows[1:]
    leads: list[tuple[int, str]] = []
    for place, (rank, text) in enumerate(rows):
        while leads and leads[-1][0] >= rank:
            leads.pop()
        is_above = place + 1 < len(rows) and rows[place + 1][0] > rank
        if rank < 0 or (is_above and text.endswith((":", "："))):
            leads.append((rank, text.rstrip(":：")))
        else:
            yield ": ".join([*(lead for _, lead in leads), text])


def _row(line: str) -> tuple[int, str] | None:
    """How deep a line stands, and its words; headings are below 0. None for a line that says nothing."""
    found = _ROW.fullmatch(line.rstrip())
    text = shown(found["text"]) if found else ""
    if found is None or not text or not (found["bullet"] or _WORD.search(text)):
        return None
    if found["heading"]:
        return len(found["heading"]) - 7, text
    return len(found["indent"].expandtabs(4)) + (found["bullet"] is not None), text


def _paired(gone: Sequence[str], new: Sequence[str], *, in_order: bool) -> dict[str, str]:
    """Which new line revises which old one: by the words they share, and where as many are left, by their order."""
    words = {line: frozenset(tokenize(line)) for line in (*gone, *new)}
    scored = [(jaccard(words[old], words[line]), old, line) for old in gone for line in new]
    pairs: dict[str, str] = {}
    taken = set[str]()
    for _, old, line in sorted((one for one in scored if one[0] >= ALIKE), key=lambda one: -one[0]):
        if old not in pairs and line not in taken:
            pairs[old] = line
            taken.add(line)
    left, others = [old for old in gone if old not in pairs], [line for line in new if line not in taken]
    return pairs | dict(zip(left, others, strict=True)) if in_order and len(left) == len(others) else pairs


def _check(gone: Sequence[str], new: Sequence[str]) -> None:
    if max(len(gone), len(new)) > MOST_CHANGES:
        raise InputTooLarge(f"More than {MOST_CHANGES} lines change at once. Memory holds single facts, not documents.")
    for line in new:
        if len(line) > MAX_TEXT:
            raise InputTooLarge(f"A line has more than {MAX_TEXT:,} characters. A memory is one fact; divide it.")
        if is_harmful(line) or plain_wish_in(line):
            raise InputError(f"This is an order and no memory, so nothing was written: {line[:100]!r}.")


def _title(subject: str | None) -> str:
    return "Me" if subject is None or subject == USER else shown(subject)
