"""Puts the prompt of an agent together: what it was sent anyway, with one message of memory before the question.

The order: instructions; facts, episodes, the conversation, older steps in few words; the question; the last steps.
Those stay behind the question, since providers take results of tools only right behind the calls.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage

from agentic_memory_bank.nodes.messages import RECALLED
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.nodes.react_mem.working_memory import fitted
from agentic_memory_bank.prompts import four_tiers
from agentic_memory_bank.state.react_mem import Condensed, Invocation, Recollection
from agentic_memory_bank.state.settings import Settings


class Assembled(NamedTuple):
    """What a model is sent."""

    messages: list[AnyMessage]
    has_ids: bool
    """Whether anything in it is read on under an id."""


def assemble_prompt(
    messages: Sequence[AnyMessage],
    known: Recollection | None,
    settings: Settings,
    id: str,
    told: Condensed | None = None,
) -> Assembled | None:
    """The messages with memory; None where memory has nothing to say, so that they stay what they are.

    Args:
        messages: The messages of the agent, which keeps them whole.
        known: What was recalled.
        settings: Say how much is shown.
        id: Id of the invocation.
        told: What a model made of the first steps.
    """
    asked = steps.split(messages)
    if asked.question is None:
        return None
    done = known["invocations"] if known else []
    before = _unsummarised(asked.before, done)
    working = fitted(asked.exchanges, settings, id, told)
    sections = {
        "facts": four_tiers.facts(known["facts"]) if known else "",
        "episodes": four_tiers.episodes(known["episodes"]) if known else "",
        "conversation": four_tiers.conversation(done, known["earlier"]) if known else "",
        "steps": working.condensed,
    }
    if not any(sections.values()) and not working.is_cut:
        return None
    shown = [recalled(four_tiers.render(sections))] if any(sections.values()) else []
    return Assembled([*before, *shown, asked.question, *working.messages], bool(done) or working.is_cut)


def recalled(text: str) -> HumanMessage:
    """What was recalled as a message, which is never remembered itself."""
    return HumanMessage(text, additional_kwargs={RECALLED: True})


def _unsummarised(before: Sequence[AnyMessage], done: Sequence[Invocation]) -> list[AnyMessage]:
    """The messages before the question without those of invocations that are shown in summaries.

    An application that hands the whole conversation over, or keeps it in a thread, sends no course twice; but one with
    pictures stays, since no summary shows them.
    """
    left = Counter(one["asked"] for one in done)
    shown: list[AnyMessage] = []
    for course in _courses(before):
        is_summarised = isinstance(course[0], HumanMessage) and _takes(left, course[0])
        is_whole = not is_summarised or any(map(steps.has_media, course))
        shown += [message for message in course if is_whole or isinstance(message, SystemMessage)]
    return shown


def _courses(messages: Sequence[AnyMessage]) -> list[list[AnyMessage]]:
    """Messages in groups, each from a question to what stands before the next one."""
    found: list[list[AnyMessage]] = []
    for message in messages:
        if isinstance(message, HumanMessage) or not found:
            found.append([])
        found[-1].append(message)
    return found


def _takes(left: "Counter[str]", question: BaseMessage) -> bool:
    known = steps.asked_hash(question)
    left[known] -= 1
    return left[known] >= 0
