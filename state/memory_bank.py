"""What flows through the memory bank: input, the three layers, the small state of a round, and output."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired

from langchain_core.messages import AnyMessage, BaseMessage, MessageLikeRepresentation
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.managed import RemainingSteps
from pydantic import with_config
from typing_extensions import TypedDict

from agentic_memory_bank.state.insight_doc import InsightDoc, InsightEdit, apply_insight_edits
from agentic_memory_bank.state.interaction_tree import (
    Anchor,
    AttachmentKind,
    InteractionTree,
    TreeEdit,
    apply_tree_edits,
)
from agentic_memory_bank.state.query_graph import GraphEdit, QueryGraph, apply_graph_edits

if TYPE_CHECKING:
    MessagesIn = str | BaseMessage | Sequence[MessageLikeRepresentation]
else:
    MessagesIn = list[AnyMessage]
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from langgraph.channels.delta import DeltaChannel

FEWEST_UPDATES = 15
"""Least number of updates between full copies, for small layers."""


class LayerChannel(DeltaChannel[Any]):
    """A `DeltaChannel` whose snapshot interval follows the size of what it holds.

    LangGraph asks the channel for `snapshot_frequency` at each checkpoint. A fixed one either rewrites a large memory
    too often or lets a small one replay a long history; a copy every n updates per n items costs a constant share.
    """

    __slots__ = ()

    updates_per_item: ClassVar[float] = 0.1
    """Updates between full copies for each item of a large layer, so that bytes per step do not grow with memory."""

    def __init__(
        self, reducer: Callable[[Any, Sequence[Any]], Any], typ: Any = None, *, snapshot_frequency: int = FEWEST_UPDATES
    ) -> None:
        super().__init__(reducer, typ, snapshot_frequency=snapshot_frequency)

    @property
    def snapshot_frequency(self) -> int:
        """Compute how many updates lie between two full copies, from the size of the layer."""
        return max(FEWEST_UPDATES, int(_items(self.value) * self.updates_per_item))

    @snapshot_frequency.setter
    def snapshot_frequency(self, value: int) -> None:
        """Ignore LangGraph's own default."""


class SeldomWrittenLayerChannel(LayerChannel):
    """A channel for layers that few super-steps write, with more frequent full copies, so that reading is short."""

    __slots__ = ()

    updates_per_item: ClassVar[float] = 0.03


def _items(layer: Any) -> int:
    if not isinstance(layer, dict):
        return 0
    return max(len(layer), *(len(part) for part in layer.values() if isinstance(part, (dict, list))), 0)


def apply_lines(lines: Mapping[str, str], updates: Iterable[Mapping[str, str | None]]) -> dict[str, str]:
    """Fold lines by id into those that are there; None takes one away."""
    folded: dict[str, str | None] = dict(lines)
    for update in updates:
        folded.update(update)
    return {id: line for id, line in folded.items() if line is not None}


"""Messages as a caller may hand them over; forms ask for LangChain's, and the state holds these."""

RunStatus = Literal["running", "completed", "completed_with_failures", "not_found", "stopped", "failed"]


class Topic(TypedDict):
    """What the classifier made of raw text: the stretches that belong together, and what they are about."""

    anchors: list[Anchor]
    context: str
    keywords: list[str]


class Recalled(TypedDict):
    """A memory chosen for the prompt: why, and which stretches of its raw text are shown word for word."""

    node: str
    score: float
    hit: bool
    """Whether it is one of the k best; otherwise it is there for one passage, or as a neighbour of a hit."""
    passages: list[Anchor]


class ValidationVerdict(TypedDict):
    """What a cross-validation found, one outcome per contradiction of the conflict, in their order."""

    conflict: str
    outcomes: list["Outcome"]


class Outcome(TypedDict):
    """The end of one contradiction: who is right, why, and the raw text that says so."""

    outcome: Literal["holds", "integrate", "neither", "inconclusive"]
    winner: int | None
    """Index of the claim that holds, with outcome `holds`."""
    statement: str
    """What is true, where no claim alone says it; selected or written by the engine."""
    explanation: str
    evidence: list[Anchor]


class Result(TypedDict):
    """What the executor did with the planned step; emptied by `adapter_out`."""

    task: str
    status: Literal["success", "failure"]
    learned: str
    """One or two sentences for the Insight Doc; the reason after a failure."""
    answer: str
    sources: list["AnswerSource"]
    entries: list[dict[str, Any]]
    """New raw text (turns, tool results) to remember; never the memory that was shown in the prompt."""
    verdict: ValidationVerdict | None


class AnswerSource(TypedDict):
    """A quote of the answer: the words, and where they stand."""

    quote: str
    source: str
    entry: str
    start: int
    end: int
    page: NotRequired[int]
    node: NotRequired[str]


class PendingAttachment(TypedDict):
    """An attachment, handed over or brought by a tool, that is not recognised yet; its bytes are never in the state."""

    id: str
    name: str
    """What the file was called: a label, never a path."""
    kind: AttachmentKind
    type: str
    """Its media type, such as `image/png`."""
    sha256: str


class RoleUsage(TypedDict):
    """Calls and tokens of one role."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    served_by: dict[str, int]
    """Calls by the form of structured output: `json_schema`, `function_calling`, `json_mode`, `prompt`."""
    estimated: NotRequired[int]
    """As in `Usage`."""


class Asking(TypedDict):
    """What a chat model is asked just now, as an event of a run."""

    role: str
    attempt: int
    """Which try this is, from 1."""
    seconds: float
    """How long it may take yet."""
    tokens: int
    """How many have come, about; of a model whose answer is not listened to, 0 until it is there."""


class Usage(TypedDict):
    """Calls, tokens and cost of a run. The extractive engine spends nothing."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: NotRequired[float | None]
    """Cost by the setting `prices`; None when a model has no price there."""
    estimated: NotRequired[int]
    """Of how many calls the tokens are estimated, since the server did not say them."""
    roles: NotRequired[dict[str, RoleUsage]]


class Allowance(TypedDict, total=False):
    """Decision on a run that reached a budget."""

    extra: dict[str, float]
    """What is granted above the budgets of the settings, by resource."""
    ending: Literal["finish", "stop"]
    """How a run without further models ends: the extractive engine finishes it, or the round before it stops."""


@with_config(use_attribute_docstrings=True)
class MemoryBankInput(TypedDict, total=False):
    """Input of `memory_bank`: a question, and the texts to answer it from."""

    question: str
    """What to answer. Required unless `messages` are given."""
    messages: MessagesIn
    """In place of `question`: what the user said last. The answer then comes as a message, too."""
    documents: list[Any]
    """Strings, LangChain `Document`s, messages, or mappings with `text` and, if known, `source` and `metadata`."""
    attachments: list[dict[str, Any]]
    """Pictures and files by `name` and base64 `data`: at most 32, each within `Settings.max_attachment_bytes`."""


class MemoryBankOutput(TypedDict):
    """Output of `memory_bank`."""

    messages: NotRequired[list[AnyMessage]]
    """The answer in words, where it was asked in messages."""
    answer: str
    """The answer; empty where the documents hold none."""
    sources: list[AnswerSource]
    """The quotes that the answer rests on."""
    conflicts: list[dict[str, Any]]
    """Every contradiction met: `claims`, `status` (`settled` or `disputed`), `winner`, `explanation`, `evidence`."""
    status: RunStatus
    """How the run ended; `completed_with_failures` where a step failed."""
    insight_doc: Annotated[InsightDoc, LayerChannel(apply_insight_edits)]
    """The goal, and each step with what was learned."""
    usage: Usage
    """Calls and tokens of models, by role."""
    degraded: list[str]
    """Stages that failed twice and were passed over, with the kind of error; never its text."""


class MemoryBankFields(TypedDict, total=False):
    """What stages of the memory bank read and write as it stands."""

    now: str
    """The time of this round, read once, so that a stage that runs again writes the same."""
    started: float
    """When the run began or was last allowed to go on, in seconds since 1970."""
    incoming: list[str]
    """Entries that wait to be remembered."""
    waiting: list[PendingAttachment]
    """Attachments that wait to be recognised."""
    topics: list[Topic]
    fresh: list[str]
    """Memories of this round that are not yet compared with the others."""
    candidates: dict[str, list[str]]
    """For each fresh memory the ones to compare it with; only pairs that passed the gate."""
    merging: list[list[str]]
    """Groups of memories that say the same."""
    verdict: ValidationVerdict | None
    recalled: list[Recalled]
    result: Result | None
    trail: list[str]
    """Fingerprints of what was planned for this goal, to notice a stall."""
    degraded: list[str]
    in_messages: bool
    """Whether it was asked in messages, and is answered in one."""
    answer: str
    sources: list[AnswerSource]
    conflicts: list[dict[str, Any]]
    status: RunStatus
    usage: Usage
    allowance: Allowance
    judge: str
    """The chat models this goal was begun with; empty for an engine that needs none."""


class MemoryBankState(MemoryBankFields, total=False):
    """Everything a stage can read. The layers are written as edits, the rest is small and belongs to a round."""

    question: Annotated[str | None, EphemeralValue]
    """What was handed over is there for the first stage only, so that refused input does not come up again."""
    documents: Annotated[list[Any], EphemeralValue]
    attachments: Annotated[list[dict[str, Any]], EphemeralValue]
    messages: Annotated[list[AnyMessage], EphemeralValue]
    insight_doc: Annotated[InsightDoc, LayerChannel(apply_insight_edits)]
    query_graph: Annotated[QueryGraph, LayerChannel(apply_graph_edits)]
    interaction_tree: Annotated[InteractionTree, SeldomWrittenLayerChannel(apply_tree_edits)]
    entries: Annotated[dict[str, str], LayerChannel(apply_lines)]
    """Each entry in a line: where it comes from, how long it is, its first words."""
    memories: Annotated[dict[str, str], LayerChannel(apply_lines)]
    """Each memory in a line. Both are made of the layers, and stand for them where the state is sent and shown."""
    remaining_steps: RemainingSteps
    """How many super-steps LangGraph still allows this invocation."""


class MemoryBankUpdate(MemoryBankFields, total=False):
    """What a stage returns: edits for the layers, new values for the rest."""

    messages: list[AnyMessage]
    question: str | None
    documents: list[Any]
    attachments: list[dict[str, Any]]
    insight_doc: Sequence[InsightEdit]
    query_graph: Sequence[GraphEdit]
    interaction_tree: Sequence[TreeEdit]
    entries: Mapping[str, str | None]
    memories: Mapping[str, str | None]


LINES: Final = frozenset(("entries", "memories"))
"""What stands for the layers where the state is sent and shown."""
WHOLE: Final = frozenset(("interaction_tree", "query_graph", "topics", "documents", "attachments"))
"""What is about as long as the texts themselves."""
