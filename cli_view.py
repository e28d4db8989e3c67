"""Puts what a run found, and what a memory holds, into words for a terminal; nothing here prints."""

import json
import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import typer

from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of

if TYPE_CHECKING:
    from agentic_memory_bank.state.memory_bank import MemoryBankState
    from agentic_memory_bank.state.query_graph import Conflict, MemoryNode

_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Escape sequences and the like: a document must not be able to drive the terminal it is quoted on."""
_OUTCOMES = {
    "integrate": "both, put together",
    "neither": "neither claim holds",
    "inconclusive": "the evidence does not decide",
}
_WITHOUT = {
    "classify": "The text was not divided into topics",
    "structure": "Memories were not summarised",
    "embed": "What is new has no vectors",
    "retrieve": "What is new was not compared with older memories",
    "analyze_conflict": "What is new was not checked for contradictions",
    "analyze_related": "Memories were not linked with related ones",
    "integrate": "Memories were not put together",
    "plan": "The next step could not be planned",
    "execute": "A step could not be carried out",
    "abstract": "Pages have their central sentences for an abstract",
}
_WITHOUT_IN_RESEARCH = {
    "plan": "The searches of a round were not planned: the request was searched as it stands",
    "search": "Pages were searched by their words alone",
    "integrate": "What a round found was not put together",
    "reflect": "Whether something is missing was not asked",
    "answer": "There is no answer",
}
"""The same for stages of the researcher."""
_REASONS = {
    "ModelUnavailable": "the model did not answer",
    "ModelRefused": "the model's server refuses to answer",
    "AnswerRejected": "the model's answer could not be used",
    "EmbeddingError": "vectors could not be made",
    "SettingsError": "a setting or a key is missing",
}
_BREAK = re.compile(r"(?<!\s)[^\S\n]*+\n\s*+")
_SETBACK = re.compile(r"(\w+): (\w+(?:, \w+)*)(?: \((\d+) of its questions\))?(?:: (.*))?", re.DOTALL)
"""As the stages note it: the stage, the kinds of error, of how many questions, and what the engine said."""
_QUESTION_CHARACTERS = 60
_SUMMARY_CHARACTERS = 300

Lines = Iterator[str]


# --- words -------------------------------------------------------------------------------------------------------


def shown(text: str) -> str:
    """A text as it may be printed."""
    return _UNSHOWN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def on_one_line(text: str) -> str:
    """A text as it may be printed in a line."""
    return shown(_BREAK.sub(" ", text.strip()))


def shortened(text: str, characters: int) -> str:
    """A text in a line of at most so many characters."""
    line = on_one_line(text)
    return line if len(line) <= characters else f"{line[: characters - 1].rstrip()}…"


def to_json(value: object, indent: int | None = 2) -> str:
    """JSON for standard output: readable where it can show every character, and escaped where it cannot.

    Args:
        value: What is shown.
        indent: None for all in one line.
    """
    is_utf = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")
    return json.dumps(_plain(value), ensure_ascii=not is_utf, indent=indent, allow_nan=False, default=str)


def _plain(value: object) -> object:
    """A copy in which JSON has a word for each number: infinity and "not a number" become null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def command(*words: str) -> str:
    """A command line the user can paste."""
    return " ".join(["memory-bank", *map(shlex.quote, words)])


def _heading(text: str) -> str:
    return typer.style(text, bold=True)


def _indented(text: str, indent: str, first: str | None = None) -> str:
    lines = shown(text).split("\n")
    return "\n".join(f"{(first if first is not None else indent) if not i else indent}{x}" for i, x in enumerate(lines))


def place(source: Mapping[str, Any]) -> str:
    """Where a quote stands: source, page if there are pages, and the characters of the entry, counted from 0."""
    page = f", page {source['page']}" if "page" in source else ""
    return f"{on_one_line(source['source'])}{page}, characters {source['start']}-{source['end']}"


# --- the outcome of a run ----------------------------------------------------------------------------------------


def outcome(output: Mapping[str, Any], *, kept: bool, elapsed: float) -> Lines:
    """The answer, its quotes, how each contradiction was settled, and one line on the run."""
    yield shown(output["answer"]) if output["answer"] else _no_answer(output)
    yield from _quotes(output["sources"])
    yield from _contradictions(output["conflicts"])
    yield from _setbacks(output)
    yield from _usage(output.get("usage"))
    if "pause" in output:
        yield from _pause(output)
    elif output["status"] == "failed":
        again = command("resume", output["thread"])
        yield f"\nThe run failed. What it has done is kept: mend what is named above, then go on with `{again}`."
    thread = f" · thread {on_one_line(output['thread'])}" if kept or can_go_on(output) else ""
    yield ""
    yield typer.style(f"{output['status']}{thread} · {elapsed:.1f} s", dim=True)


def memorized(output: Mapping[str, Any], memory: str, *, elapsed: float) -> Lines:
    """How many pages are new, what was left out, and what it cost."""
    reasons = Counter(one["reason"] for one in output["skipped"])
    left_out = "".join(f", {count} {reason}" for reason, count in reasons.items())
    yield f"{counted(len(output['pages']), 'new page')} in '{on_one_line(memory)}'{left_out}."
    yield from _setbacks(output)
    yield from _usage(output.get("usage"))
    if output["status"] == "stopped":
        yield "\nThe budget is used up. Give the same command with a larger one to go on: nothing is done twice."
    yield ""
    yield typer.style(f"{output['status']} · {elapsed:.1f} s", dim=True)


def researched(output: Mapping[str, Any], memory: str, *, elapsed: float) -> Lines:
    """The answer and the quotes it rests on, or what was found on the way, and what it cost."""
    yield shown(output["answer"]) if output["answer"] else _nothing_in(output, memory)
    yield from _quotes(output["sources"], of_pages)
    if not output["answer"]:
        yield from _findings(output["findings"])
    yield from _setbacks(output, _WITHOUT_IN_RESEARCH)
    yield from _usage(output.get("usage"))
    if output["status"] in ("stopped", "failed"):
        why = "The budget is used up: give" if output["status"] == "stopped" else "Mend what is named above, and give"
        yield f"\n{why} the same command again to go on. What was answered is not paid for twice."
    rounds = counted(len(output["rounds"]), "round")
    yield ""
    yield typer.style(f"{output['status']} · {rounds} · {elapsed:.1f} s", dim=True)


def of_pages(source: Mapping[str, Any]) -> str:
    """Where a quote stands in a memory: title and source of the page, its id, and the characters, counted from 0."""
    named = dict.fromkeys(on_one_line(source[name]) for name in ("title", "source") if source[name].strip())
    return ", ".join((*named, f"page {source['page']}", f"characters {source['start']}-{source['end']}"))


def _nothing_in(output: Mapping[str, Any], memory: str) -> str:
    name = on_one_line(memory)
    if output["status"] in ("stopped", "failed"):
        return "There is no answer yet."
    if not output["rounds"]:
        fill = command("memorize", "FILES", "--memory", name)
        return f"The memory '{name}' has no pages. Fill it with `{fill}`."
    return f"The memory '{name}' holds nothing that answers the question."


def _findings(findings: Sequence[Mapping[str, Any]]) -> Lines:
    if findings:
        yield ""
        yield _heading("Found so far")
    for finding in findings:
        yield _indented(finding["text"], "    ", "  - ")


def can_go_on(output: Mapping[str, Any]) -> bool:
    """Whether a run that came back can be resumed."""
    return "pause" in output or output["status"] == "failed"


def is_handed_out(output: Mapping[str, Any]) -> bool:
    """Whether a run waits for an executor outside."""
    return output.get("pause", {}).get("reason") == "execute"


def go_on_command(output: Mapping[str, Any]) -> str:
    """The command with which a run goes on."""
    return command("resume", output["thread"], *(("--result", "-") if is_handed_out(output) else ()))


def handed_out(output: Mapping[str, Any], *, elapsed: float) -> Lines:
    """What goes with the prompt of a step that is handed out: how to hand in what was done."""
    task, thread = output["pause"]["task"], output["thread"]
    yield from _setbacks(output)
    yield from _usage(output.get("usage"))
    yield f"\nThe run waits for an executor outside ({task['kind']}): {on_one_line(output['pause']['message'])}"
    yield from _how_to_hand_in(thread)
    yield typer.style(f"{output['status']} · thread {on_one_line(thread)} · {elapsed:.1f} s", dim=True)


def _how_to_hand_in(thread: str) -> Lines:
    again = command("resume", thread)
    yield f"Hand in what was done, as text or as JSON, with `{again} --result FILE`; `-` is standard input."
    yield f"Read a memory whole with `{command('show', thread)} --node ID`; see the prompt again with `{again}`."
    yield f"Have it answered from memory with `{again} --decision finish`, or end it with `{again} --decision stop`."


def _no_answer(output: Mapping[str, Any]) -> str:
    if "pause" in output or output["status"] in ("stopped", "failed"):
        return "There is no answer yet."
    return "The documents hold nothing that answers the question."


def _quotes(sources: Sequence[Mapping[str, Any]], where: Callable[[Mapping[str, Any]], str] = place) -> Lines:
    if sources:
        yield ""
        yield _heading("Quotes")
    for number, source in enumerate(sources, 1):
        yield _indented(f"“{source['quote']}”", "     ", f"{number:3}. ")
        yield typer.style(f"     {where(source)}", dim=True)


def _contradictions(conflicts: Sequence[Mapping[str, Any]]) -> Lines:
    if conflicts:
        yield ""
        yield _heading("Contradictions")
    for number, conflict in enumerate(conflicts, 1):
        yield from _contradiction(number, conflict)


def _contradiction(number: int, conflict: Mapping[str, Any]) -> Lines:
    is_open = conflict["outcome"] == "inconclusive"
    label = typer.style("disputed", fg="yellow") if is_open else typer.style("settled", fg="green")
    title = ": ".join(filter(None, (on_one_line(conflict["kind"]), on_one_line(conflict["reason"]))))
    yield f"{number:3}. {title} ({label})"
    for position, claim in enumerate(conflict["claims"]):
        mark = "✓" if conflict["outcome"] == "holds" and position == conflict["winner"] else "-"
        yield _indented(f"“{claim['quote']}”", "       ", f"     {mark} ")
        yield typer.style(f"       {place(claim)}", dim=True)
    yield f"     Verdict: {_verdict(conflict)}"
    if conflict["explanation"]:
        yield _indented(conflict["explanation"], "     ")
    if conflict["evidence"]:
        yield "     Evidence:"
    for source in conflict["evidence"]:
        yield _indented(f"“{source['quote']}”", "       ", "     - ")
        yield typer.style(f"       {place(source)}", dim=True)


def _verdict(conflict: Mapping[str, Any]) -> str:
    if conflict["outcome"] == "holds" and conflict["winner"] is not None:
        claim = conflict["claims"][conflict["winner"]]
        said = f"{on_one_line(claim['source'])} is right: {on_one_line(claim['value'])}"
    else:
        said = _OUTCOMES.get(conflict["outcome"], conflict["outcome"])
    return f"{said}. True is: {on_one_line(conflict['statement'])}" if conflict["statement"] else said


def _setbacks(output: Mapping[str, Any], stages: Mapping[str, str] = _WITHOUT) -> Lines:
    notes = dict.fromkeys(output.get("degraded", []))
    if notes:
        yield ""
    yield from (setback(note, stages) for note in notes)


def setback(note: str, stages: Mapping[str, str] = _WITHOUT) -> str:
    """What the run had to do without, and why, in plain words.

    Args:
        note: As the run noted it.
        stages: What is left undone where a stage failed.
    """
    noted = _SETBACK.fullmatch(note)
    stage, kinds, count, said = noted.groups() if noted else ("", "", None, None)
    if stage == "budget":
        return f"The budget of {kinds} was reached: no model was asked after that."
    if stage == "refused" and said:
        return f"No model was asked any more: {on_one_line(said)}"
    if stage not in stages:
        return f"Done without: {on_one_line(note)}"
    why = on_one_line(said or f"{', '.join(_reason(kind) for kind in kinds.split(', '))}.")
    part = f", in part ({counted(int(count), 'question')})" if count else ""
    return f"{stages[stage]}{part}: {why}"


def _reason(kind: str) -> str:
    return _REASONS.get(kind, f"an unexpected error ({kind})")


def waiting_lines(output: Mapping[str, Any]) -> Lines:
    """Why a run waits, what it has spent, and what may be decided."""
    waiting = output["pause"]
    yield f"The run waits. {on_one_line(waiting['message'])}"
    if total := spent(output.get("usage")):
        yield f"So far: {total}."
    if "limit" in waiting:
        yield "raise: allow more · finish: go on without a model · stop: end it now · later: leave it waiting"
    else:
        yield "continue: go on · finish: without a model · stop: end it now · later: leave it waiting"


def _pause(output: Mapping[str, Any]) -> Lines:
    again, waiting = command("resume", output["thread"]), output["pause"]
    yield f"\nThe run waits. {on_one_line(waiting['message'])}"
    if "limit" not in waiting:
        yield f"Go on with `{again}`, finish without a model with `{again} --decision finish`, or end it with"
        yield f"`{again} --decision stop`."
        return
    more = f"{again} --budget {waiting['reason']}={number(2 * waiting['limit'])}"
    yield f"Go on with `{again}`, which grants as much again, or say how much in all: `{more}`."
    yield f"Finish without a model with `{again} --decision finish`, or end it with `{again} --decision stop`."


# --- what was spent ----------------------------------------------------------------------------------------------


def spent(usage: Mapping[str, Any] | None) -> str:
    """Calls, tokens and cost in one line; empty where no model was asked."""
    if not usage or not usage.get("calls"):
        return ""
    return f"{counted(usage['calls'], 'call')}, {_tokens(usage)}, {cost(usage)}"


def cost(usage: Mapping[str, Any]) -> str:
    """The cost, if the price of every model is known; in the unit of the prices."""
    known = usage.get("cost")
    if known is None:
        return "cost unknown"
    return f"cost {number(round(known, 2) if known >= 1 else float(f'{known:.3g}'))}"


def number(value: float) -> str:
    """A number as it may be typed: no exponent, no needless zeros."""
    return format(Decimal(repr(value)).normalize(), "f")


def counted(count: int, name: str) -> str:
    """A count with its name, in the plural where there are several."""
    return f"{count:,} {name if count == 1 else f'{name}s'}"


def _tokens(usage: Mapping[str, Any]) -> str:
    return f"{usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out"


def _usage(usage: Mapping[str, Any] | None) -> Lines:
    """What each role spent, and the form of structured output that served it; nothing where no model was asked."""
    total = spent(usage)
    if not usage or not total:
        return
    yield ""
    yield _heading("Models")
    roles = usage.get("roles", {})
    width = max(map(len, roles), default=0)
    for role, used in roles.items():
        forms = used["served_by"]
        served = ", ".join(forms) if len(forms) < 2 else ", ".join(f"{form} {count}" for form, count in forms.items())
        calls = f"{counted(used['calls'], 'call')}, {_tokens(used)}"
        yield f"  {role.ljust(width)}  {on_one_line(used['model'])}: {calls}, by {served}"
    yield f"  {'in all'.ljust(width)}  {total}"


# --- a memory ----------------------------------------------------------------------------------------------------


def memory(
    state: "MemoryBankState",
    thread: str,
    usage: Mapping[str, Any] | None = None,
    pause: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A thread's memory as plain data: goal, tasks, conflicts with their quotes, and memories without raw text.

    Args:
        state: As it was saved last.
        thread: Its name.
        usage: What its last run has spent on models, if any was asked.
        pause: Why it waits, if it does.
    """
    graph, doc = state.get("query_graph", {}), state.get("insight_doc", {})
    return {
        "thread": thread,
        "goal": doc.get("goal", ""),
        "status": state.get("status", "running"),
        "answer": state.get("answer", ""),
        "current": doc.get("current"),
        "completed": doc.get("completed", []),
        "archived": doc.get("archived", []),
        "conflicts": list(graph.get("conflicts", {}).values()),
        "memories": [_summary(node, state) for node in graph.get("nodes", {}).values()],
        "attachments": _attachments(state),
        "merges": state.get("interaction_tree", {}).get("merges", []),
        "usage": usage,
        "pause": pause,
        "waits_for_executor": bool(pause) and pause.get("reason") == "execute",
    }


def _attachments(state: "MemoryBankState") -> list[dict[str, Any]]:
    """The files of each entry; `bytes` are for whoever has the files to fill in."""
    return [
        {
            "entry": entry["id"],
            "source": entry["source"],
            "id": attachment["id"],
            "name": attachment["name"],
            "kind": attachment["kind"],
            "sha256": attachment["path"],
            "bytes": None,
        }
        for entry in state.get("interaction_tree", {}).get("entries", {}).values()
        for attachment in entry["attachments"]
    ]


def _summary(node: "MemoryNode", state: "MemoryBankState") -> dict[str, Any]:
    return {
        "id": node["id"],
        "context": node["context"],
        "summary": node["summary"],
        "keywords": node["keywords"],
        "sources": node["provenance"]["sources"],
        "neighbours": state.get("query_graph", {}).get("related", {}).get(node["id"], []),
        "anchors": len(node["anchors"]),
        "created_at": node["created_at"],
        "merged_from": node["provenance"]["merged_from"],
    }


def memory_lines(found: Mapping[str, Any]) -> Lines:
    """A thread's memory in words."""
    yield f"{_heading('Goal')}  {on_one_line(found['goal']) or 'none yet'} ({found['status']})"
    for goal in found["archived"]:
        yield f"      earlier: {on_one_line(goal['goal'])} ({len(goal['completed'])} tasks)"
    yield from _tasks(found)
    if found["conflicts"]:
        yield f"\n{_heading('Conflicts')}"
    for conflict in found["conflicts"]:
        yield from _conflict(conflict)
    yield f"\n{_heading('Memories')}  {len(found['memories'])}"
    for node in found["memories"]:
        yield from _node_lines(node)
    yield from _attachment_lines(found["attachments"])
    yield from _usage(found.get("usage"))
    yield from _waiting_lines(found)


def _attachment_lines(attachments: Sequence[Mapping[str, Any]]) -> Lines:
    if attachments:
        yield f"\n{_heading('Attachments')}  {len(attachments)}"
    for found in attachments:
        size = "lost" if found["bytes"] is None else counted(found["bytes"], "byte")
        yield f"  {found['id']}  {on_one_line(found['name'])} ({found['kind']}, {size}), of {found['entry']}"


def _waiting_lines(found: Mapping[str, Any]) -> Lines:
    if found["waits_for_executor"]:
        yield f"\nThe run waits for an executor outside: {on_one_line(found['pause']['message'])}"
        yield from _how_to_hand_in(found["thread"])
    elif found["pause"]:
        yield f"\nThe run waits. {on_one_line(found['pause']['message'])}"


def _tasks(found: Mapping[str, Any]) -> Lines:
    if found["completed"] or found["current"]:
        yield f"\n{_heading('Tasks')}"
    for task in found["completed"]:
        mark = {"success": "✓", "failure": "✗"}.get(task["status"], "~")
        yield f"  {mark} {task['kind']}: {shortened(task['description'], _SUMMARY_CHARACTERS)}"
        if task["learned"]:
            yield f"      {shortened(task['learned'], _SUMMARY_CHARACTERS)}"
    if found["current"]:
        yield f"  … {found['current']['kind']}: {shortened(found['current']['description'], _SUMMARY_CHARACTERS)}"


def _conflict(conflict: "Conflict") -> Lines:
    yield f"  {conflict['id']}  {conflict['status']}, between {', '.join(conflict['nodes'])}"
    for contradiction in conflict["contradictions"]:
        yield f"    {contradiction['kind']}: {on_one_line(contradiction['reason'])}"
        for position, claim in enumerate(contradiction["claims"]):
            mark = "✓" if contradiction.get("winner") == position else "-"
            yield f"      {mark} {claim['node']}: “{on_one_line(claim['quote'])}”"
        if explanation := contradiction.get("explanation"):
            yield f"      {on_one_line(explanation)}"


def _node_lines(node: Mapping[str, Any]) -> Lines:
    yield f"\n  {typer.style(node['id'], bold=True)}  {shortened(node['context'], _SUMMARY_CHARACTERS)}"
    yield f"    keywords    {on_one_line(', '.join(node['keywords'])) or '-'}"
    yield f"    sources     {on_one_line(', '.join(node['sources'])) or '-'}"
    yield f"    neighbours  {', '.join(node['neighbours']) or '-'}"
    yield f"    anchors     {node['anchors']}"


def deep(state: "MemoryBankState", node: "MemoryNode") -> dict[str, Any]:
    """One memory as plain data, with all raw text it stands for, word for word, in order of arrival."""
    tree = state.get("interaction_tree", {})
    order = {entry: position for position, entry in enumerate(tree.get("entries", {}))}
    anchors = sorted(node["anchors"], key=lambda a: (order.get(a["entry"], len(order)), a["start"]))
    return {
        **_summary(node, state),
        "anchors": len(anchors),
        "history": node["history"],
        "raw": [_raw(tree, anchor) for anchor in anchors],
    }


def _raw(tree: InteractionTree, anchor: Anchor) -> dict[str, Any]:
    entry = tree.get("entries", {}).get(anchor["entry"])
    page = entry["metadata"].get("page") if entry else None
    return {
        **anchor,
        "source": entry["source"] if entry else "forgotten",
        **({"page": page} if isinstance(page, int) else {}),
        "text": text_of(tree, anchor),
    }


def deep_lines(found: Mapping[str, Any]) -> Lines:
    """One memory in words, with all its raw text."""
    yield from _node_lines(found)
    if found["merged_from"]:
        yield f"    merged from {', '.join(found['merged_from'])}"
    yield f"\n{_heading('Summary')}\n{shown(found['summary'])}"
    for piece in found["raw"]:
        yield f"\n{_heading(place(piece))}\n{shown(piece['text'])}"


# --- runs --------------------------------------------------------------------------------------------------------


def page_memory_lines(memories: Sequence[Mapping[str, Any]]) -> Lines:
    """Memories of pages as a table."""
    if not memories:
        yield "There are no memories of pages."
        return
    rows = [("MEMORY", "PAGES", "STAY", "BYTES", "USER"), *(_page_memory(one) for one in memories)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _page_memory(one: Mapping[str, Any]) -> tuple[str, ...]:
    stay = "for ever" if one["ttl_seconds"] is None else f"{one['ttl_seconds'] / 86_400:,.3g} days"
    sizes = (f"{one['pages']:,}", stay, f"{one['bytes']:,}")
    return shortened(one["memory"], _QUESTION_CHARACTERS), *sizes, on_one_line(one["user"])


def run_lines(runs: Sequence[Mapping[str, Any]]) -> Lines:
    """All runs as a table, and how to go on with those that are not finished."""
    if not runs:
        yield "There are no runs."
        return
    rows = [("THREAD", "STATUS", "KEPT", "LAST ACTIVE", "SPENT", "QUESTION"), *(_run(run) for run in runs)]
    columns = [column for column in zip(*rows, strict=True) if column[0] != "SPENT" or any(column[1:])]
    widths = [*(max(map(len, column)) for column in columns[:-1]), 0]
    for row in zip(*columns, strict=True):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    unfinished = [run["thread"] for run in runs if run["state"] != "finished"]
    if unfinished:
        yield f"\n{len(unfinished)} unfinished; go on with `{command('resume', unfinished[0])}`."


def _run(run: Mapping[str, Any]) -> tuple[str, ...]:
    status = {"finished": run["status"], "paused": "paused"}.get(run["state"], "unfinished")
    status = "failed" if run["status"] == "failed" else status
    usage = run.get("usage")
    return (
        on_one_line(run["thread"]),
        status,
        "yes" if run["keep"] else "no",
        run["updated_at"][:19].replace("T", " "),
        f"{counted(usage['calls'], 'call')}, {cost(usage)}" if usage and usage.get("calls") else "",
        shortened(run["question"], _QUESTION_CHARACTERS),
    )


# --- doctor ------------------------------------------------------------------------------------------------------


def examination_lines(found: Mapping[str, Any]) -> Lines:
    """What `doctor` found, section by section, and each problem with its remedy."""
    for title, section in found.items():
        if isinstance(section, Mapping):
            yield _heading(title.replace("_", " ").capitalize())
            width = max(map(len, section), default=0)
            yield from (f"  {name.ljust(width)}  {on_one_line(str(value))}" for name, value in section.items())
            if not section:
                yield "  none"
    yield _heading("Problems")
    for problem in found["problems"]:
        label = typer.style(problem["severity"], fg="red" if problem["severity"] == "error" else "yellow")
        yield f"  {label}: {on_one_line(problem['problem'])}\n    {on_one_line(problem['remedy'])}"
    if not found["problems"]:
        yield "  none: `memory-bank ask` can be used"
