"""Puts what came of a run into words: the answer, its quotes, contradictions, what was done without, what it cost."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from agentic_memory_bank.cli.terminal import (
    Lines,
    command,
    counted,
    heading,
    indented,
    number,
    on_one_line,
    shown,
    spent,
    tokens,
)

_OUTCOMES = {
    "integrate": "both, put together",
    "neither": "neither claim holds",
    "inconclusive": "the evidence does not decide",
}
_UNDONE = {
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
_UNDONE_IN_RESEARCH = {
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
_MOST_ELSEWHERE = 5
"""Contradictions that the question does not ask about, of which each has a line."""
_DEGRADED = re.compile(r"(\w+): (\w+(?:, \w+)*)(?: \((\d+) of its questions\))?(?:: (.*))?", re.DOTALL)
"""As the stages note it: the stage, the kinds of error, of how many questions, and what the engine said."""


def place(source: Mapping[str, Any]) -> str:
    """Where a quote stands: source, page if there are pages, and the characters of the entry, counted from 0."""
    page = f", page {source['page']}" if "page" in source else ""
    return f"{on_one_line(source['source'])}{page}, characters {source['start']}-{source['end']}"


def place_in_memory(source: Mapping[str, Any]) -> str:
    """Where a quote stands in a memory: title and source of the page, its id, and the characters, counted from 0."""
    named = dict.fromkeys(on_one_line(source[name]) for name in ("title", "source") if source[name].strip())
    return ", ".join((*named, f"page {source['page']}", f"characters {source['start']}-{source['end']}"))


def answered(output: Mapping[str, Any], *, kept: bool, elapsed: float) -> Lines:
    """The answer, its quotes, how what contradicts them was settled, and one line on the run."""
    yield shown(output["answer"]) if output["answer"] else _no_answer(output)
    yield from _quotes(output["sources"])
    yield from _contradictions([one for one in output["conflicts"] if one.get("in_answer", True)])
    yield from _contradictions_elsewhere([one for one in output["conflicts"] if not one.get("in_answer", True)])
    yield from _degraded_lines(output)
    yield from usage_lines(output.get("usage"))
    if "pause" in output:
        yield from _pause(output)
    elif output["status"] == "failed":
        again = command("resume", output["thread"])
        yield f"\nThe run failed. What it has done is kept: mend what is named above, then go on with `{again}`."
    thread = f"thread {on_one_line(output['thread'])}" if kept or can_go_on(output) else ""
    yield _last_line(output, thread, elapsed)


def memorized(output: Mapping[str, Any], memory: str, *, elapsed: float) -> Lines:
    """How many pages are new, what was left out, and what it cost."""
    reasons = Counter(one["reason"] for one in output["skipped"])
    left_out = "".join(f", {count} {reason}" for reason, count in reasons.items())
    yield f"{counted(len(output['pages']), 'new page')} in '{on_one_line(memory)}'{left_out}."
    yield from _degraded_lines(output)
    yield from usage_lines(output.get("usage"))
    if output["status"] == "stopped":
        yield "\nThe budget is used up. Give the same command with a larger one to go on: nothing is done twice."
    yield _last_line(output, "", elapsed)


def researched(output: Mapping[str, Any], memory: str, *, elapsed: float) -> Lines:
    """The answer and the quotes it rests on, or what was found on the way, and what it cost."""
    yield shown(output["answer"]) if output["answer"] else _nothing_in(output, memory)
    yield from _quotes(output["sources"], place_in_memory)
    if not output["answer"]:
        yield from _findings(output["findings"])
    yield from _degraded_lines(output, _UNDONE_IN_RESEARCH)
    yield from usage_lines(output.get("usage"))
    if output["status"] in ("stopped", "failed"):
        why = "The budget is used up: give" if output["status"] == "stopped" else "Mend what is named above, and give"
        yield f"\n{why} the same command again to go on. What was answered is not paid for twice."
    yield _last_line(output, counted(len(output["rounds"]), "round"), elapsed)


def _last_line(output: Mapping[str, Any], of_what: str, elapsed: float) -> str:
    return "\n" + typer.style(" · ".join(filter(None, (output["status"], of_what, f"{elapsed:.1f} s"))), dim=True)


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
        yield heading("Found so far")
    for finding in findings:
        yield indented(finding["text"], "    ", "  - ")


def can_go_on(output: Mapping[str, Any]) -> bool:
    """Whether a run that came back can be resumed."""
    return "pause" in output or output["status"] == "failed"


def is_handed_out(output: Mapping[str, Any]) -> bool:
    """Ask whether a run waits for an executor outside."""
    return output.get("pause", {}).get("reason") == "execute"


def go_on_command(output: Mapping[str, Any]) -> str:
    """The shell command that resumes a run, to be shown to the user."""
    return command("resume", output["thread"], *(("--result", "-") if is_handed_out(output) else ()))


def handed_out(output: Mapping[str, Any], *, elapsed: float) -> Lines:
    """What goes with the prompt of a step that is handed out: how to hand in what was done."""
    task, thread = output["pause"]["task"], output["thread"]
    yield from _degraded_lines(output)
    yield from usage_lines(output.get("usage"))
    yield f"\nThe run waits for an executor outside ({task['kind']}): {on_one_line(output['pause']['message'])}"
    if pictures := output["pause"].get("pictures"):
        names = on_one_line(", ".join(picture["name"] for picture in pictures))
        yield f"It comes with pictures ({names}): `{command('resume', thread, '--json')}` prints them in base64."
    yield from how_to_hand_in(thread)
    yield _last_line(output, f"thread {on_one_line(thread)}", elapsed)


def how_to_hand_in(thread: str) -> Lines:
    """How to go on with a run whose step is carried out by an executor outside."""
    again = command("resume", thread)
    yield f"Hand in what was done, as text or as JSON, with `{again} --result FILE`; `-` is standard input."
    yield f"Read a memory whole with `{command('show', thread)} --node ID`; see the prompt again with `{again}`."
    yield f"Have it answered from memory with `{again} --decision finish`, or end it with `{again} --decision stop`."


def _no_answer(output: Mapping[str, Any]) -> str:
    if "pause" in output or output["status"] in ("stopped", "failed"):
        return "There is no answer yet."
    return "The documents hold nothing that answers the question."


def _quotes(sources: Sequence[Mapping[str, Any]], where: Callable[[Mapping[str, Any]], str] = place) -> Lines:
    """The best quote in bold, and the others apart from it."""
    for position, source in enumerate(sources, 1):
        if position < 3:
            yield ""
            yield heading("Best quote" if position == 1 else "Also")
        yield from _quote(source, f"{position:3}. ", where, is_best=position == 1)


def _quote(
    source: Mapping[str, Any],
    mark: str,
    where: Callable[[Mapping[str, Any]], str] = place,
    *,
    is_best: bool = False,
) -> Lines:
    """A quote behind a mark, and under it where it stands."""
    indent = " " * len(mark)
    said = indented(f"“{source['quote']}”", indent, mark)
    yield heading(said) if is_best else said
    yield typer.style(f"{indent}{where(source)}", dim=True)


def _contradictions(conflicts: Sequence[Mapping[str, Any]]) -> Lines:
    if conflicts:
        yield ""
        yield heading("Contradictions")
    for position, conflict in enumerate(conflicts, 1):
        yield from _contradiction(position, conflict)


def _contradictions_elsewhere(conflicts: Sequence[Mapping[str, Any]]) -> Lines:
    """Those that the question does not ask about, a line each."""
    if conflicts:
        yield ""
        yield heading("Contradictions elsewhere")
    for conflict in conflicts[:_MOST_ELSEWHERE]:
        sides = " – ".join(f"“{on_one_line(claim['quote'])}”" for claim in conflict["claims"])
        yield indented(sides, "    ", f"  - {_label(conflict)} ")
    if len(conflicts) > _MOST_ELSEWHERE:
        yield f"  and {len(conflicts) - _MOST_ELSEWHERE} more; `--json` has all"


def _label(conflict: Mapping[str, Any]) -> str:
    is_open = conflict["outcome"] == "inconclusive"
    return f"({typer.style('disputed', fg='yellow') if is_open else typer.style('settled', fg='green')})"


def _contradiction(position: int, conflict: Mapping[str, Any]) -> Lines:
    yield f"{position:3}. {on_one_line(conflict['reason'] or conflict['kind'])} {_label(conflict)}"
    for index, claim in enumerate(conflict["claims"]):
        mark = "✓" if conflict["outcome"] == "holds" and index == conflict["winner"] else "-"
        yield from _quote(claim, f"     {mark} ")
    yield f"     Verdict: {_verdict(conflict)}"
    if conflict["explanation"]:
        yield indented(conflict["explanation"], "     ")
    if conflict["evidence"]:
        yield "     Evidence:"
    for source in conflict["evidence"]:
        yield from _quote(source, "     - ")


def _verdict(conflict: Mapping[str, Any]) -> str:
    if conflict["outcome"] == "holds" and conflict["winner"] is not None:
        claim = conflict["claims"][conflict["winner"]]
        said = f"{on_one_line(claim['source'])} is right: {on_one_line(claim['value'])}"
    else:
        said = _OUTCOMES.get(conflict["outcome"], conflict["outcome"])
    return f"{said}. True is: {on_one_line(conflict['statement'])}" if conflict["statement"] else said


def _degraded_lines(output: Mapping[str, Any], stages: Mapping[str, str] = _UNDONE) -> Lines:
    notes = dict.fromkeys(output.get("degraded", []))
    if notes:
        yield ""
    yield from (degraded_line(note, stages) for note in notes)


def degraded_line(note: str, stages: Mapping[str, str] = _UNDONE) -> str:
    """What the run had to do without, and why, in plain words.

    Args:
        stages: What is left undone where a stage failed.
    """
    noted = _DEGRADED.fullmatch(note)
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


def decision_lines(output: Mapping[str, Any]) -> Lines:
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


def usage_lines(usage: Mapping[str, Any] | None) -> Lines:
    """What each role spent, and the form of structured output that served it; nothing where no model was asked."""
    total = spent(usage)
    if not usage or not total:
        return
    yield ""
    yield heading("Models")
    roles = usage.get("roles", {})
    width = max(map(len, roles), default=0)
    for role, used in roles.items():
        forms = used["served_by"]
        served = [form if len(forms) < 2 else f"{form} {count}" for form, count in forms.items()]
        by = f"by {', '.join(served)}" if served else "none answered"
        calls = f"{counted(used['calls'], 'call')}, {tokens(used)}"
        yield f"  {role.ljust(width)}  {on_one_line(used['model'])}: {calls}, {by}"
    yield f"  {'in all'.ljust(width)}  {total}"
