"""Has a model say what a task teaches, and condense older steps; where it cannot, the rules stand."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.llm.meter import Meter
from agentic_memory_bank.nodes.agent_messages import Exchange
from agentic_memory_bank.nodes.react_mem.budget import Tally
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, LessonEngine, Scope
from agentic_memory_bank.nodes.react_mem.episodes import LESSON, masked
from agentic_memory_bank.nodes.react_mem.steps import gist
from agentic_memory_bank.nodes.react_mem.working_memory import CONDENSED_SHARE, listed, threshold
from agentic_memory_bank.state.errors import BudgetReachedError, EngineError, SettingsError
from agentic_memory_bank.state.react_mem import Condensed, Episode

_LOG = logging.getLogger(__name__)


def with_lesson(deps: AgentDeps, scope: Scope, episode: Episode, id: str) -> Episode:
    """An episode with the lesson in the words of a model."""
    engine = deps.engine_of(scope, id).engine
    if not isinstance(engine, LessonEngine):
        return episode
    try:
        told = engine.lesson(episode["goal"], episode["steps"], episode["outcome"])
    except (EngineError, BudgetReachedError, SettingsError) as error:
        _LOG.warning("No model says what a task teaches (%s): the lesson is made by rule.", type(error).__name__)
        return episode
    return {**episode, "lesson": masked(gist(told, LESSON))} if told.strip() else episode


def condense(
    deps: AgentDeps,
    scope: Scope,
    exchanges: Sequence[Exchange],
    id: str,
    told: Condensed | None,
    tally: Tally | None = None,
) -> Condensed | None:
    """Let a model summarise an agent's older steps; None where the rules are to do it."""
    count = len(exchanges) - scope.context.keep_steps
    before = told if told and told["invocation"] == id else None
    first = before["steps"] if before else 0
    if count <= first:
        return None
    room = int(CONDENSED_SHARE * threshold(scope.context))
    turns = [Turn("before", "assistant", before["text"])] if before else []
    turns += [Turn(str(place), "assistant", listed([one])) for place, one in enumerate(exchanges[first:count], first)]
    try:
        metered = deps.engine_of(scope, f"{id} {count}", tally.allowance() if tally else {})
        with _charging(tally, metered.meter):
            digest = metered.engine.summarise(turns, room)
    except (EngineError, BudgetReachedError, SettingsError) as error:
        _LOG.warning("No model condenses the steps of an agent (%s): rules do.", type(error).__name__)
        return None
    text = "\n".join(f"- {line}" for line in (*digest.topic, *digest.decisions, *digest.facts, *digest.open))
    note = f"Steps 1 to {count}, in short. deep_retrieval with node_id {id} lists them."
    return {"invocation": id, "steps": count, "text": f"{note}\n{text}"} if text else None


@contextmanager
def _charging(tally: Tally | None, meter: Meter | None) -> Iterator[None]:
    """Count in an account what is spent meanwhile."""
    if tally is None or meter is None:
        yield
        return
    before = meter.usage()
    try:
        yield
    finally:
        tally.charge_usage(before, meter.usage())
