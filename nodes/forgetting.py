"""Hears what a user tells a memory, in a chat or of an agent: what to forget is shown, erased, or asked about.

What is meant is found in memories and in parts of them, with their echoes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.conversation import asks_for_everything
from agentic_memory_bank.engines.extractive.forgetting import (
    Switching,
    Telling,
    Wish,
    have_in_common,
    is_no,
    is_yes,
    meaning_of,
    only_asks,
    places_of,
    sounds_like_a_wish,
    subject_of,
    subjects_of,
    things_named,
    told_to_switch,
    wish_in,
    words_at,
)
from agentic_memory_bank.engines.own_words import is_order, own_words
from agentic_memory_bank.nodes.deps import BackgroundQueue, Owner
from agentic_memory_bank.nodes.forgettable import (
    all_records,
    is_said_in,
    is_small,
    meant,
    meant_of_people,
    near,
    parts_said,
    said_with,
    words_gone,
)
from agentic_memory_bank.nodes.messages import text_of, turns_of
from agentic_memory_bank.nodes.remember.views import retention_days, turn_hash
from agentic_memory_bank.nodes.told_messages import kept_of, marked, requests_marked
from agentic_memory_bank.prompts import forgetting, switched
from agentic_memory_bank.state.conversations import MemoryContext, StoredConversation
from agentic_memory_bank.state.errors import EmbeddingError, InputError, StorageError
from agentic_memory_bank.state.react_mem import Invocation
from agentic_memory_bank.state.records import MemorySource, Record
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.weights import MODEL
from agentic_memory_bank.tools.embeddings.windows import Vectors
from agentic_memory_bank.tools.memories.conversation_states import new_state
from agentic_memory_bank.tools.memories.deletion import TurnRef
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import stamp, user_hash
from agentic_memory_bank.tools.text.cleaning import is_cjk

PATIENCE: Final = 20.0
"""Seconds to wait for what was handed over before: erased while it is being remembered, it would come back."""

_HEADS: Final = 3
"""What stands before the ids of what waits for a yes: where the conversation stood, and the turn's own part."""


class ForgettingTurn(NamedTuple):
    """What a message that may tell to forget leaves in its conversation."""

    messages: list[AnyMessage]
    """Those that change: marked as nothing to keep, cut, or the answer."""
    is_answered: bool
    """Whether nothing is left to be answered."""
    news: HumanMessage | None = None
    """What such a message tells besides, to be kept; None for nothing."""


class _Question(NamedTuple):
    """What waits for a yes."""

    ids: Sequence[str]
    turn: str
    """The turn, where it told of other things beside the wish, or may be none."""
    pieces: Sequence[int]
    """The numbers of its pieces that go, too."""


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
        encoder: Makes the vector by which a wish in somebody's own idiom is heard.
        said_before: The turns before the message, of which the last of the user is meant by "forget that".
    """

    records: Callable[[], RecordStore]
    owner: Owner
    conversation: str
    context: MemoryContext
    now: datetime
    queue: BackgroundQueue
    encoder: Encoder
    said_before: Callable[[], Sequence[Turn]]

    def hear(self, messages: Sequence[AnyMessage], message: HumanMessage) -> ForgettingTurn:
        """Do what a message tells; any other message is left as it is.

        Args:
            messages: The conversation, as far as it was handed over.
            message: The one that is answered.
        """
        unkept = list(requests_marked(messages, message))
        words = text_of(message)
        if (switching := self._switching(words)) is not None:
            answer = self._switched(switching, chinese=is_cjk(words))
            return ForgettingTurn([*unkept, marked(message), marked(AIMessage(answer))], True)
        wish = None if asks_for_everything(words) else wish_in(words) or self._guessed(words)
        if wish is not None and wish.telling.after:  # what comes before is not kept, what comes after is said as ever
            return ForgettingTurn([*unkept, message.model_copy(update={"content": wish.telling.after})], False)
        answer = self._answer(words, wish, message)
        if answer is None:
            return ForgettingTurn(unkept, False)
        news = kept_of(message, wish, is_open=forgetting.asks_back(answer)) if wish else None
        return ForgettingTurn([*unkept, news or marked(message), marked(AIMessage(answer))], True, news)

    def _switching(self, words: str) -> Switching | None:
        """What a message switches memory to; "turn it back on" only where it is off."""
        told = told_to_switch(words)
        if told is None or not told.is_back:
            return told
        user, project = self.owner
        try:
            return told if self.records().switches.mode(user, project, self.conversation) != "on" else None
        except StorageError:
            return None

    def _switched(self, switching: Switching, *, chinese: bool) -> str:
        """Switch memory off or on, and say what holds now."""
        user, project = self.owner
        here = (project, self.conversation)
        try:
            switches = self.records().switches
            if not switching.is_here:
                switches.set(user, switching.mode)
            if switching.is_here or switching.mode == "on":  # what was said of this conversation would stay stricter
                switches.set(user, switching.mode, *here)
            holds = switches.mode(user, *here)
        except StorageError:
            return switched.failed(chinese=chinese)
        return switched.answer(holds, is_here=switching.is_here, chinese=chinese)

    def _guessed(self, words: str) -> Wish | None:
        """A wish that no pattern hears, in somebody's own idiom."""
        if is_yes(words) or is_no(words) or is_order(words) or own_words(words) != words:
            return None

        def heard(text: str) -> Telling | None:
            is_heard = sounds_like_a_wish(text, self._vector)
            return Telling("about", text, is_sure=False, is_guessed=True, is_plain=False) if is_heard else None

        return wish_in(words, heard)

    def _vector(self, text: str) -> Vectors | None:
        """The vector of a text, where the model is the one that wishes are heard by; `recall` finds it made."""
        found = self.encoder.try_vectors([text]) if self.encoder.model.endswith(MODEL) else None
        return found[0] if found is not None else None

    def _answer(self, words: str, wish: Wish | None, message: HumanMessage) -> str | None:
        """The answer to a request to forget, or to a question about one; None for any other message."""
        if wish is None and not (is_yes(words) or is_no(words)):
            return None
        chinese = is_cjk(words)
        try:
            if wish is None and self._waiting() is None:
                return None
            before = self.said_before() if wish is not None and wish.telling.kind in ("this", "past") else ()
            return self._in_turn(lambda: self._done(words, wish, message, before, chinese=chinese))
        except (StorageError, EmbeddingError, InputError, TimeoutError):
            return forgetting.failed(chinese=chinese)

    def _done(
        self, words: str, wish: Wish | None, message: HumanMessage, before: Sequence[Turn], *, chinese: bool
    ) -> str | None:
        if wish is None:
            return self._confirmed(words, chinese=chinese)
        match wish.telling.kind:
            case "all":
                return forgetting.say_what(chinese=chinese)
            case "this":
                return self._drop(() if wish.telling.rest else self._said_last(before), chinese=chinese)
            case "past":
                return self._end(before, chinese=chinese)
            case "about":
                return self._forget(wish, message, chinese=chinese)

    def _in_turn(self, job: Callable[[], str | None]) -> str | None:
        """Do a job behind what waits of this user.

        Raises:
            TimeoutError: Too much waits; the job is not done later either.
        """
        done: Future[str | None] = Future()

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

    def _forget(self, wish: Wish, message: HumanMessage, *, chinese: bool) -> str | None:
        """Forget what speaks of something, where it is little and plainly meant; else ask.

        Where somebody may only have told to, and nothing near is known, it was no request.
        """
        user, project = self.owner
        subjects, told = subjects_of(wish.words), wish.telling
        if not subjects:
            return None
        records = self.records()
        everything = list(all_records(records, user, project))
        about = subject_of(told.whose or told.about)
        ids = [] if told.is_guessed else meant(everything, subjects)
        wide = meant(everything, subjects, is_wide=True) if ids else []
        is_exact, ids = wide == ids, wide
        also = self._also(everything, wish, text_of(message), ids)
        reached = records.preview_delete(user, [*ids, *also] or self._near(everything, wish, text_of(message)))
        if not reached.ids and not told.is_sure:
            return None
        if not reached.ids:
            return forgetting.nothing_found(about, chinese=chinese)
        if ids and is_exact and not also and told.is_sure and is_small(reached.records):
            records.delete(user, reached.ids)
            return forgetting.erased(words_gone(reached), chinese=chinese)
        kept = kept_of(message, wish, is_open=True)
        turn, said = (turns_of([kept])[0].id, text_of(kept)) if kept else ("", "")
        self._ask(_Question(reached.ids, turn, places_of(said, subjects, wish.news)))
        return forgetting.would_erase(words_gone(reached), chinese=chinese, is_near=not (ids or also))

    def _also(self, everything: Sequence[Record], wish: Wish, said: str, ids: Sequence[str]) -> list[str]:
        """What a wish means besides: another thing that it names, or all that is told of somebody."""
        named = things_named(wish.words) if ids else []
        unsaid = [thing for thing in named if not meant(everything, subjects_of(thing))]
        found = [id for one in unsaid for id in near(self.records(), self.owner, one, Telling("about", is_sure=False))]
        found = said_with(everything, ids, found)  # two things that one wish names were told together
        known = {id.partition(":")[0] for id in ids}
        of_people = meant_of_people(everything, wish.words if wish.news else said)
        return [*found, *(id for id in of_people if id.partition(":")[0] not in known)]

    def _near(self, everything: Sequence[Record], wish: Wish, said: str) -> list[str]:
        """What comes near to a wish whose words no memory holds; by the whole message where its subject is nothing."""
        told = wish.telling
        about = wish.words if told.is_guessed else subject_of(told.whose or told.about)
        fits = None if told.is_guessed else partial(self.encoder.answers, about)
        meaning = " ".join(filter(None, (about, meaning_of(wish.words))))
        words = "" if told.is_sure else wish.words
        found = near(self.records(), self.owner, meaning, told, words, fits)
        if found and any(have_in_common(meaning, one["text"]) for one in everything):
            return found
        told = told._replace(is_guessed=True, is_sure=False)
        return near(self.records(), self.owner, said, told, words, fits) or found

    def _confirmed(self, words: str, *, chinese: bool) -> str | None:
        """Erase what waits for a yes; None where nothing does."""
        user, project = self.owner
        if (question := self._waiting()) is None:
            return None
        records = self.records()
        texts = self._erased(records, question) if is_yes(words) else []
        with records.conversations.editing(user):
            if now := records.conversations.get(user, project, self.conversation):
                records.conversations.put(user, {**now, "to_forget": []})
        return forgetting.erased(texts, chinese=chinese) if texts else forgetting.left_alone(chinese=chinese)

    def _erased(self, records: RecordStore, question: _Question) -> list[str]:
        """Erase what waited for a yes, and what the turn that wished it told of the same; the words that are gone."""
        user, project = self.owner
        place, ids = (self.conversation, question.turn), list(question.ids)
        state = records.conversations.get(user, project, self.conversation)
        said = [one["text"] for one in (state["recent"] if state else []) if one["id"] == question.turn]
        words = words_at(said[0], question.pieces) if said else []
        if words:
            ids += parts_said(list(all_records(records, user, project)), place, words)
        reached = records.preview_delete(user, ids)
        texts = words_gone(reached)
        if texts:
            records.delete(user, reached.ids)
        if texts and question.pieces:  # where no memory was made of the turn yet
            records.conversations.redact_turns(user, {place: words})
            records.agents.delete_turns(user, [{"conversation": place[0], "turns": [place[1]], "quotes": []}])
        return texts

    def _waiting(self) -> _Question | None:
        """What waits for a yes; it does for one turn."""
        user, project = self.owner
        state = self.records().conversations.get(user, project, self.conversation)
        if state is None or len(state["to_forget"]) <= _HEADS:
            return None
        said, done, own, *ids = state["to_forget"]
        turn, _, pieces = own.partition(" ")
        is_next = self._is_next(state, said, done, turn)
        return _Question(ids, turn, [int(one) for one in pieces.split()]) if is_next else None

    def _ask(self, question: _Question) -> None:
        """Keep what waits for a yes: by ids, and numbers, without a word of it."""
        user, project = self.owner
        states = self.records().conversations
        with states.editing(user):
            state = states.get(user, project, self.conversation)
            if state is None:
                over = stamp(self.now + timedelta(days=retention_days(self.context)))
                state = new_state(project, self.conversation)
                state["at"], state["expires_at"] = stamp(self.now), over
            own = " ".join((question.turn, *map(str, question.pieces)))
            said, done = _last_of(state), "".join(one["id"] for one in self._done_last())
            states.put(user, {**state, "to_forget": [said, done, own, *question.ids]})

    def _is_next(self, state: StoredConversation, said: str, done: str, turn: str) -> bool:
        """Whether nothing was said or done in the conversation since, but for what the turn itself told besides.

        That is written in its own time: before the yes, behind it, or by another process.
        """
        is_said = _last_of(state) in (said, turn_hash(Turn(turn, "user", "")))
        return is_said and all(one["id"] == done or turn in one["turns"] for one in self._done_last())

    def _done_last(self) -> Sequence[Invocation]:
        """The last that an agent was asked in the conversation."""
        return self.records().agents.load(*self.owner, self.conversation).invocations[-1:]

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

    def _end(self, before: Sequence[Turn], *, chinese: bool) -> str:
        """Show what has ceased to be true, and ask: what the user said last, or what they asked for."""
        user, project = self.owner
        records = self.records()
        said = [turn.text for turn in before if turn.role == "user"] or [one["query"] for one in self._done_last()]
        if said and not only_asks(said[-1]):
            places = self._said_last(before)
            ids = [one["id"] for one in all_records(records, user, project) if is_said_in(one, places)]
        else:
            ids = near(records, self.owner, said[-1], Telling("past", is_sure=False)) if said else []
        reached = records.preview_delete(user, ids)
        if not reached.ids:
            return forgetting.say_which(chinese=chinese)
        self._ask(_Question(reached.ids, "", ()))
        return forgetting.would_erase(words_gone(reached), chinese=chinese)

    def _said_last(self, turns: Sequence[Turn]) -> list[TurnRef]:
        """The last turn of the user with its answer: as it was handed over, and as an agent has kept it."""
        last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
        ids = [*(turn.id for turn in turns[last:]), *(id for one in self._done_last() for id in one["turns"])]
        return [(self.conversation, id) for id in dict.fromkeys(ids)]


def _last_of(state: StoredConversation) -> str:
    """The last turn of a conversation, as it is known again."""
    return "".join(state["seen"][-1:])
