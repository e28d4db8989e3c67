"""Whether episodes help: twenty tasks come again in other words, among 1,000 other episodes, in a new conversation.

An agent with a scripted model tries the options of a task one after the other, unless a lesson it is shown says which
one worked; so the steps of a twin say whether the lesson of the first run, as our extraction made it, reached the
prompt. Twenty further tasks have nothing to do with any episode: none of them may be given one.
"""

import argparse
import itertools
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.nodes.react_mem import episodes
from agentic_memory_bank.state.react_mem import Episode
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.stores import RecordStores

OPTIONS = ("auto", "fast", "legacy", "strict", "manual")
OTHERS = 1_000
LEAST_HELPED = 18


class Task(NamedTuple):
    """A task, the same in other words, the system it is done on, and the option that works there."""

    goal: str
    twin: str
    system: str
    option: str


def _tasks(lines: str) -> list[Task]:
    parts = [[part.strip() for part in line.split("|")] for line in lines.strip().splitlines()]
    return [Task(goal, twin, system, OPTIONS[1 + i % 4]) for i, (goal, twin, system) in enumerate(parts)]


TASKS = _tasks("""
Convert the sales workbook of last quarter to CSV for the data lake. | Please turn the sales numbers of last quarter into a CSV file and put it into the data lake. | lake
Restart the payment service after rotating its database password. | Rotate the database credentials of the payments service and bring it back up. | payments
Find the cheapest train from Berlin to Prague for next Friday. | What is the lowest train fare from Berlin to Prague on Friday next week? | rail
Resize all product photos to 800 pixels and compress them. | Shrink every picture of the products to a width of 800 px and reduce its size. | images
Generate the invoice of order 4411 and email it to the customer. | Create the bill for order 5120 and send it to the client by mail. | billing
Look the weather in Oslo up and suggest what to pack. | What should I pack for Oslo, given the forecast? | weather
Merge the duplicate contacts in the CRM. | Clean up the contacts that exist twice in our CRM. | crm
Translate the user manual from German into English. | I need the German handbook in English. | translate
Book a meeting room for the design review on Tuesday. | Reserve a conference room for Tuesday's design review. | rooms
Deploy the new build of the web shop to staging. | Roll the web shop out to staging. | deploy
Calculate the carbon footprint of our flights in 2025. | How much CO2 did our air travel cause last year? | carbon
Export all support tickets that mention refunds. | Give me a dump of the tickets about refunds. | tickets
Set up a nightly backup of the wiki. | Make sure that the wiki is backed up every night. | backup
Check why the login page returns error 500. | The sign-in page fails with a 500: find the cause. | login
Summarise the minutes of the board meeting. | Write a short summary of what the board discussed. | minutes
Order new toner for the printer on the third floor. | The printer on the third floor needs toner: order some. | printer
Find a vegetarian recipe for ten guests. | I cook for ten guests, all vegetarian: suggest a dish. | recipes
Plot the temperature readings of sensor A17. | Draw a chart of what sensor B03 measured in degrees. | sensors
Renew the TLS certificate of the mail server. | The mail server's certificate expires: renew it. | mail
Compare the two insurance offers and recommend one. | Which of these two insurance quotes is better? | insurance
""")  # noqa: E501 - a table
UNRELATED = """
Write a haiku about autumn leaves.|Prove that the square root of two is irrational.|Tell me a joke about penguins.
Name three novels by Jane Austen.|Explain photosynthesis to a child.|Multiply seventeen by twenty-three.
Say who painted Guernica.|Suggest a name for a kitten.|Describe how to tie a bow tie.|List the planets that have rings.
Find a word that rhymes with silver.|Define entropy in one sentence.|Say when the Roman Empire fell.
Explain the offside rule.|Describe the taste of umami.|Decide whether zero is an even number.
Say how old the universe is.|Write a limerick about a sailor.|Explain the plot of Hamlet.|Name Asia's longest river.
"""
VERBS = """archive audit benchmark calibrate catalogue check clone configure debug document draft encrypt estimate index
inspect install label map measure migrate monitor patch profile publish repair replace review schedule sort test"""
OBJECTS = """firewall rules of branch|inventory of warehouse|heating of building|cables in rack|contracts of supplier
cluster in hall|samples of batch|seedlings of greenhouse|podcast of season|collection of museum|drones of fleet
recordings of studio|forms of unit|parcels of vineyard|lifts of tower|bicycles of depot|fonts of brochure
plans of team|pumps of aquarium|phone lines of office|stock of clinic|timetable of line|turbines of park|hives of farm
score of symphony|maps of region|lenses of telescope|pallets of truck|menus of kitchen|seeds of garden|boats of harbour
mirrors of theatre|batteries of station|issues of newspaper"""


@tool
def run(system: str, option: str) -> str:
    """Run a job on a system with an option."""
    right = next(task.option for task in TASKS if task.system == system)
    return f"{system} is done." if option == right else f"Error: {system} refuses the option {option}"


class Learning(BaseChatModel):
    """Tries the options in their order, but first the one that a lesson names for the system."""

    seen: Any

    @property
    def _llm_type(self) -> str:
        return "learning"

    def bind_tools(self, tools: Any, **options: Any) -> "Learning":
        """The tools are known."""
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.seen.append(messages)
        return ChatResult(generations=[ChatGeneration(message=_next(messages))])


def _next(messages: Sequence[BaseMessage]) -> AIMessage:
    goal = next(m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    task = next((task for task in TASKS if goal in (task.goal, task.twin)), None)
    results = [m.text for m in messages if isinstance(m, ToolMessage)]
    if task is None or (results and results[-1].endswith("is done.")):
        return AIMessage("It is done." if task else "Here you are.")
    shown = "".join(m.text for m in messages if isinstance(m, HumanMessage) and m.text != goal)
    learned = re.findall(rf"run\(system={task.system}, option=(\w+)\) worked", shown)
    option = [*learned, *OPTIONS][len(results)]
    call = {"name": "run", "args": {"system": task.system, "option": option}, "id": f"{task.system}{len(results)}"}
    return AIMessage("", tool_calls=[call])


def _others(count: int) -> Iterator[Episode]:
    """Episodes of tasks of another kind."""
    pairs = list(itertools.product(VERBS.split(), OBJECTS.replace("\n", "|").split("|")))
    for number, (verb, thing) in enumerate(random.Random(7).sample(pairs, count)):
        goal = f"{verb.capitalize()} the {thing} {number}."
        lesson = f"run(system=other, option=auto) failed (Error: {thing}); run(system=other, option=fast) worked."
        yield {"id": "", "goal": goal, "outcome": "It is done.", "lesson": lesson, "steps": [], "at": ""}


def _steps(graph: Any, queue: WorkerPool, goal: str, conversation: str, seen: list[Any]) -> tuple[int, str]:
    """How often the model was asked, and what it was shown at first."""
    before = len(seen)
    given = {"messages": [HumanMessage(goal)], "conversation_id": conversation}
    graph.invoke(given, context={"user": "u", "recall_timeout": 10})
    queue.flush()
    return len(seen) - before, "\n".join(m.text for m in seen[before] if m.text != goal)


def _margin(encoder: Encoder, others: Sequence[Episode], *, with_lesson: bool) -> dict[str, float]:
    """The least cosine of a task and its twin, and the most of a twin or of an unrelated task and any other task."""
    lesson = "\nLesson: run(system=x, option=auto) failed (Error); run(system=x, option=fast) worked." * with_lesson
    known = [episodes.goal(goal) + lesson for goal in (*(t.goal for t in TASKS), *(one["goal"] for one in others))]
    asked = [episodes.goal(goal) for goal in (*(task.twin for task in TASKS), *_unrelated())]
    cosines = encoder.vectors(asked) @ encoder.vectors(known).T
    own = [float(cosines[i, i]) for i in range(len(TASKS))]
    for i in range(len(TASKS)):
        cosines[i, i] = -1
    return {"least_of_twins": round(min(own), 3), "most_of_others": round(float(cosines.max()), 3)}


def _unrelated() -> list[str]:
    return [goal for line in UNRELATED.strip().splitlines() for goal in line.split("|")]


def measure(others: int) -> dict[str, Any]:
    """Run all tasks, then their twins, then what has nothing to do with them."""
    seen: list[Any] = []
    stores, queue = RecordStores(InMemoryStore(), Encoder()), WorkerPool(100)
    stores.of().store_many("u", [episodes.draft(one, "other", [], "") for one in _others(others)])
    graph = build_react_mem(
        Learning(seen=seen), [run], engine=ExtractiveConversationEngine(), stores=stores, background=queue
    )
    first = [_steps(graph, queue, task.goal, f"first {i}", seen)[0] for i, task in enumerate(TASKS)]
    twins = [_steps(graph, queue, task.twin, f"twin {i}", seen) for i, task in enumerate(TASKS)]
    held = [
        f"run(system={task.system}, option={task.option}) worked" in shown
        for task, (_, shown) in zip(TASKS, twins, strict=True)
    ]
    unrelated, made = _unrelated(), list(_others(others))
    given = [goal for i, goal in enumerate(unrelated) if "Goal: " in _steps(graph, queue, goal, f"un {i}", seen)[1]]
    return {
        "tasks": len(TASKS),
        "other_episodes": others,
        "twins_with_the_lesson": sum(held),
        "twins_with_fewer_steps": sum(twin < one for one, (twin, _) in zip(first, twins, strict=True)),
        "model_calls_first": sum(first),
        "model_calls_twins": sum(twin for twin, _ in twins),
        "unrelated": len(unrelated),
        "unrelated_with_an_episode": given,
        "cosines_of_the_goal_alone": _margin(stores.encoder, made, with_lesson=False),
        "cosines_with_the_lesson": _margin(stores.encoder, made, with_lesson=True),
    }


def main() -> int:
    """Print the figures; 1 where episodes do not help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", type=int, default=OTHERS, help="how many other episodes there are")
    parser.add_argument("--eval", help="not used: the tasks are in this file")
    found = measure(parser.parse_args().others)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    helps = min(found["twins_with_the_lesson"], found["twins_with_fewer_steps"]) >= LEAST_HELPED
    return 0 if helps and not found["unrelated_with_an_episode"] else 1


if __name__ == "__main__":
    sys.exit(main())
