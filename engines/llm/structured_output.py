"""Asks chat models the questions of a stage: at the same time, within the budget, once more where an answer failed."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, Generic

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel, ValidationError

from agentic_memory_bank.engines.base import Picture
from agentic_memory_bank.engines.llm import parsing
from agentic_memory_bank.engines.llm.answers import Call, call_of
from agentic_memory_bank.engines.llm.faults import ModelFault, broken_off, fault_of, sightless
from agentic_memory_bank.engines.llm.listening import heard, now_and_then, refuses_streams, sends_no_stream
from agentic_memory_bank.engines.llm.meter import Meter
from agentic_memory_bank.engines.llm.models import ChatModels, RoleModel, example_of, named_model
from agentic_memory_bank.engines.llm.parsing import Answer
from agentic_memory_bank.engines.llm.retry import RetryBudget
from agentic_memory_bank.engines.streamed_answer import STREAMED, listened
from agentic_memory_bank.state.errors import AnswerRejected, EngineError, ModelRefused, ModelUnavailable
from agentic_memory_bank.state.model_table import Role, RoleSettings
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.tokens import estimate_tokens

MESSAGE_TOKENS: Final = 8
"""What a message costs besides its words."""
IMAGE_TOKENS: Final = 1_500
"""What a picture costs, about: providers count between 85 and some thousand."""
_LEAST_SECONDS: Final = 0.05
_UNSEEN: Final[RunnableConfig] = {"tags": [TAG_NOSTREAM]}
"""Of what is judged nothing is shown where messages are streamed."""
_SHOWN: Final = 4_000
"""How many characters of an unusable answer are shown to the model again."""
_ONE_OBJECT: Final = (
    "Answer with one JSON object and nothing else, of this form; each text says what belongs in its place:"
)


@dataclass(frozen=True, slots=True)
class StructuredRequest(Generic[Answer]):
    """One question to one role."""

    role: Role
    instructions: str
    """Ours, and nothing that came from outside."""
    prompt: str
    """What is judged, fenced."""
    answer: type[Answer]
    check: Callable[[Answer], None] | None = None
    """Raises `AnswerRejected` for an answer of the right shape that cannot be true."""
    images: tuple[Picture, ...] = ()
    """What is looked at besides the prompt."""
    from_prose: Callable[[str], Answer | None] | None = None
    """Makes an answer of plain words, where a model can do no other."""
    seconds: float = float("inf")
    """How long somebody waits for an answer, all tries together."""


@dataclass
class Asker:
    """Asks the questions of one stage of one run."""

    models: ChatModels
    meter: Meter
    settings: Settings
    sleep: Callable[[float], None] = time.sleep
    failures: list[EngineError] = field(default_factory=list)
    """Why some questions have no answer."""
    refusal: ModelRefused | None = None
    """Why nothing is asked any more."""

    def ask(self, questions: Sequence[StructuredRequest[Answer]]) -> list[Answer | None]:
        """Ask questions of one kind at the same time, and answer in their order; None for one that failed twice.

        Raises:
            ModelRefused: A key, a name or a quota has to be mended first.
            BudgetReachedError: The run has spent what it may; what was answered is kept.
            EngineError: None of the questions could be answered.
        """
        if not questions:
            return []
        batch = RunnableLambda(self._counted(len(questions))).batch(
            list(questions), {"max_concurrency": self._at_once(questions)}, return_exceptions=True
        )
        answers, errors = [], []
        for found in batch:
            if isinstance(found, (ModelUnavailable, AnswerRejected)):
                errors.append(found)
                answers.append(None)
            elif isinstance(found, BaseException):
                raise found
            else:
                answers.append(found)
        if len(errors) == len(questions):
            raise errors[0]
        self.failures += errors
        return answers

    def _at_once(self, questions: Sequence[StructuredRequest[Any]]) -> int:
        """How many are asked at the same time: what waits at the server runs out of time."""
        return min(self.models.roles[question.role].row.concurrency for question in questions)

    def _counted(self, whole: int) -> Callable[[StructuredRequest[Any]], Any]:
        """What answers a question and says how many of all are answered; of a single one nothing is said."""
        done, lock = 0, threading.Lock()

        def answered(question: StructuredRequest[Any]) -> Any:
            nonlocal done
            try:
                return self._answered(question)
            finally:
                with lock:
                    done += 1
                    self.meter.tell_answered(done, whole - done)

        return answered if whole > 1 else self._answered

    def _answered(self, question: StructuredRequest[Answer]) -> Answer:
        model = self.models.roles[question.role]
        key = _key(question, model)
        kept = self.meter.store.find(key)
        if kept is not None:
            with suppress(ValidationError, AnswerRejected):  # of an older form of this question
                return _checked(question.answer.model_validate_json(kept), question)
        return _Exchange(self, question, model, key).answer()


@dataclass(frozen=True, slots=True)
class _Rejected:
    """An answer that cannot be used."""

    why: str
    said: str = ""
    """What the model wrote, to be shown to it again; empty when it wrote nothing."""
    is_whole: bool = True
    """Whether the model came to an end, so that the form of its answer is one it chose."""
    has_shape: bool = True
    """Whether it has the form that was asked for, and cannot be used for what it says."""

    @property
    def is_prose(self) -> bool:
        """Whether it came to its end in words, without an object."""
        return self.is_whole and bool(self.said.strip()) and "{" not in self.said


class _Exchange:
    """The requests for one question: the first, and those after it that are still allowed."""

    def __init__(self, asker: Asker, question: StructuredRequest[Any], model: RoleModel, key: str) -> None:
        self._asker, self._question, self._model, self._key = asker, question, model, key
        self._objections: list[BaseMessage] = []
        self._until = time.monotonic() + question.seconds
        self._retries = RetryBudget(model, asker.settings, asker.sleep, self._until)

    def answer(self) -> Any:
        """Ask until there is an answer.

        Raises:
            EngineError: There is none to be had.
        """
        while True:
            if self._asker.refusal:
                raise self._asker.refusal
            mode = self._model.modes.mode
            outcome = self._request(mode)
            if isinstance(outcome, ModelFault):
                self._consider(outcome, mode)
            elif isinstance(outcome, _Rejected):
                self._object(outcome, mode)
            else:
                return outcome

    def _request(self, mode: str) -> BaseModel | ModelFault | _Rejected:
        messages = self._messages(mode)
        prompt = sum(estimate_tokens(m.text) + MESSAGE_TOKENS for m in messages)
        prompt += IMAGE_TOKENS * len(self._question.images)
        meter, model = self._asker.meter, self._model
        with meter.calling(model.name, prompt, model.row.output):
            message = self._sent(messages, mode)
            if isinstance(message, ModelFault):
                meter.note(Call(meter.run, model.row.role, model.name, "", 0, 0))
                return message
            call = self._call(message, mode, prompt)
            answer = self._read(message)
            if isinstance(answer, _Rejected) and (mode == "prompt" or self._objections):
                answer = self._in_words(answer) or answer
            if isinstance(answer, _Rejected):
                meter.note(call)
                return answer
            meter.note(call, self._key, answer.model_dump_json())
            if not self._objections:  # told in words, a model may follow where the form of request was ignored
                model.modes.kept_to()
            return answer

    def _messages(self, mode: str) -> list[BaseMessage]:
        instructions = self._question.instructions
        if self._objections or mode in ("json_mode", "prompt"):
            instructions += f"\n\n{_ONE_OBJECT}\n{json.dumps(example_of(self._question.answer), ensure_ascii=False)}"
        return [SystemMessage(instructions), _asked(self._question), *self._objections]

    def _sent(self, messages: list[BaseMessage], mode: str) -> AIMessage | ModelFault:
        """What came back. What a client raises is looked at and dropped: it may hold keys."""
        model, is_hurried = self._model, isfinite(self._until)
        can_listen = model.modes.streams and model.can_stream
        listens = can_listen and (model.is_slow or (is_hurried and not model.is_openai))
        seconds = min(model.row.timeout, self._retries.seconds_left)
        tell = now_and_then(self._asker.meter.asking(model.row.role, self._retries.attempt, seconds))
        try:
            asked = model.bound(mode, self._question.answer, STREAMED if listens and model.is_slow else {})
            if is_hurried:
                asked = model.within(asked, max(_LEAST_SECONDS, self._retries.seconds_left))
            if not listens:
                return asked.invoke(messages, _UNSEEN)
            if not model.is_slow:
                return heard(asked, messages, _UNSEEN, tell, self._until)
            with listened(tell):
                return asked.invoke(messages, _UNSEEN)
        except Exception as error:
            if broken := broken_off(error):
                return broken
            fault = sightless(error, mode) if self._question.images else fault_of(error, mode)
            if listens and sends_no_stream(error):
                model.modes.streams = False
            if not (listens and refuses_streams(error, fault)):
                return fault
        model.modes.streams = False
        self._asker.meter.note(Call(self._asker.meter.run, model.row.role, model.name, "", 0, 0))
        return self._sent(messages, mode)

    def _read(self, message: AIMessage) -> BaseModel | _Rejected:
        try:
            parsing.complete(message, needs_finish=self._model.is_openai)
        except AnswerRejected as error:
            return _Rejected(str(error), said(message), is_whole=False)
        try:
            found = parsing.read(message, self._question.answer)
        except AnswerRejected as error:
            return _Rejected(str(error), said(message), has_shape=False)
        try:
            return _checked(found, self._question)
        except AnswerRejected as error:
            return _Rejected(str(error), said(message))

    def _in_words(self, rejected: _Rejected) -> BaseModel | None:
        """The answer of a model that wrote it in plain words."""
        if self._question.from_prose is None or rejected.has_shape or not rejected.is_prose:
            return None
        found = self._question.from_prose(rejected.said)
        try:
            return found and _checked(found, self._question)
        except AnswerRejected:
            return None

    def _call(self, message: AIMessage, mode: str, prompt: int) -> Call:
        """What was spent; estimated where the server does not say."""
        role, name = self._model.row.role, self._model.name
        return call_of(self._asker.meter.run, role, name, mode, message, (prompt, estimate_tokens(said(message))))

    def _object(self, rejected: _Rejected, mode: str) -> None:
        """Show the model what is wrong, if it may be asked again."""
        is_shapeless = rejected.said and rejected.is_whole and not rejected.has_shape
        if rejected.is_prose or (is_shapeless and mode == "json_schema"):
            self._model.modes.ignored(mode)  # who keeps to a schema answers in its shape
        is_loop = rejected.said and parsing.loops(rejected.said)
        is_short = rejected.why == parsing.CUT_OFF and not is_loop  # of a loop more would be more of the same
        advice = f" Raise MEMORY_BANK_{self._model.row.role.upper()}_OUTPUT." if is_short else ""
        advice = " It says the same again and again." if is_loop else advice
        self._retries.fail(
            AnswerRejected(f"The answer of {self._retries.named} cannot be used. {rejected.why}{advice}")
        )
        self._objections = []
        if rejected.said and not is_loop:
            objection = f"This answer cannot be used. {rejected.why} Give it once more, whole."
            self._objections = [AIMessage(rejected.said[:_SHOWN]), HumanMessage(objection)]

    def _consider(self, fault: ModelFault, mode: str) -> None:
        """Wait, if the request may be sent again; what would refuse every question, refuses them all."""
        if fault.refuses and self._model.modes.step_down(mode):
            return
        try:
            self._retries.consider(fault)
        except ModelRefused as refusal:
            self._asker.refusal = refusal
            raise


class _Word(BaseModel):
    """One word."""

    word: str


def forms_kept(row: RoleSettings) -> list[str]:
    """Which forms of structured output the server of a model keeps to, by a tiny request in each.

    Raises:
        SettingsError: The model cannot be asked.
    """
    model = named_model(row)
    kept: list[str] = []
    for mode in model.modes.left:
        with suppress(Exception):  # a form that is refused is one that is not kept to
            hint = f" {_ONE_OBJECT} {json.dumps(example_of(_Word))}" if mode in ("json_mode", "prompt") else ""
            said = model.bound(mode, _Word).invoke(
                [SystemMessage(f"You say one word.{hint}"), HumanMessage("Say: yes")]
            )
            parsing.read(said, _Word)
            kept.append(mode)
    return kept


def _asked(question: StructuredRequest[Any]) -> HumanMessage:
    """The prompt, with the pictures in LangChain's standard form, which every client turns into its provider's."""
    if not question.images:
        return HumanMessage(question.prompt)
    images = [
        {"type": "image", "base64": base64.b64encode(i.data).decode(), "mime_type": i.type} for i in question.images
    ]
    return HumanMessage([{"type": "text", "text": question.prompt}, *images])


def said(message: AIMessage) -> str:
    """What a model wrote, as text: the arguments of a tool call, or its words."""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    if message.invalid_tool_calls:
        return message.invalid_tool_calls[0]["args"] or ""
    return message.text


def _checked(answer: Answer, question: StructuredRequest[Answer]) -> Answer:
    """An answer that is storable text throughout and passes the question's own check."""
    cleaned = question.answer.model_validate_json(clean(answer.model_dump_json()))
    if question.check:
        question.check(cleaned)
    return cleaned


def _key(question: StructuredRequest[Any], model: RoleModel) -> str:
    """Names an answer by all it depends on."""
    parts = [model.name, model.parameters, question.instructions, question.prompt, question.answer.__qualname__]
    parts += [hashlib.sha256(image.data).hexdigest() for image in question.images]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()
