"""The command `chat`: a conversation with memory, on a terminal or through a pipe."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import uuid4

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.memories import STORE_IS_DOWN, cut_lines, cuts_of, opened
from agentic_memory_bank.cli.work import leave
from agentic_memory_bank.state.errors import InputError, MemoryBankError

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.state.conversations import ConversationOutput

NAME: Final = "chat"
"""The conversation that goes on where none is named."""
DRAIN_SECONDS: Final = 120.0
"""How long leaving waits for what is still to be remembered."""
TICK_SECONDS: Final = 0.2
LISTED: Final = 20
_HELP: Final = (
    "/memories lists what is remembered, /forget WORDS forgets what concerns them, /end ends the conversation, /quit "
    "leaves it open."
)


@dataclass
class _Chat:
    """A conversation, and where it is heard."""

    memories: "Memories"
    user: str
    project: str
    conversation: str
    as_json: bool
    lines: Iterator[str]
    failures: int = 0
    is_unkept: bool = False
    """Whether the store could not keep what was said last."""
    underway: dict[str, str] | None = None
    """What was said and is not answered yet."""
    streamed: list[str] = field(default_factory=list)

    @property
    def whose(self) -> Mapping[str, Any]:
        """On whose behalf it is."""
        return {"user": self.user, "project": self.project}


def chat(
    *,
    user: options.User,
    project: options.Project = "",
    conversation: Annotated[
        str, typer.Option("--conversation", "-c", metavar="ID", help="The conversation that is begun, or goes on.")
    ] = NAME,
    model: options.Model = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Talk, and be remembered: one message a line. Goes on with the conversation of that name where it was left.

    The end of input, or /end, ends the conversation; /quit leaves it open. What was said is kept in any case. /help
    says what else there is.
    """
    with opened(settings, user=user, model=model) as memories:
        _chat(_Chat(memories, user, project, conversation, as_json, _lines()))


def _chat(talked: _Chat) -> None:
    if not talked.as_json and terminal.is_watched():
        typer.echo(_HELP, err=True)
    try:
        is_over = _talk(talked)
        _close(talked, is_over=is_over)
    except KeyboardInterrupt:
        _keep(talked)
        if talked.underway is not None:
            sys.stdout.flush()
            leave()  # whoever is answering may take long, and nobody hears it
        raise typer.Exit(terminal.INTERRUPTED) from None
    if talked.failures or talked.is_unkept:
        raise typer.Exit(terminal.FAILED)


def _lines() -> Iterator[str]:
    """What is said, line by line; a terminal is asked for it."""
    while True:
        if terminal.is_watched():
            typer.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        yield line.strip()


def _talk(talked: _Chat) -> bool:
    """Answer line by line; whether the conversation has ended."""
    for line in talked.lines:
        word, _, rest = line.partition(" ")
        if word in ("/end", "/quit"):
            return word == "/end"
        if line:
            with _errors_said(talked):
                _COMMANDS.get(word, _unknown if word.startswith("/") else _answer)(talked, line, rest.strip())
    return True


@contextmanager
def _errors_said(talked: _Chat) -> Iterator[None]:
    """Say what went wrong with a line, and go on with the next one."""
    try:
        yield
    except MemoryBankError as error:
        talked.failures += 1
        talked.underway = None
        _say(talked, {"error": type(error).__name__, "message": str(error)}, [f"Error: {error}"], err=True)


def _answer(talked: _Chat, line: str, _: str) -> None:
    talked.underway = {"role": "user", "content": line, "id": uuid4().hex}
    talked.streamed.clear()
    heard = None if talked.as_json else _speaker(talked)
    said = [talked.underway]
    talk = partial(talked.memories.talk, said, conversation_id=talked.conversation, heard=heard, **talked.whose)
    output = _awaited(talk)
    talked.underway = None
    text = output["messages"][-1].text
    if talked.streamed:
        typer.echo("")
    _say(talked, _as_data(talked, output, text), [] if talked.streamed else [text])
    _tell_whether_kept(talked, output)


def _tell_whether_kept(talked: _Chat, output: "ConversationOutput") -> None:
    """Say, once, that what was said is not on disk."""
    was_unkept = talked.is_unkept
    talked.is_unkept = any(note.startswith("keep: ") for note in output["remembered"]["degraded"])
    if talked.is_unkept and not was_unkept:
        typer.echo(f"What is said here is not kept so far. {STORE_IS_DOWN}", err=True)


def _awaited(talk: "Callable[[], ConversationOutput]") -> "ConversationOutput":
    """The outcome of work on a thread of its own, so that Ctrl-C need not wait for it."""
    done: Future[ConversationOutput] = Future()

    def work() -> None:
        try:
            done.set_result(talk())
        except BaseException as error:  # whatever it is, it belongs to whoever waits
            done.set_exception(error)

    Thread(target=work, name="memory-bank-chat", daemon=True).start()
    while not wait([done], TICK_SECONDS).done:
        pass
    return done.result()


def _speaker(talked: _Chat) -> Callable[[str], None]:
    def heard(words: str) -> None:
        if words:
            talked.streamed.append(words)
            typer.echo(terminal.shown(words), nl=False)

    return heard


def _as_data(talked: _Chat, output: "ConversationOutput", text: str) -> Mapping[str, Any]:
    told = {name: output[name] for name in ("recalled", "remembered", "usage") if name in output}
    return {"answer": text, "conversation": talked.conversation, **told}


def _memories(talked: _Chat, line: str, rest: str) -> None:
    talked.memories.flush(DRAIN_SECONDS)
    found = talked.memories.list(limit=LISTED, **talked.whose).records
    _say(talked, {"memories": found}, _listed(found) or ["Nothing is remembered."])


def _forget(talked: _Chat, line: str, words: str) -> None:
    """Show what concerns some words, and forget it if the next line says yes."""
    if not words:
        raise InputError("Say what is to be forgotten: /forget WORDS.")
    talked.memories.flush(DRAIN_SECONDS)
    found = talked.memories.preview_delete_about(words, **talked.whose)
    whole = [*found.matched, *found.derived]
    if not found.ids:
        _say(talked, {"would_erase": [], "would_cut": []}, ["Nothing that is remembered concerns that."])
        return
    lines = [*_listed(whole), *(line for one in found.redacted for line in cut_lines(one))]
    _say(talked, {"would_erase": whole, "would_cut": cuts_of(found)}, [*lines, "Erase this for good? yes or no:"])
    is_meant = next(talked.lines, "").casefold() in ("y", "yes", "是", "好")
    gone = talked.memories.delete(found.ids, user=talked.user) if is_meant else []
    _say(talked, {"erased": list(gone)}, [f"Erased: {len(gone)}." if is_meant else "Nothing was erased."])


def _help(talked: _Chat, line: str, rest: str) -> None:
    _say(talked, {"help": _HELP}, [_HELP])


def _unknown(talked: _Chat, line: str, rest: str) -> None:
    raise InputError(f"There is no {line.partition(' ')[0]}. {_HELP}")


_COMMANDS: Final[Mapping[str, Callable[[_Chat, str, str], None]]] = {
    "/memories": _memories,
    "/forget": _forget,
    "/help": _help,
}


def _close(talked: _Chat, *, is_over: bool) -> None:
    """Wait for what is to be remembered; of a conversation that is over, memories are drawn now."""
    talked.memories.flush(DRAIN_SECONDS)
    if is_over:
        with _errors_said(talked):
            talked.memories.remember([], conversation_id=talked.conversation, end=True, **talked.whose)


def _keep(talked: _Chat) -> None:
    """Keep what was said and not answered, and what waits."""
    with suppress(KeyboardInterrupt):
        if talked.underway is not None:
            talked.memories.remember_later([talked.underway], conversation_id=talked.conversation, **talked.whose)
        talked.memories.flush(DRAIN_SECONDS)


def _say(talked: _Chat, told: Mapping[str, Any], lines: Iterable[str], *, err: bool = False) -> None:
    if talked.as_json:
        typer.echo(terminal.to_json(told, None), err=err)
        return
    terminal.print_lines(map(terminal.shown, lines), err=err)
    sys.stdout.flush()


def _listed(records: Iterable[Mapping[str, Any]]) -> list[str]:
    return [f"{record['id']}  {terminal.shortened(record['text'])}" for record in records]
