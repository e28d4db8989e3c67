"""What an agent with four tiers of memory recalls and leaves behind, and what flows through `react_mem`."""

from typing import Annotated, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels.ephemeral_value import EphemeralValue
from pydantic import with_config
from typing_extensions import TypedDict

from agentic_memory_bank.state.conversations import add_said
from agentic_memory_bank.state.memory_bank import MessagesIn
from agentic_memory_bank.state.records import Metadata

FACTS = ("semantic", "procedural", "reflective")
"""The types of memories that are facts to an agent."""


class KnownFact(TypedDict):
    """A fact as an agent is shown it."""

    id: str
    text: str
    at: str
    """When it was learned; ISO 8601 in UTC, as all times here."""


class Episode(TypedDict):
    """How a task was carried out. What is searched is the goal with the lesson."""

    id: str
    goal: str
    outcome: str
    lesson: str
    steps: list[str]
    """Calls of tools and their outcome, a line each."""
    at: str
    metadata: NotRequired[Metadata]
    """What an application noted of it."""


class Invocation(TypedDict):
    """Summary of an invocation of an agent: what was asked, done and answered. Stored with its conversation."""

    v: int
    id: str
    at: str
    query: str
    summary: str
    """What the agent did."""
    result: str
    """The agent's last words, or the error that it failed with."""
    is_task: bool
    """Whether it was a task, which is recorded as an episode unless the settings say otherwise."""
    failed: bool
    lesson: str
    asked: str
    """A hash of the question, by which it is known among the messages of the conversation."""
    turns: list[str]
    """Ids of its turns, as the memories name them that were drawn from it."""
    metadata: NotRequired[Metadata]
    """What an application noted of it."""


class AgentConversationMemory(TypedDict):
    """What is kept of a conversation with an agent, as it is read."""

    conversation_id: str
    invocations: list[Invocation]
    """The latest ones, oldest first."""
    earlier: list[str]
    """Those before them, a line each, oldest first."""
    ended: str
    """When it ended; empty while it goes on, or where nothing is kept of it."""


class KeptStep(TypedDict):
    """A text of an invocation, word for word: the result of a tool, or the whole course."""

    v: int
    id: str
    of: str
    """Id of the invocation."""
    at: str
    source: str
    text: str


class AgentConversation(TypedDict):
    """Where a conversation with an agent stands."""

    v: int
    project: str
    """Project, as JSON in ASCII: no database keeps every text unchanged."""
    conversation: str
    """Id of the conversation, as JSON in ASCII."""
    at: str
    """When its last invocation ended."""
    ended: str
    """When it ended; empty while it goes on."""
    episode: str
    """Id of the memory that was made of all of it; empty for none."""
    earlier: dict[str, str]
    """Invocations that are kept as a line only, by their ids, the latest last."""
    expires_at: str


class Recollection(TypedDict):
    """What is recalled for one invocation."""

    invocation: str
    facts: list[KnownFact]
    episodes: list[Episode]
    invocations: list[Invocation]
    """Earlier invocations of the conversation, oldest first."""
    earlier: list[str]
    """A line each for the invocations before those."""
    degraded: list[str]
    """Stages that failed, with the kind of error."""


class Condensed(TypedDict):
    """Older steps of an invocation, condensed by a model."""

    invocation: str
    steps: int
    """How many steps it stands for."""
    text: str


class Spent(TypedDict):
    """What an invocation of an agent has spent."""

    asked: int
    """Calls of the agent's own model, failed ones included."""
    calls: int
    """All calls of models that the answer waited for, those of the agent included."""
    tokens: int
    """Tokens, in and out."""
    money: float
    seconds: float
    """Seconds while it ran; waiting for a person does not count."""


@with_config(use_attribute_docstrings=True)
class ReactMemInput(TypedDict, total=False):
    """Input of `react_mem`."""

    messages: Annotated[MessagesIn, add_said]
    """New messages, or the whole conversation; the last one of the user is answered. Required unless `end` is
    true."""
    conversation_id: str
    """Id of the conversation that goes on. Default: the thread's id, or a new one."""
    end: bool
    """Whether the conversation ends with this."""


class ReactMemOutput(TypedDict):
    """Output of `react_mem`: that of the plain agent, and why it was stopped."""

    messages: Annotated[list[AnyMessage], add_said]
    """The messages, the answer last."""
    stopped: str
    """Why the agent had to answer before it came to its end by itself; begins with the name of the setting
    (`react_calls`, `budget_calls` ..., or `recursion_limit`). Empty where nothing stopped it."""


class ReactMemState(TypedDict, total=False):
    """Everything a stage of `react_mem` can read."""

    messages: Annotated[list[AnyMessage], add_said]
    conversation_id: str
    end: Annotated[bool, EphemeralValue]
    asks: bool
    """Whether there is a message to answer."""
    closes: bool
    """Whether the conversation ends with this invocation."""
    stopped: str


ReactMemUpdate = ReactMemState
"""What a stage of `react_mem` returns: some of it."""
