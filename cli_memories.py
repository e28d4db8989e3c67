"""The commands over memories across conversations: `remember`, `recall`, `memories`, `memory`, `forget`, `maintain`."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from agentic_memory_bank import cli_view as view
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import TYPES, Record

if TYPE_CHECKING:
    from agentic_memory_bank.runs.deletion_preview import DeletionPreview
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.state.conversations import RecallOutput, RememberOutput
    from agentic_memory_bank.tools.memories.deletion import Redaction

USAGE, NOT_FOUND = 2, 3
"""Exit codes: what would be erased was only shown; no memory fits."""
ALL: Final = 100
"""How many memories are listed at a time."""
_SHOWN: Final = 200
"""Characters shown of a memory in a list."""


def _known_type(given: str | None) -> str | None:
    if given is not None and given not in TYPES:
        raise typer.BadParameter(f"{given!r} is no type of memory. Use one of {', '.join(TYPES)}.")
    return given


def _known_types(given: list[str] | None) -> list[str] | None:
    for one in given or ():
        _known_type(one)
    return given


User = Annotated[
    str,
    typer.Option("--user", "-u", envvar="MEMORY_BANK_USER", help="Whose memories. Default: MEMORY_BANK_USER."),
]
Project = Annotated[str, typer.Option("--project", "-p", help="Which of the user's projects. Default: none.")]
Type = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", callback=_known_type, help=f"One of {', '.join(TYPES)}."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="TYPE", callback=_known_types, help=f"Only {', '.join(TYPES)}. May be given several times."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]


def remember(
    memories: "Memories",
    *,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What the user says.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="A conversation: a JSON list of messages with role and content, or a text. `-` is standard input.",
        ),
    ] = None,
    user: User,
    project: Project = "",
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="ID", help="The conversation that goes on. Default: a new one."),
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="The conversation has ended: draw memories from it now.")] = False,
    type: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="TYPE", callback=_known_type, help="Keep TEXT as it is, as a memory of this type."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Remember what was said, for later conversations; with --type, keep a memory word for word."""
    if text is not None and file is None:
        said = text
    elif file is not None and text is None:
        said = _conversation(file)
    else:
        raise typer.BadParameter("Give either TEXT or --file.")
    if type is not None:
        if not isinstance(said, str):
            raise typer.BadParameter("A conversation has no type. Give a text, or leave --type out.")
        record = memories.store(said, user=user, project=project, type=cast(Any, type))
        _print({"memory": record}, _memory_lines, record, as_json=as_json)
        return
    output = memories.remember(said, user=user, project=project, conversation_id=conversation, end=end)
    _print(output, _remembered, output, as_json=as_json)


def recall(
    memories: "Memories",
    *,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The message that memories are wanted for.")],
    user: User,
    project: Project = "",
    types: Types = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="How many memories at most.")] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=-1, max=1, help="Least cosine; -1 finds whatever is nearest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which memories a message recalls, as a model is shown them."""
    least = "default" if threshold is None else threshold
    output = memories.recall(
        question, user=user, project=project, types=cast(Any, types or None), limit=limit, threshold=least
    )
    _print(output, _recalled, output, as_json=as_json)
    if not output.get("memories"):
        raise typer.Exit(NOT_FOUND)


def memories_(
    memories: "Memories",
    *,
    user: User,
    project: Project = "",
    types: Types = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=ALL, help="How many at most.")] = 20,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Go on behind the list that named it.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Of all projects, and also what is replaced by now.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what is remembered of a user, the newest first."""
    found = memories.list(
        user=user,
        project=None if everything else project,
        types=cast(Any, types or None),
        limit=limit,
        cursor=cursor,
        replaced=everything,
    )
    listing = {"memories": found.records, "cursor": found.cursor}
    _print(listing, _listed, listing, as_json=as_json)


def memory(
    memories: "Memories",
    *,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory; `memories` lists them.")],
    user: User,
    update: Annotated[
        str | None, typer.Option("--update", metavar="TEXT", help="What it says from now on; the old wording is kept.")
    ] = None,
    supersede: Annotated[
        str | None, typer.Option("--supersede", metavar="TEXT", help="The value that has taken its place.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a memory with its sources and its history, or correct it."""
    if update is not None and supersede is not None:
        raise typer.BadParameter("Give either --update or --supersede.")
    if update is not None:
        record = memories.update(id, update, user=user)
    elif supersede is not None:
        record = memories.supersede(id, supersede, user=user)
    else:
        record = memories.get(id, user=user)
    _print({"memory": record}, _memory_lines, record, as_json=as_json)


def forget(
    memories: "Memories",
    *,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of memories.")] = None,
    about: Annotated[
        str | None, typer.Option("--about", metavar="WORDS", help="Forget what concerns this, such as a name.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget everything of the user.")] = False,
    type: Type = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Only of this project. Default: of all.")
    ] = None,
    user: User,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask: for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase memories for good, with their history and all that was drawn from them.

    Shows what it would erase, and asks. Without a terminal and without --yes nothing is erased, and the exit code is 2.
    What --about shows is erased only by somebody who has seen it: by a yes at the terminal, or by the ids it shows.
    """
    if sum((bool(ids), about is not None, everything)) != 1:
        raise typer.BadParameter("Give ids of memories, or --about WORDS, or --all.")
    if type is not None and not everything:
        raise typer.BadParameter("--type goes with --all.")
    doomed = _doomed(memories, user, ids, about, project, type)
    if not doomed.ids and not everything:
        _print(_would_erase(doomed), _doom, doomed, as_json=as_json)
        raise typer.Exit(NOT_FOUND)
    if not yes or about is not None:
        _print(_would_erase(doomed), _doom, doomed, as_json=as_json)
        _ask(about, as_json=as_json)
    if everything:
        gone = memories.delete_all(user=user, project=project, type=cast(Any, type))
    else:
        gone = memories.delete(doomed.ids, user=user)
    _print({"erased": gone}, _erased, gone, as_json=as_json)


def _ask(about: str | None, *, as_json: bool) -> None:
    """Go on only where somebody says yes."""
    if as_json or not is_at_terminal():
        if not as_json:
            how = "--yes to erase it" if about is None else "the ids above, all or some, and --yes to erase them"
            typer.echo(f"Nothing was erased. Give {how}.", err=True)
        raise typer.Exit(USAGE)
    if not typer.confirm("Erase this for good?"):
        typer.echo("Nothing was erased.")
        raise typer.Exit


def _doomed(
    memories: "Memories",
    user: str,
    ids: Sequence[str] | None,
    about: str | None,
    project: str | None,
    type: str | None,
) -> "DeletionPreview":
    """What would be erased."""
    if ids:
        return memories.preview_delete(ids, user=user)
    if about is not None:
        return memories.preview_delete_about(about, user=user, project=project)
    return memories.preview_delete_all(user=user, project=project, type=cast(Any, type))


def _would_erase(doomed: "DeletionPreview") -> Mapping[str, Any]:
    cut = [{"id": one.id, "gone": one.removed, "left": one.remaining} for one in doomed.redacted]
    return {"would_erase": [*doomed.matched, *doomed.derived], "would_cut": cut, "ids": doomed.ids}


def maintain(
    memories: "Memories",
    *,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Make the vectors of another embedding model anew.")
    ] = False,
    consolidate: Annotated[
        bool, typer.Option("--consolidate", help="Also draw together memories that say the same or correct each other.")
    ] = False,
    reflect: Annotated[
        bool, typer.Option("--reflect", help="Also draw insights from what recurs in several memories.")
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Consolidate and reflect for this user alone. Default: for all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Erase what is over, no longer retained, or over the quota, for all users. Call it from cron."""
    done = memories.maintain(reembed=reembed, consolidate=consolidate, reflect=reflect, user=user)
    _print(done, _maintained, done, as_json=as_json)


COMMANDS: Final[Mapping[str, Callable[..., None]]] = {
    "remember": remember,
    "recall": recall,
    "memories": memories_,
    "memory": memory,
    "forget": forget,
    "maintain": maintain,
}
"""By name; each takes the memories of all users first, and its options by name."""


def is_at_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


# --- input -------------------------------------------------------------------------------------------------------


def _conversation(file: Path) -> str | Sequence[Any]:
    """A conversation, or a text, from a file."""
    from agentic_memory_bank.state.errors import InputTooLarge, LoadError
    from agentic_memory_bank.tools.documents.decoding import decode
    from agentic_memory_bank.tools.documents.files import MAX_BYTES

    name = "standard input" if str(file) == "-" else str(file)
    try:
        if name == "standard input":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise LoadError(f"{name} cannot be read ({error.strerror}). Check the path and its rights.") from error
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{name} holds more than {MAX_BYTES:,} bytes. Split it, or give less.")
    text = decode(data, name).strip()
    if not text:
        raise InputError(f"{name} is empty. Give a conversation.")
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            return cast("Sequence[Any]", json.loads(text))
    return text


# --- output ------------------------------------------------------------------------------------------------------


def _print(value: object, lines: Callable[[Any], view.Lines], shown: object, *, as_json: bool) -> None:
    if as_json:
        typer.echo(view.to_json(value))
        return
    for line in lines(shown):
        typer.echo(line)


def _remembered(output: "RememberOutput") -> view.Lines:
    receipt = output["receipt"]
    counts = [f"{len(output.get(name, ()))} {name}" for name in ("stored", "updated", "superseded") if output.get(name)]
    nothing = "memories are drawn from it later" if receipt["outcome"] == "waiting" else "no memory has changed"
    yield f"{receipt['outcome'].capitalize()}: {', '.join(counts) or nothing}."
    for a, b in receipt["contradictions"]:
        yield f"{a} and {b} cannot both be true."
    if receipt["degraded"]:
        yield f"Done without: {view.on_one_line('; '.join(receipt['degraded']))}"


def _recalled(output: "RecallOutput") -> view.Lines:
    receipt = output["receipt"]
    if not output.get("memories"):
        yield f"No memory was recalled ({receipt['outcome']}{': ' if receipt['reason'] else ''}{receipt['reason']})."
    for one in output.get("memories", ()):
        yield f"{one['id']}  {one['type']}  {one['updated_at'][:10]}  {one['cosine']:.2f}"
        yield f"  {view.shortened(one['text'], _SHOWN)}"
    if receipt["degraded"]:
        yield f"Done without: {view.on_one_line('; '.join(receipt['degraded']))}"


def _listed(listing: Mapping[str, Any]) -> view.Lines:
    if not listing["memories"]:
        yield "There are no memories."
    for record in listing["memories"]:
        yield from _brief(record)
    if listing["cursor"]:
        yield f"There are more: --cursor {listing['cursor']!r}"


def _brief(record: Record) -> Iterator[str]:
    project = f"  {view.shortened(record['project'], 40)}" if record["project"] else ""
    replaced = f"  {record['replaced_how']}d by {record['replaced_by']}" if record["replaced_by"] else ""
    yield f"{record['id']}  {record['type']}  {record['updated_at'][:10]}{project}{replaced}"
    yield f"  {view.shortened(record['text'], _SHOWN)}"


def _memory_lines(record: Record) -> view.Lines:
    yield from _brief(record)
    for before in record["history"]:
        yield f"  until then, since {before['at'][:10]}: {view.shortened(before['text'], _SHOWN)}"
    for name in ("replaces", "evidence", "contradicts"):
        if record[name]:
            yield f"  {name}: {', '.join(record[name])}"
    for source in record["sources"]:
        for quote in source["quotes"]:
            yield f"  said in {view.on_one_line(source['conversation'])}: “{view.shortened(quote, _SHOWN)}”"


def _doom(doomed: "DeletionPreview") -> view.Lines:
    whole = len(doomed.matched) + len(doomed.derived)
    if not whole and not doomed.redacted:
        yield "There is no such memory."
    if whole:
        yield f"This would erase {whole} {'memory' if whole == 1 else 'memories'}:"
    for record in doomed.matched:
        yield from _brief(record)
    for record in doomed.derived:
        yield from _brief(record)
        yield "  goes with the others: it was drawn from them, or says the same"
    if doomed.redacted:
        count = len(doomed.redacted)
        yield f"This would take a part out of {count} {'memory' if count == 1 else 'memories'}:"
    for cut in doomed.redacted:
        yield from cut_lines(cut)


def cut_lines(cut: "Redaction") -> view.Lines:
    """What goes of a memory, and what stays."""
    yield f"{cut.id}  {cut.record['type']}  {cut.record['updated_at'][:10]}"
    for words in cut.removed or ["what it quotes"]:
        yield f"  goes:  {view.shortened(words, _SHOWN)}"
    yield f"  stays: {view.shortened(cut.remaining, _SHOWN) if cut.remaining else 'nothing'}"


def _erased(ids: Sequence[str]) -> view.Lines:
    yield f"Erased {len(ids)} {'memory' if len(ids) == 1 else 'memories'}."


def _maintained(done: Mapping[str, int]) -> view.Lines:
    told = [f"{number} {name.replace('_', ' ')}" for name, number in done.items() if number]
    yield f"{', '.join(told)}." if told else "There was nothing to do."
