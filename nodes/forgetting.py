"""Hears what a user tells a memory to forget, in a chat or of an agent: it is shown, erased, or asked about.

What is meant is found in memories and in parts of them, with their echoes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.forgetting import (
    Telling,
    is_no,
    is_yes,
    subject_of,
    subjects_of,
    told_to_forget,
)
from agentic_memory_bank.nodes.deps import BackgroundQueue, Owner
from agentic_memory_bank.nodes.forgettable import all_records, is_said_in, is_small, meant, near, words_gone
from agentic_memory_bank.nodes.messages import RECALLED, TOLD, text_of
from agentic_memory_bank.nodes.remember.views import retention_days
from agentic_memory_bank.prompts import forgetting
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import EmbeddingError, InputError, StorageError
from agentic_memory_bank.state.records import MemorySource
from agentic_memory_bank.tools.memories.conversation_states import new_state
from agentic_memory_bank.tools.memories.deletion import TurnRef
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import stamp, user_hash
from agentic_memory_bank.tools.text.cleaning import is_cjk

PATIENCE: Final = 20.0
"""Seconds to wait for what was handed over before: erased while it is being remembered, it would come back."""

_Result = TypeVar("_Result")


class ForgettingTurn(NamedTuple):
    """What a message that may tell to forget leaves in its conversation."""

    messages: list[AnyMessage]
    """Those that change: marked as nothing to keep, cut, or the answer."""
    is_answered: bool
    """Whether nothing is left to be answered."""


@dataclass(frozen=True, slots=True)
class ForgettingListener:
    """Hears the messages of one conversation.

    Args:
        records: Opens the memories of all users.
        owner: Whose memories are meant.
        conversation: Its id.
        context: Says how long it is kept that something waits for a yes.
        now: When it is heard.
        queue: Remembers in the background.
        said_before: The turns before the message, of which the last of the user is meant by "forget that".
    """

    records: Callable[[], RecordStore]
    owner: Owner
    conversation: str
    context: MemoryContext
    now: datetime
    queue: BackgroundQueue
    said_before: Callable[[], Sequence[Turn]]

    def hear(self, messages: Sequence[AnyMessage], message: HumanMessage) -> ForgettingTurn:
        """Do what a message tells; any other message is left as it is.

        Args:
            messages: The conversation, as far as it was handed over.
            message: The one that is answered.
        """
        unkept = list(_unkept(messages, message))
        words = text_of(message)
        request = told_to_forget(words)
        if request is not None and request.after:  # what comes before it is not kept, what comes after is said as ever
            return ForgettingTurn([*unkept, message.model_copy(update={"content": request.after})], False)
        answer = self._answer(words, request)
        if answer is None:
            return ForgettingTurn(unkept, False)
        return ForgettingTurn([*unkept, _marked(message), _marked(AIMessage(answer))], True)

    def _answer(self, words: str, request: Telling | None) -> str | None:
        """The answer to a request to forget, or to a question about one; None for any other message."""
        if request is None and not (is_yes(words) or is_no(words)):
            return None
        chinese = is_cjk(words)
        try:
            if request is None and not self._waiting():
                return None
            before = self.said_before() if request is not None and request.kind == "this" else ()
            return self._in_turn(lambda: self._done(words, request, before, chinese=chinese))
        except (StorageError, EmbeddingError, InputError, TimeoutError):
            return forgetting.failed(chinese=chinese)

    def _done(self, words: str, request: Telling | None, before: Sequence[Turn], *, chinese: bool) -> str | None:
        if request is None:
            return self._confirmed(words, chinese=chinese)
        match request.kind:
            case "all":
                return forgetting.say_what(chinese=chinese)
            case "this":
                return self._drop(() if request.rest else self._said_last(before), chinese=chinese)
            case "about":
                return self._forget(request, words, chinese=chinese)

    def _in_turn(self, job: Callable[[], _Result]) -> _Result:
        """Do a job behind what waits of this user.

        Raises:
            TimeoutError: Too much waits; the job is not done later either.
        """
        done: Future[_Result] = Future()

        def run() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(job())
                except BaseException as error:
                    done.set_exception(error)

        if not self.queue.submit(user_hash(self.owner.user), run):
            return job()
        try:
            return done.result(PATIENCE)
        except TimeoutError:
            if done.cancel():
                raise
            return done.result()

    def _forget(self, request: Telling, words: str, *, chinese: bool) -> str | None:
        """Forget what speaks of something, where it is little and plainly meant; else ask.

        Where somebody may only have told to, and nothing near is known, it was no request.
        """
        user, project = self.owner
        subjects = subjects_of(words)
        if not subjects:
            return None
        records = self.records()
        everything = list(all_records(records, user, project))
        about = subject_of(request.whose or request.about)
        ids = meant(everything, subjects)
        reached = records.preview_delete(user, ids or near(records, self.owner, about, is_sure=request.is_sure))
        if not reached.ids and not request.is_sure:
            return None
        if not reached.ids:
            return forgetting.nothing_found(about, chinese=chinese)
        if ids and request.is_sure and is_small(reached.records):
            records.delete(user, reached.ids)
            return forgetting.erased(words_gone(reached), chinese=chinese)
        self._ask(reached.ids)
        return forgetting.would_erase(words_gone(reached), chinese=chinese, is_near=not ids)

    def _confirmed(self, words: str, *, chinese: bool) -> str | None:
        """Erase what waits for a yes; None where nothing does."""
        user, project = self.owner
        ids = self._waiting()
        if not ids:
            return None
        records = self.records()
        texts = words_gone(records.preview_delete(user, ids)) if is_yes(words) else []
        if texts:
            records.delete(user, ids)
        with records.conversations.editing(user):
            if now := records.conversations.get(user, project, self.conversation):
                records.conversations.put(user, {**now, "to_forget": []})
        return forgetting.erased(texts, chinese=chinese) if texts else forgetting.left_alone(chinese=chinese)

    def _waiting(self) -> Sequence[str]:
        """The ids of what waits for a yes; they do for one turn."""
        user, project = self.owner
        state = self.records().conversations.get(user, project, self.conversation)
        held = state["to_forget"] if state is not None else []
        return held[1:] if held and held[0] == self._place(state["count"] if state is not None else 0) else []

    def _ask(self, ids: Sequence[str]) -> None:
        """Keep what waits for a yes, by its ids."""
        user, project = self.owner
        states = self.records().conversations
        with states.editing(user):
            state = states.get(user, project, self.conversation)
            if state is None:
                over = stamp(self.now + timedelta(days=retention_days(self.context)))
                state = new_state(project, self.conversation)
                state["at"], state["expires_at"] = stamp(self.now), over
            states.put(user, {**state, "to_forget": [self._place(state["count"]), *ids]})

    def _place(self, count: int) -> str:
        """How far the conversation has come: its turns, and when an agent was last asked in it."""
        done = self.records().agents.load(*self.owner, self.conversation).state
        return f"{count} {done['at']}" if done is not None else str(count)

    def _drop(self, places: Sequence[TurnRef], *, chinese: bool) -> str:
        """Keep nothing of this message; where it says nothing else, forget what was said just before."""
        if not places:
            return forgetting.not_kept(chinese=chinese, is_erased=False)
        user, project = self.owner
        records = self.records()
        ids = [record["id"] for record in all_records(records, user, project) if is_said_in(record, places)]
        sources: list[MemorySource] = [{"conversation": c, "turns": [turn], "quotes": []} for c, turn in places]
        records.agents.delete_turns(user, sources)
        records.conversations.redact_turns(user, {place: [] for place in places})
        records.delete(user, ids)
        return forgetting.not_kept(chinese=chinese, is_erased=True)

    def _said_last(self, turns: Sequence[Turn]) -> list[TurnRef]:
        """The last turn of the user with its answer: as it was handed over, and as an agent has kept it."""
        last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
        done = self.records().agents.load(*self.owner, self.conversation).invocations[-1:]
        ids = [*(turn.id for turn in turns[last:]), *(id for one in done for id in one["turns"])]
        return [(self.conversation, id) for id in dict.fromkeys(ids)]


# --- what is not kept ------------------------------------------------------------------------------------------------


def _unkept(messages: Sequence[AnyMessage], last: HumanMessage) -> Iterator[AnyMessage]:
    """Earlier requests to forget with their answers, marked: whoever hands a conversation over again knows no marks."""
    is_answered = is_asked = False
    for place, message in enumerate(messages):
        if message is last:
            return
        if isinstance(message, AIMessage):
            if is_answered and not message.additional_kwargs.get(RECALLED):
                yield _marked(message)
            is_asked = is_answered and message.text.rstrip().endswith(("?", "？"))
        elif isinstance(message, HumanMessage):
            words = text_of(message)
            is_reply = is_asked and (is_yes(words) or is_no(words))
            is_answered = is_reply or _is_request(words, messages[place + 1 :][:1])
            if is_answered and not message.additional_kwargs.get(RECALLED):
                yield _marked(message)


def _is_request(words: str, after: Sequence[AnyMessage]) -> bool:
    """Whether a message told to forget; one that may have is known by the question it was answered with."""
    request = told_to_forget(words)
    if request is None or request.is_sure:
        return request is not None
    return any(isinstance(one, AIMessage) and forgetting.asks_back(one.text) for one in after)


def _marked(message: AnyMessage) -> AnyMessage:
    """A message that is shown to no model, and never kept."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, RECALLED: True, TOLD: True}})
