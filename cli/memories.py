"""The commands over memories across conversations: `remember`, `recall`, `memory`, `forget`, `switch` and so on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.progress import loading_shown
from agentic_memory_bank.state.records import Record

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.state.conversations import RecallOutput, RememberOutput
    from agentic_memory_bank.tools.memories.deletion import DeletionPreview, Redaction

MOST_LISTED: Final = 100
"""How many memories are listed at a time."""
STORE_IS_DOWN: Final = "The store of memories cannot be used: `memory-bank memories` says why."
_NOT_RECALLED: Final = {
    "used": "there is none left to show",
    "missing": "none fits the message",
    "ignored": "the message asks for none",
    "disabled": "memory is off",
}
"""Why a message recalls nothing, by the outcome of its receipt."""


@contextmanager
def opened(assignments: Iterable[str] | None, *, user: str | None, model: str | None = None) -> "Iterator[Memories]":
    """The memories of all users, once everything that can be refused without them was checked."""
    from agentic_memory_bank.tools.memories.validation import user_hash

    if user is not None:
        user_hash(user)
    settings = options.settings_from(assignments, model)
    from agentic_memory_bank.runs.memories import Memories  # it takes a second to load: after what may be refused

    with loading_shown(), Memories(settings=settings, **options.parts_of_memories(settings)) as memories:
        yield memories


def remember(
    *,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What the user says.")] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="A conversation: a JSON list of messages with role and content, or a text. `-` is standard input.",
        ),
    ] = None,
    user: options.User,
    project: options.Project = "",
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="ID", help="The conversation that goes on. Default: a new one."),
    ] = None,
    end: Annotated[
        bool, typer.Option("--end", help="The conversation has ended: extract memories from it now.")
    ] = False,
    type: options.Type = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Remember what was said, for later conversations; with --type, keep a memory of that type word for word."""
    if (text is None) == (file is None):
        raise typer.BadParameter("Give either TEXT or --file.")
    said: Any = text if file is None else options.text_or_json(file, "[", "Give a conversation.")
    if type is not None and not isinstance(said, str):
        raise typer.BadParameter("A conversation has no type. Give a text, or leave --type out.")
    with opened(settings, user=user) as memories:
        if type is not None:
            record = memories.store(said, user=user, project=project, type=cast(Any, type))
            terminal.print_found({"memory": record}, _memory_lines(record), as_json=as_json)
            return
        output = memories.remember(said, user=user, project=project, conversation_id=conversation, end=end)
    terminal.print_found(output, _remembered(output), as_json=as_json)
    if _is_store_down(output):
        raise typer.Exit(terminal.FAILED)


def recall(
    *,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The message that memories are wanted for.")],
    user: options.User,
    project: options.Project = "",
    types: options.Types = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="How many memories at most.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", min=-1, max=1, help="The least cosine similarity; -1 finds whatever is nearest."),
    ] = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Show which memories a message recalls, as a model is shown them."""
    least = "default" if threshold is None else threshold
    with opened(settings, user=user) as memories:
        output = memories.recall(
            question, user=user, project=project, types=cast(Any, types or None), limit=limit, threshold=least
        )
    terminal.print_found(output, _recalled(output), as_json=as_json)
    if not output.get("memories"):
        is_down = output["receipt"]["outcome"] == "unavailable"
        raise typer.Exit(terminal.FAILED if is_down else terminal.NOT_FOUND)


def memories(
    *,
    user: options.User,
    project: options.Project = "",
    types: options.Types = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_LISTED, help="How many memories at most.")] = 20,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Go on behind the list that named it.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Of all projects, and also what has been superseded.")
    ] = False,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """List what is remembered of a user, the newest first."""
    with opened(settings, user=user) as kept:
        found = kept.list(
            user=user,
            project=None if everything else project,
            types=cast(Any, types or None),
            limit=limit,
            cursor=cursor,
            replaced=everything,
        )
    listing = {"memories": found.records, "cursor": found.cursor}
    terminal.print_found(listing, _listed(listing), as_json=as_json)


def memory(
    *,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory; `memories` lists them.")],
    user: options.User,
    update: Annotated[
        str | None, typer.Option("--update", metavar="TEXT", help="What it says from now on; the old wording is kept.")
    ] = None,
    supersede: Annotated[
        str | None, typer.Option("--supersede", metavar="TEXT", help="The value that has taken its place.")
    ] = None,
    pinned: Annotated[
        bool | None, typer.Option("--pin/--unpin", help="Maintenance leaves what is pinned alone, whatever its age.")
    ] = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Show a memory with its sources and its history, correct it, or pin it."""
    if sum(change is not None for change in (update, supersede, pinned)) > 1:
        raise typer.BadParameter("Give one of --update, --supersede and --pin.")
    with opened(settings, user=user) as memories:
        if update is not None:
            record = memories.update(id, update, user=user)
        elif supersede is not None:
            record = memories.supersede(id, supersede, user=user)
        elif pinned is not None:
            record = memories.pin(id, user=user, pinned=pinned)
        else:
            record = memories.get(id, user=user)
    terminal.print_found({"memory": record}, _memory_lines(record), as_json=as_json)


def forget(
    *,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of memories.")] = None,
    about: Annotated[
        str | None, typer.Option("--about", metavar="WORDS", help="Forget what concerns this, such as a name.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget everything of the user.")] = False,
    type: options.Type = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Only of this project. Default: of all.")
    ] = None,
    user: options.User,
    yes: options.Yes = False,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Erase memories for good, with their history and all that was derived from them.

    Shows what it would erase, and asks. Without a terminal and without --yes nothing is erased, and the exit code is 2.
    What --about shows is erased only by somebody who has seen it: by a yes at the terminal, or by the ids it shows.
    """
    if sum((bool(ids), about is not None, everything)) != 1:
        raise typer.BadParameter("Give ids of memories, or --about WORDS, or --all.")
    if type is not None and not everything:
        raise typer.BadParameter("--type goes with --all.")
    with opened(settings, user=user) as memories:
        preview = _preview(memories, user, ids, about, project, type)
        is_empty = not preview.ids and not everything
        if is_empty or not yes or about is not None:
            terminal.print_found(_as_data(preview), _preview_lines(preview), as_json=as_json)
        if is_empty:
            raise typer.Exit(terminal.NOT_FOUND)
        if not yes or about is not None:
            how = "--yes to erase it" if about is None else "the ids above, all or some, and --yes to erase them"
            terminal.confirm_erasing("Erase this for good?", otherwise=how, as_json=as_json)
        if everything:
            gone = memories.delete_all(user=user, project=project, type=cast(Any, type))
        else:
            gone = memories.delete(preview.ids, user=user)
    terminal.print_found({"erased": gone}, [f"Erased {terminal.memories_counted(len(gone))}."], as_json=as_json)


def _preview(
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


def _as_data(preview: "DeletionPreview") -> Mapping[str, Any]:
    return {"would_erase": [*preview.matched, *preview.derived], "would_cut": cuts_of(preview), "ids": preview.ids}


def cuts_of(preview: "DeletionPreview") -> list[Mapping[str, Any]]:
    """What would go of memories that lose a part, as plain data."""
    return [{"id": one.id, "gone": one.removed, "left": one.remaining} for one in preview.redacted]


def switch(
    *,
    mode: Annotated[
        str | None,
        typer.Argument(metavar="[on|recall|off]", help="recall: nothing is stored. Default: show what holds."),
    ] = None,
    user: options.User,
    project: options.Project = "",
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Only for this conversation. Default: for all.")
    ] = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Switch a user's memory on or off, for good: off, nothing is recalled or stored; what is there stays."""
    named: Any = {"user": user, "project": project, "conversation_id": conversation}
    with opened(settings, user=user) as memories:
        holds = memories.mode(**named) if mode is None else memories.switch(cast(Any, mode), **named)
    terminal.print_found({"mode": holds}, [f"Memory is switched to: {holds}."], as_json=as_json)


def maintain(
    *,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Embed again what was embedded with another model.")
    ] = False,
    consolidate: Annotated[
        bool, typer.Option("--consolidate", help="Also consolidate memories that say the same or correct each other.")
    ] = False,
    reflect: Annotated[
        bool, typer.Option("--reflect", help="Also derive insights from what recurs in several memories.")
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Consolidate and reflect for this user alone. Default: for all.")
    ] = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Erase what has expired, is past its retention, or over the quota, for all users. Call it from cron."""
    with opened(settings, user=user) as memories:
        done = memories.maintain(reembed=reembed, consolidate=consolidate, reflect=reflect, user=user)
    terminal.print_found(done, _maintained(cast("Mapping[str, int]", done)), as_json=as_json)


def _is_store_down(output: "RememberOutput") -> bool:
    """Ask whether the store failed, and not who was to draw memories from what is kept."""
    receipt = output["receipt"]
    return receipt["outcome"] == "unavailable" and any(note.startswith("remember: ") for note in receipt["degraded"])


def _remembered(output: "RememberOutput") -> terminal.Lines:
    receipt = output["receipt"]
    if _is_store_down(output):
        yield f"Nothing is remembered. {STORE_IS_DOWN}"
        return
    outcome = "waiting" if receipt["outcome"] == "unavailable" else receipt["outcome"]
    counts = [f"{len(output.get(name, ()))} {name}" for name in ("stored", "updated", "superseded") if output.get(name)]
    nothing = "memories are drawn from it later" if outcome == "waiting" else "no memory has changed"
    yield f"{outcome.capitalize()}: {', '.join(counts) or nothing}."
    for a, b in receipt["contradictions"]:
        yield f"{a} and {b} cannot both be true."
    if receipt["degraded"]:
        yield f"Done without: {terminal.on_one_line('; '.join(receipt['degraded']))}"


def _recalled(output: "RecallOutput") -> terminal.Lines:
    receipt = output["receipt"]
    if receipt["outcome"] == "unavailable":
        yield f"No memory was recalled. {STORE_IS_DOWN}"
        return
    if not output.get("memories"):
        reason = f" ({receipt['reason']})" if receipt["reason"] else ""
        yield f"No memory was recalled: {_NOT_RECALLED[receipt['outcome']]}{reason}."
    for one in output.get("memories", ()):
        yield f"{one['id']}  {one['type']}  {one['updated_at'][:10]}  {one['cosine']:.2f}"
        yield f"  {terminal.shortened(one['text'])}"
    if receipt["degraded"]:
        yield f"Done without: {terminal.on_one_line('; '.join(receipt['degraded']))}"


def _listed(listing: Mapping[str, Any]) -> terminal.Lines:
    if not listing["memories"]:
        yield "There are no memories."
    for record in listing["memories"]:
        yield from _brief(record)
    if listing["cursor"]:
        yield f"There are more: --cursor {listing['cursor']!r}"


def _brief(record: Record) -> terminal.Lines:
    project = f"  {terminal.shortened(record['project'], 40)}" if record["project"] else ""
    replaced = f"  {record['replaced_how']}d by {record['replaced_by']}" if record["replaced_by"] else ""
    pinned = "  pinned" if record["pinned_at"] else ""
    yield f"{record['id']}  {record['type']}  {record['updated_at'][:10]}{project}{pinned}{replaced}"
    yield f"  {terminal.shortened(record['text'])}"


def _memory_lines(record: Record) -> terminal.Lines:
    yield from _brief(record)
    for before in record["history"]:
        yield f"  until then, since {before['at'][:10]}: {terminal.shortened(before['text'])}"
    for name in ("replaces", "evidence", "contradicts"):
        if record[name]:
            yield f"  {name}: {', '.join(record[name])}"
    for source in record["sources"]:
        for quote in source["quotes"]:
            yield f"  said in {terminal.on_one_line(source['conversation'])}: “{terminal.shortened(quote)}”"


def _preview_lines(preview: "DeletionPreview") -> terminal.Lines:
    if not (preview.matched or preview.derived or preview.redacted):
        yield "There is no such memory."
    if whole := len(preview.matched) + len(preview.derived):
        yield f"This would erase {terminal.memories_counted(whole)}:"
    for record in preview.matched:
        yield from _brief(record)
    for record in preview.derived:
        yield from _brief(record)
        yield "  goes with the others: it was derived from them, or says the same"
    if preview.redacted:
        yield f"This would take a part out of {terminal.memories_counted(len(preview.redacted))}:"
    for cut in preview.redacted:
        yield from cut_lines(cut)


def cut_lines(cut: "Redaction") -> terminal.Lines:
    """What goes of a memory, and what stays."""
    yield f"{cut.id}  {cut.record['type']}  {cut.record['updated_at'][:10]}"
    for words in cut.removed or ["what it quotes"]:
        yield f"  goes:  {terminal.shortened(words)}"
    yield f"  stays: {terminal.shortened(cut.remaining) if cut.remaining else 'nothing'}"


def _maintained(done: Mapping[str, int]) -> terminal.Lines:
    told = [f"{number} {name.replace('_', ' ')}" for name, number in done.items() if number]
    yield f"{', '.join(told)}." if told else "There was nothing to do."
