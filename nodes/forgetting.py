"""Hears what a user tells a memory to forget, in a chat or of an agent: it is shown, erased, or asked about.

What is meant is found in memories and in parts of them, with their echoes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.forgetting import (
    LOOKED_BACK,
    Subject,
    Telling,
    echoes_in,
    is_no,
    is_yes,
    only_asks,
    parted,
    parts_meant,
    related,
    roots_of,
    subject_of,
    subjects_of,
    telling_most,
    told_to_forget,
)
from agentic_memory_bank.nodes.deps import BackgroundQueue, Owner
from agentic_memory_bank.nodes.messages import RECALLED, TOLD, text_of
from agentic_memory_bank.nodes.remember.views import retention_days
from agentic_memory_bank.prompts import forgetting
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import EmbeddingError, InputError, StorageError
from agentic_memory_bank.state.records import MemorySource, Record
from agentic_memory_bank.tools.memories.conversation_states import new_state
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction, TurnRef
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT, stamp, user_hash
from agentic_memory_bank.tools.text.attribution import attributed, unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.spans import Span

SMALL: Final = 3
"""How many memories are erased without asking back, the turns they were said in aside."""
RARE: Final = 6
"""In how many memories a word may stand that alone tells what comes near."""


def meant(records: Sequence[Record], subjects: Sequence[Subject]) -> list[str]:
    """The ids of the memories, or of the parts of memories, that speak of a subject.

    What an assistant said in the same conversations goes where it says again what goes, and nothing else says. Where
    nothing but questions speaks of it, nothing does: whoever asked "What's Luka allergic to?" told nothing of it.
    """
    before = _said_before(records)
    found = {
        record["id"]: spans
        for record in records
        if (spans := parts_meant(record, subjects, before.get(record["id"], ()))) is not None
    }
    if all(_only_asks(record) for record in records if record["id"] in found):
        return []
    for id, spans in _echoes(records, found):
        found[id] = [*found.get(id, ()), *spans]
    return [_named(record, found[record["id"]]) for record in records if record["id"] in found]


def _said_before(records: Sequence[Record]) -> dict[str, list[str]]:
    """What the user said just before each of their turns, in one conversation."""
    told: defaultdict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record["created_at"]):
        if is_turn(record) and not is_of_assistant(record):
            for conversation in {source["conversation"] for source in record["sources"]}:
                told[conversation].append(record)
    return {
        record["id"]: [_words(one["text"]) for one in turns[max(0, place - LOOKED_BACK) : place]]
        for turns in told.values()
        for place, record in enumerate(turns)
    }


def near(records: Sequence[Record], subjects: Sequence[Subject]) -> list[str]:
    """The ids of what comes near where nothing is meant: it speaks of what is known of a subject, or words like it."""
    fewer: list[Subject] = []
    records = [record for record in records if not _only_asks(record)]
    texts = [record["text"] for record in records]
    for subject in subjects:
        groups = [part for group in subject.groups for part in parted(group, texts)]
        alone = {group: _known(records, Subject((group,))) for group in map(related, groups)}
        known = {group: count for group, count in alone.items() if count}
        both = Subject(tuple(known))
        if known and _known(records, both):
            fewer.append(both)
        elif known and min(known.values()) <= RARE:
            fewer.append(Subject((telling_most(known),)))
    return meant(records, fewer) if fewer else []


def _only_asks(record: Record) -> bool:
    return is_turn(record) and only_asks(_words(record["text"]))


def _known(records: Sequence[Record], subject: Subject) -> int:
    return sum(parts_meant(record, [subject]) is not None for record in records)


def all_records(records: RecordStore, user: str, project: str) -> Iterator[Record]:
    """All memories of a user in a project, those too that are replaced by now."""
    cursor: str | None = None
    while True:
        page = records.list(user, project=project, limit=MAX_LIMIT, cursor=cursor, replaced=True)
        yield from page.records
        cursor = page.cursor
        if cursor is None:
            return


def is_small(records: Sequence[Record]) -> bool:
    """Whether it is little that goes: the turns that memories were said in aside, and what an assistant said again."""
    facts = [record for record in records if not is_turn(record)]
    places = {place for record in facts for place in _places(record)}
    turns = (record for record in records if is_turn(record) and not is_of_assistant(record))
    return len(facts) + sum(places.isdisjoint(_places(turn)) for turn in turns) <= SMALL


def words_gone(reached: Deletion) -> list[str]:
    """The words that go, each once."""
    texts = [unattributed(record["text"])[2] for record in reached.deleted]
    for cut in reached.redacted:
        texts.append(" … ".join(_removed(cut)) if cut.remaining else unattributed(cut.record["text"])[2])
    kept: list[str] = []
    for text in sorted(filter(None, (text.strip(" \t\n,;，；") for text in texts)), key=len, reverse=True):
        if not any(text in longer for longer in kept):
            kept.append(text)
    return kept


def is_said_in(record: Record, places: Sequence[TurnRef]) -> bool:
    """Whether a memory was said in some of these turns, and in no others."""
    said_in = _places(record)
    return bool(said_in) and said_in.issubset(places)


def is_turn(record: Record) -> bool:
    """Whether a memory is a turn, word for word."""
    return record["type"] == "verbatim"


def is_of_assistant(record: Record) -> bool:
    """Whether a memory is a turn of an assistant."""
    return is_turn(record) and unattributed(record["text"])[0] == "assistant"


def _named(record: Record, spans: Sequence[Span]) -> str:
    """The id of a memory, or of a part."""
    if not is_turn(record):
        return record["id"] if (0, len(record["text"])) in spans else Redaction.of(record, spans).id
    speaker, date, _ = unattributed(record["text"])  # who spoke is no part of what conversations keep of a turn
    head = len(attributed(speaker, date, "")) if speaker else 0
    return Redaction.of(
        record, [(max(start, head), end) for start, end in spans]
    ).id  # with a whole turn go all its facts


def _echoes(records: Sequence[Record], found: Mapping[str, Sequence[Span]]) -> Iterator[tuple[str, list[Span]]]:
    """Where assistants said again what goes, in words that stand in nothing that stays."""
    told = [record for record in records if not is_of_assistant(record)]
    cuts = [Redaction.of(record, found[record["id"]]) for record in told if found.get(record["id"])]
    gone = roots_of(" ".join(_words(word) for cut in cuts for word in cut.removed)) if cuts else frozenset[str]()
    stays = [cut.remaining for cut in cuts] + [record["text"] for record in told if record["id"] not in found]
    roots = gone.difference(*(roots_of(_words(text)) for text in stays)) if gone else gone
    places = {source["conversation"] for cut in cuts for source in cut.record["sources"]}
    for record in records if roots else ():
        is_near = any(source["conversation"] in places for source in record["sources"])
        if is_near and is_of_assistant(record) and (spans := echoes_in(record["text"], roots)):
            yield record["id"], spans


def _removed(cut: Redaction) -> Iterator[str]:
    return (word.strip(" \t\n,;，；") for word in cut.removed if not word.startswith(" ["))


def _places(record: Record) -> set[TurnRef]:
    return {(source["conversation"], turn) for source in record["sources"] for turn in source["turns"]}


def _words(text: str) -> str:
    return unattributed(text)[2]


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
        """Forget what speaks of something, where it is little; else ask."""
        user, project = self.owner
        subjects = subjects_of(words)
        if not subjects:
            return None
        records = self.records()
        everything = list(all_records(records, user, project))
        ids = meant(everything, subjects)
        reached = records.preview_delete(user, ids or near(everything, subjects))
        if not reached.ids:
            return forgetting.nothing_found(subject_of(request.whose or request.about), chinese=chinese)
        if ids and is_small(reached.records):
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
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, RECALLED: True, TOLD: True}})
