"""The part of `Memories` that reads and writes what agents did: episodes, and the memory of their conversations."""

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import HumanMessage

from agentic_memory_bank.nodes.react_mem import episodes
from agentic_memory_bank.nodes.react_mem.recording import QUERY, RESULT, SUMMARY
from agentic_memory_bank.nodes.react_mem.steps import asked_hash, gist
from agentic_memory_bank.nodes.remember.saving import checked_conversation
from agentic_memory_bank.nodes.remember.views import retention_days
from agentic_memory_bank.runs.conversation_memory import ConversationMemory
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.react_mem import AgentConversationMemory, Episode, Invocation
from agentic_memory_bank.state.records import Metadata, digest
from agentic_memory_bank.tools.memories.agent_conversations import FORM
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT, MemoryFields, checked_metadata, stamp

SPARE: Final = 4
"""How many times the limit is looked at: other things that happened are memories of the same type."""


class AgentMemories(ConversationMemory):
    """Episodes and conversations of agents, for whoever writes an agent of their own or looks at what one did."""

    def store_episode(
        self,
        goal: str,
        *,
        user: str,
        outcome: str = "",
        lesson: str = "",
        steps: Sequence[str] = (),
        project: str = "",
        conversation_id: str | None = None,
        metadata: Metadata | None = None,
    ) -> Episode:
        """Store how a task was carried out; agents recall it for tasks like it.

        The same goal once more is another account of the same episode. Credentials are left out.

        Args:
            goal: What the task was; this is what is searched.
            outcome: What came of it; one that begins with "not finished" counts as failed.
            lesson: What is to be done otherwise, or again.
            steps: What was done, a line each.
            project: The project; an empty text for none.
            conversation_id: The conversation it was part of, if any.
            metadata: What the application notes of it, when it is stored first.

        Returns:
            The episode as it is read from now on.

        Raises:
            NoUserError: No user is named.
            InputError: A text is none, or memory is switched off.
            EmbeddingError: The stored vectors are of another model.
            StorageError: The store failed.
        """
        self._check_on(user)
        if isinstance(steps, str):
            raise InputError("The steps of an episode are a list of texts, not a single one.")
        told: Episode = {
            "id": "",
            "goal": _text(goal, "goal", episodes.GOAL),
            "outcome": _text(outcome, "outcome", episodes.OUTCOME),
            "lesson": _text(lesson, "lesson", episodes.LESSON),
            "steps": [_text(step, "step", episodes.STEP) for step in steps][-episodes.STEPS :],
            "at": "",
            "metadata": checked_metadata(metadata),
        }
        if not told["goal"]:
            raise InputError("An episode needs a goal that is not blank.")
        draft = episodes.draft(told, checked_conversation(conversation_id) or "", (), project)
        fields: MemoryFields = {name: value for name, value in draft.items() if name != "text"}  # pyright: ignore[reportAssignmentType]
        return episodes.read(self._records.store(user, draft["text"], **{**fields, **self._end()}).record)

    def search_episodes(self, query: str, *, user: str, project: str | None = "", limit: int = 3) -> Sequence[Episode]:
        """Search the episodes of tasks like this one, best first; nothing counts as used.

        Args:
            query: The task, in plain words.
            project: An empty text means the episodes without a project; None all.
            limit: How many at most.

        Raises:
            NoUserError, InputError, EmbeddingError, StorageError: As `search`.
        """
        if self._records.switches.mode(user) == "off":
            return []
        wanted, most = episodes.goal(query), min(MAX_LIMIT, SPARE * limit)
        found = self._records.search(user, wanted, project=project, types=["episodic"], limit=most)
        return [episodes.read(one.record) for one in found if episodes.is_episode(one.record)][:limit]

    def agent_conversation(self, conversation_id: str, *, user: str, project: str = "") -> AgentConversationMemory:
        """Read what is kept of a conversation with an agent; of an unknown one, nothing.

        Raises:
            NoUserError: No user is named.
            InputError: The conversation is not named by a text.
            StorageError: The store failed.
        """
        known = self._records.agents.load(user, project, _conversation(conversation_id))
        ended = known.state["ended"] if known.state else ""
        return {
            "conversation_id": conversation_id,
            "invocations": known.invocations,
            "earlier": known.earlier,
            "ended": ended,
        }

    def add_invocation(
        self,
        conversation_id: str,
        query: str,
        result: str,
        *,
        user: str,
        summary: str = "",
        project: str = "",
        metadata: Metadata | None = None,
    ) -> Invocation:
        """Add what an agent was asked and answered to the memory of its conversation; twice the same is added once.

        No fact and no episode is drawn from it. `delete_all` erases it with all else that is kept of the user.

        Args:
            query: What was asked.
            result: What was answered.
            summary: What was done in between.
            project: The project; an empty text for none.
            metadata: What the application notes of it.

        Returns:
            The invocation as it is read from now on.

        Raises:
            NoUserError: No user is named.
            InputError: A text is none, or memory is switched off.
            StorageError: The store failed.
        """
        self._check_on(user)
        conversation = _conversation(conversation_id)
        asked, answered = _text(query, "query", QUERY), _text(result, "result", RESULT)
        known = self._records.agents.load(user, project, conversation).invocations
        id = "i" + digest([conversation, asked, answered])[:12]
        if known and known[-1]["id"] == id:
            return known[-1]
        done: Invocation = {
            "v": FORM,
            "id": id,
            "at": stamp(self._clock()),
            "query": asked,
            "summary": _text(summary, "summary", SUMMARY),
            "result": answered,
            "is_task": False,
            "failed": False,
            "lesson": "",
            "asked": asked_hash(HumanMessage(query)),
            "turns": [],
            "metadata": checked_metadata(metadata),
        }
        days = retention_days(self._context(user, project))
        self._records.agents.add(user, project, conversation, done, [], days)
        return done


def _text(given: object, name: str, most: int) -> str:
    if not isinstance(given, str):
        raise InputError(f"The {name} is a text, not {given!r}.")
    return episodes.masked(gist(given, most))


def _conversation(given: object) -> str:
    conversation = checked_conversation(given)
    if conversation is None:
        raise InputError("A conversation is named by a text, not by None.")
    return conversation
