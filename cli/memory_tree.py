"""Puts what a thread remembers into a tree of lines, contradictions side by side, as wide as the terminal."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import typer

from agentic_memory_bank.cli.outcome import how_to_hand_in, place, usage_lines
from agentic_memory_bank.cli.terminal import Lines, counted, heading, on_one_line, shortened, shown
from agentic_memory_bank.state.interaction_tree import MergeStrategy

SUMMARY: Final = 300
"""Characters shown of a summary, and of what a task was about."""
QUOTE: Final = 400
"""Characters shown of each side of a contradiction."""
WIDEST: Final = 140
"""Columns that two sides take at most."""
_PIPED: Final = 110
"""Columns that two sides take where nobody's terminal says how many there are."""
_NARROWEST: Final = 60
_STRATEGIES: Final[Mapping[MergeStrategy, str]] = {
    "same": "they said the same",
    "fuller": "one of them held what the others said",
    "together": "what each added was put together",
    "verdict": "by the verdict on their contradiction",
}
_SIGNS: Final = {"settled": "✓", "success": "✓", "failure": "✗"}


class Branch(NamedTuple):
    """A line of a tree, the lines that go on below it, and the branches under it."""

    title: str
    more: Sequence[str] = ()
    under: Sequence["Branch"] = ()


def memory_tree(found: Mapping[str, Any]) -> Lines:
    """A thread's memory as a tree: goal, tasks, contradictions, memories, attachments; then what it spent."""
    width = _width()
    yield heading(on_one_line(found["thread"]))
    earlier = [
        Branch(f"earlier: {on_one_line(goal['goal'])} ({counted(len(goal['completed']), 'task')})")
        for goal in found["archived"]
    ]
    goal = f"{on_one_line(found['goal']) or 'none yet'} ({found['status']})"
    branches = [Branch(heading("Goal"), [goal], earlier)]
    contradictions = [
        _contradiction(conflict, one, width) for conflict in found["conflicts"] for one in conflict["contradictions"]
    ]
    for title, under in (
        ("Tasks", [*map(_task, found["completed"]), *_current(found["current"])]),
        ("Contradictions", contradictions),
        ("Memories", [_memory(node) for node in found["memories"]]),
        ("Merges", [_merged(event) for event in found["merges"]]),
        ("Attachments", [_attachment(one) for one in found["attachments"]]),
    ):
        if under or title == "Memories":
            branches.append(Branch(f"{heading(title)}  {len(under)}", (), under))
    yield from _drawn(branches, width, "")
    yield from usage_lines(found.get("usage"))
    yield from _waiting_lines(found)


def node_lines(found: Mapping[str, Any]) -> Lines:
    """One memory in words, with all its raw text."""
    memory = _memory(found)
    yield memory.title
    yield from (f"  {line}" for line in memory.more)
    if found["merge"]:
        yield f"  {_merge(found['merge'])}"
    yield f"\n{heading('Summary')}\n{shown(found['summary'])}"
    for piece in found["raw"]:
        yield f"\n{heading(place(piece))}\n{shown(piece['text'])}"


def _width() -> int:
    """The columns of the terminal; 0 where nobody looks at one, so that no line is broken."""
    return max(_NARROWEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 0


def _drawn(branches: Sequence[Branch], width: int, before: str) -> Lines:
    for n, branch in enumerate(branches, 1):
        is_last = n == len(branches)
        below = before + ("   " if is_last else "│  ")
        first, *rest = _wrapped(branch.title, width - len(below) - 3 if width else 0)
        yield f"{before}{'└─' if is_last else '├─'} {first}"
        under = "│  " if branch.under else "   "
        lines = [part for line in branch.more for part in _wrapped(line, width - len(below) - 3 if width else 0)]
        yield from (f"{below}{under}{line}".rstrip() for line in (*rest, *lines))
        yield from _drawn(branch.under, width, below)


def _wrapped(line: str, width: int) -> list[str]:
    """A line in parts of so many columns, Chinese characters counted as the two that they take; 0 breaks nothing."""
    if not width or "\x1b" in line or len(line) * 2 <= width:
        return [line]
    return _columns(line, width)


def _columns(text: str, width: int) -> list[str]:
    from rich.console import Console
    from rich.text import Text

    console = Console(width=width, color_system=None)
    return [part.plain.rstrip() for part in Text(text).wrap(console, width)] or [""]


# --- what hangs on the tree ------------------------------------------------------------------------------------------


def _task(task: Mapping[str, Any]) -> Branch:
    learned = [shortened(task["learned"], SUMMARY)] if task["learned"] else []
    title = f"{_SIGNS.get(task['status'], '~')} {task['kind']}: {shortened(task['description'], SUMMARY)}"
    return Branch(title, learned)


def _current(task: Mapping[str, Any] | None) -> Iterator[Branch]:
    if task:
        yield Branch(f"… {task['kind']}: {shortened(task['description'], SUMMARY)}")


def _contradiction(conflict: Mapping[str, Any], found: Mapping[str, Any], width: int) -> Branch:
    is_decided = found.get("outcome", "inconclusive") != "inconclusive"
    status = "settled" if is_decided else conflict["status"]
    label = typer.style(status, fg="green" if is_decided else "yellow")
    title = f"{label} {found['kind']}: {on_one_line(found['reason'])}"
    holds = found.get("winner") if found.get("outcome") == "holds" else None
    sides = [
        [f"{'✓ ' if n == holds else ''}{on_one_line(claim['value'])} ({claim['node']})", _quoted(claim["quote"])]
        for n, claim in enumerate(found["claims"])
    ]
    said = [on_one_line(text) for text in (found.get("statement"), found.get("explanation")) if text]
    return Branch(title, [*_side_by_side(sides, min(WIDEST, width or _PIPED) - 12), *said])


def _quoted(quote: str) -> str:
    return f"“{shortened(quote, QUOTE)}”"


def _side_by_side(sides: Sequence[Sequence[str]], width: int) -> Lines:
    """Texts in columns of one width, a rule between them."""
    from rich.cells import cell_len

    each = max(20, (width - 3 * (len(sides) - 1)) // max(1, len(sides)))
    columns = [[part for text in side for part in _columns(text, each)] for side in sides]
    for row in range(max(map(len, columns), default=0)):
        cells = [column[row] if row < len(column) else "" for column in columns]
        yield " │ ".join(cell + " " * (each - cell_len(cell)) for cell in cells).rstrip()


def _memory(node: Mapping[str, Any]) -> Branch:
    more = [
        f"{name.ljust(10)}  {on_one_line(', '.join(node[name])) or '-'}"
        for name in ("keywords", "sources", "neighbours")
    ]
    title = f"{typer.style(node['id'], bold=True)}  {shortened(node['context'], SUMMARY)}"
    return Branch(title, [*more, f"{'anchors'.ljust(10)}  {node['anchors']}"])


def _merge(event: Mapping[str, Any]) -> str:
    """From which memories one was made, how, and how near these were to each other."""
    how = [_STRATEGIES[event["merge_strategy"]]] if "merge_strategy" in event else []
    how += [f"confidence {event['confidence']:.2f}"] if "confidence" in event else []
    return ": ".join([f"merged from {', '.join(event['merged'])}", *([", ".join(how)] if how else [])])


def _merged(event: Mapping[str, Any]) -> Branch:
    return Branch(f"{event['node']}  {_merge(event)}", [shortened(event["description"], SUMMARY)])


def _attachment(found: Mapping[str, Any]) -> Branch:
    size = "lost" if found["bytes"] is None else counted(found["bytes"], "byte")
    return Branch(f"{found['id']}  {on_one_line(found['name'])} ({found['kind']}, {size}), of {found['entry']}")


def _waiting_lines(found: Mapping[str, Any]) -> Lines:
    if found["waits_for_executor"]:
        yield f"\nThe run waits for an executor outside: {on_one_line(found['pause']['message'])}"
        yield from how_to_hand_in(found["thread"])
    elif found["pause"]:
        yield f"\nThe run waits. {on_one_line(found['pause']['message'])}"
