"""Stage 0: what a user tells the memory to forget is forgotten, before anything is recalled, answered or kept.

The request names the very thing that is to be gone. So neither it nor its answer is a turn that is kept, also where a
client hands the whole conversation over again; and what waits for a yes is kept by ids, in the conversation's state.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from agentic_memory_bank.engines.conversation import unattributed
from agentic_memory_bank.engines.extractive.forgetting import (
    Telling,
    is_no,
    is_yes,
    subject_of,
    subjects_of,
    told_to_forget,
)
from agentic_memory_bank.nodes.conversation.deps import ConversationDeps
from agentic_memory_bank.nodes.conversation.history import DISABLED, asked, conversation_of, earlier, turns_in
from agentic_memory_bank.nodes.deps import context_of, owner_of
from agentic_memory_bank.nodes.forgetting import is_of_assistant, is_turn, meant, near
from agentic_memory_bank.nodes.messages import RECALLED, text_of
from agentic_memory_bank.nodes.remember.views import receipt, retention_days
from agentic_memory_bank.prompts import forgetting
from agentic_memory_bank.state.conversations import ConversationState, ConversationUpdate, MemoryContext
from agentic_memory_bank.state.errors import EmbeddingError, InputError, StorageError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.conversation_states import new_state
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction, TurnRef
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT, stamp
from agentic_memory_bank.tools.text.cleaning import is_cjk

SMALL: Final = 3
"""How many memories are erased without asking back, the turns they were said in aside."""

Next = Literal["recall", "__end__"]


def told(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> Command[Next]:
    """Forget what the message tells to, and answer; any other message goes on to be answered as ever.

    Raises:
        InputError: There is no message to answer, or the conversation's id is none.
        NoUserError: Nobody is named whose memories are meant.
    """
    message = asked(state.get("messages", []))
    if not context_of(runtime).enable_memory:
        return Command(goto="recall")
    unkept = list(_unkept(state["messages"], message))
    conversation = conversation_of(state, runtime)
    request = told_to_forget(text_of(message))
    if request is not None and request.after:  # what comes before it is not kept, what comes after is said as ever
        rest = message.model_copy(update={"content": request.after})
        return Command(goto="recall", update={"messages": [*unkept, rest]})
    try:
        answer = _Listener(state, runtime, deps, conversation).answer(text_of(message), request)
    except (StorageError, EmbeddingError, InputError):
        answer = forgetting.failed(chinese=is_cjk(text_of(message)))
    if answer is None:
        update: ConversationUpdate = {"messages": unkept} if unkept else {}
        return Command(goto="recall", update=update)
    spoken = AIMessage(answer, additional_kwargs={RECALLED: True})
    done: ConversationUpdate = {
        "messages": [*unkept, _marked(message), spoken],
        "conversation_id": conversation,
        "recalled": {**DISABLED, "outcome": "ignored", "reason": "told to forget"},
        "remembered": receipt("nothing"),
    }
    return Command(goto="__end__", update=done)


class _Listener:
    """One message, and the memories it may tell to forget."""

    def __init__(
        self, state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps, conversation: str
    ) -> None:
        self._state, self._runtime, self._deps, self._conversation = state, runtime, deps, conversation

    def answer(self, words: str, request: Telling | None) -> str | None:
        """The answer to a request to forget, or to a question about one; None for any other message."""
        if request is None:
            return self._confirmed(words) if is_yes(words) or is_no(words) else None
        chinese = is_cjk(words)
        match request.kind:
            case "all":
                return forgetting.say_what(chinese=chinese)
            case "this":
                return self._drop(request, chinese=chinese)
            case "about":
                return self._forget(request, words, chinese=chinese)

    def _forget(self, request: Telling, words: str, *, chinese: bool) -> str | None:
        """Forget what speaks of something, where it is little; else ask."""
        user, project = owner_of(self._runtime)
        subjects = subjects_of(words)
        if not subjects:
            return None
        records = self._records
        everything = list(_all(records, user, project))
        ids = meant(everything, subjects)
        reached = records.preview_delete(user, ids or near(everything, subjects))
        if not reached.ids:
            return forgetting.nothing_found(subject_of(request.whose or request.about), chinese=chinese)
        if ids and _count(reached) <= SMALL:
            records.delete(user, reached.ids)
            return forgetting.erased(_shown(reached), chinese=chinese)
        self._ask(reached.ids)
        return forgetting.would_erase(_shown(reached), chinese=chinese, is_near=not ids)

    def _confirmed(self, words: str) -> str | None:
        """Erase what waits for a yes; None where nothing does."""
        user, project = owner_of(self._runtime)
        records = self._records
        state = records.conversations.get(user, project, self._conversation)
        if state is None or state["to_forget"][:1] != [str(state["count"])]:
            return None
        ids, chinese = state["to_forget"][1:], is_cjk(words)
        texts = _shown(records.preview_delete(user, ids)) if is_yes(words) else []
        if texts:
            records.delete(user, ids)
        with records.conversations.editing(user):
            if now := records.conversations.get(user, project, self._conversation):
                records.conversations.put(user, {**now, "to_forget": []})
        return forgetting.erased(texts, chinese=chinese) if texts else forgetting.left_alone(chinese=chinese)

    def _ask(self, ids: Sequence[str]) -> None:
        """Keep what waits for a yes, by its ids."""
        (user, project), now, context = owner_of(self._runtime), self._deps.clock(), context_of(self._runtime)
        states = self._records.conversations
        with states.editing(user):
            state = states.get(user, project, self._conversation)
            if state is None:
                over = stamp(now + timedelta(days=retention_days(context)))
                state = new_state(project, self._conversation)
                state["at"], state["expires_at"] = stamp(now), over
            states.put(user, {**state, "to_forget": [str(state["count"]), *ids]})

    def _drop(self, request: Telling, *, chinese: bool) -> str:
        """Keep nothing of this message; where it says nothing else, forget what was said just before."""
        if request.rest:
            return forgetting.not_kept(chinese=chinese, is_erased=False)
        standing = self._deps.standing(self._conversation, self._runtime)
        turns = earlier(self._state["messages"], turns_in(standing))
        last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
        places = [(self._conversation, turn.id) for turn in turns[last:]]
        if not places:
            return forgetting.not_kept(chinese=chinese, is_erased=False)
        user, project = owner_of(self._runtime)
        records = self._records
        ids = [record["id"] for record in _all(records, user, project) if _is_said_in(record, places)]
        records.conversations.redact_turns(user, {place: [] for place in places})
        records.delete(user, ids)
        return forgetting.not_kept(chinese=chinese, is_erased=True)

    @property
    def _records(self) -> RecordStore:
        return self._deps.stores.of(self._runtime.store, context_of(self._runtime))


# --- what is shown ---------------------------------------------------------------------------------------------------


def _count(reached: Deletion) -> int:
    """How many memories go, the turns that they were said in aside, and what an assistant said again."""
    records = [*reached.deleted, *(cut.record for cut in reached.redacted)]
    facts = [record for record in records if not is_turn(record)]
    places = {place for record in facts for place in _places(record)}
    turns = (record for record in records if is_turn(record) and not is_of_assistant(record))
    return len(facts) + sum(places.isdisjoint(_places(turn)) for turn in turns)


def _shown(reached: Deletion) -> list[str]:
    """The words that go, each once."""
    texts = [unattributed(record["text"])[2] for record in reached.deleted]
    for cut in reached.redacted:
        texts.append(" … ".join(_words(cut)) if cut.remaining else unattributed(cut.record["text"])[2])
    kept: list[str] = []
    for text in sorted(filter(None, (text.strip(" \t\n,;，；") for text in texts)), key=len, reverse=True):
        if not any(text in longer for longer in kept):
            kept.append(text)
    return kept


def _words(cut: Redaction) -> Iterator[str]:
    return (word.strip(" \t\n,;，；") for word in cut.removed if not word.startswith(" ["))


def _places(record: Record) -> set[TurnRef]:
    return {(source["conversation"], turn) for source in record["sources"] for turn in source["turns"]}


def _is_said_in(record: Record, places: Sequence[TurnRef]) -> bool:
    said_in = _places(record)
    return bool(said_in) and said_in.issubset(places)


def _all(records: RecordStore, user: str, project: str) -> Iterator[Record]:
    """All memories of a user in a project, those too that are replaced by now."""
    cursor: str | None = None
    while True:
        page = records.list(user, project=project, limit=MAX_LIMIT, cursor=cursor, replaced=True)
        yield from page.records
        cursor = page.cursor
        if cursor is None:
            return


# --- what is not kept ------------------------------------------------------------------------------------------------


def _unkept(messages: Sequence[AnyMessage], last: HumanMessage) -> Iterator[AnyMessage]:
    """Earlier requests to forget with their answers, marked: whoever hands a conversation over again knows no marks."""
    is_answered = is_asked = False
    for message in messages:
        if message is last:
            return
        if isinstance(message, AIMessage):
            if is_answered and not message.additional_kwargs.get(RECALLED):
                yield _marked(message)
            is_asked = is_answered and message.text.rstrip().endswith(("?", "？"))
        elif isinstance(message, HumanMessage):
            words = text_of(message)
            is_reply = is_asked and (is_yes(words) or is_no(words))
            is_answered = is_reply or told_to_forget(words) is not None
            if is_answered and not message.additional_kwargs.get(RECALLED):
                yield _marked(message)


def _marked(message: AnyMessage) -> AnyMessage:
    """A message that is shown to no model, and never kept."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, RECALLED: True}})
