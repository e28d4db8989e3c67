"""Answers a message of a conversation with a chat model: a plain call, counted, sent once more where it failed."""

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.errors import GraphBubbleUp

from agentic_memory_bank.engines.extractive.support import tells, unsupported
from agentic_memory_bank.engines.llm import parsing
from agentic_memory_bank.engines.llm.answers import Call, call_of
from agentic_memory_bank.engines.llm.bank_checks import NAMED
from agentic_memory_bank.engines.llm.base import ChatEngine
from agentic_memory_bank.engines.llm.faults import ModelFault, fault_of
from agentic_memory_bank.engines.llm.models import RoleModel
from agentic_memory_bank.engines.llm.retry import RetryBudget
from agentic_memory_bank.engines.llm.structured_output import MESSAGE_TOKENS
from agentic_memory_bank.engines.responder import DEGRADED, FOUND, QUOTED, Responder, ResponderInput
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.state.errors import AnswerRejected, ModelUnavailable
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.concurrency.waiting import check_waited_for
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.tokens import estimate_tokens

REACT: Final[Role] = "react"
_CALLS: Final = ("tool_calls", "function_call")


class ChatResponder(ChatEngine[Responder]):
    """Answers with the chat model of the role `react`; without one, the offline responder does.

    The same question may be asked twice and answered differently: no answer is kept. Its words can be watched while
    they come (`stream_mode="messages"`).

    Args:
        asker: Knows the models, counts, and stops at a budget.
        offline: Answers where the role has no model.
    """

    def respond(self, situation: ResponderInput) -> AIMessage:
        """Answer in one call, or in a second where the first one failed; after that, as the offline one does.

        Where no model could be asked that holds for what it quotes alone: somebody has to know of it.

        Raises:
            ModelRefused: A key, a name or a quota has to be mended first.
            ModelUnavailable: The model did not answer, the second time too, and nothing that was said does.
            BudgetReachedError: The run has spent what it may.
        """
        model = self._asker.models.roles.get(REACT)
        if model is None:
            return self._offline.respond(situation)
        try:
            return self._with_quotes(self._answered(model, situation.messages), situation)
        except (ModelUnavailable, AnswerRejected) as error:
            instead = self._offline.respond(situation)
            if isinstance(error, ModelUnavailable) and not instead.response_metadata.get(FOUND):
                raise
            metadata = {**instead.response_metadata, DEGRADED: f"respond: {type(error).__name__}"}
            return instead.model_copy(update={"response_metadata": metadata})

    def _with_quotes(self, said: AIMessage, situation: ResponderInput) -> AIMessage:
        """A model's answer; where it gives nothing of what was said before and answers the question, that below it."""
        instead = self._offline.respond(situation)
        quoted: list[str] = instead.response_metadata.get(QUOTED, [])
        if not quoted or any(tells(said.text, words, situation.message) for words in quoted):
            return said
        known = [str(message.content) for message in situation.messages]
        own = unsupported(said.text, [*known, *quoted, situation.message])
        beside = f"; it says {listed(own[:NAMED])}, which nobody has said" if own else ""
        told = f"respond: The answer says nothing of what was said before, which is quoted below it{beside}."
        below = f"\n\n{instead.text}"
        content: Any = (
            f"{said.content}{below}"
            if isinstance(said.content, str)
            else [*said.content, {"type": "text", "text": below}]
        )
        return said.model_copy(
            update={"content": content, "response_metadata": {**said.response_metadata, DEGRADED: told}}
        )

    def _answered(self, model: RoleModel, messages: Sequence[BaseMessage]) -> AIMessage:
        retries = RetryBudget(model, self._asker.settings, self._asker.sleep)
        while True:
            self._asker.meter.tell(REACT, retries.attempt, model.row.timeout)
            outcome = self._asked(model, messages)
            if isinstance(outcome, AIMessage):
                return outcome
            if isinstance(outcome, ModelFault):
                retries.consider(outcome)
            else:
                retries.fail(AnswerRejected(f"The answer of {retries.named} cannot be used. {outcome}"))

    def _asked(self, model: RoleModel, messages: Sequence[BaseMessage]) -> AIMessage | ModelFault | AnswerRejected:
        """What came back. What a client raises is looked at and dropped: it may hold keys."""
        meter = self._asker.meter
        prompt = sum(estimate_tokens(str(message.content)) + MESSAGE_TOKENS for message in messages)
        with meter.calling(model.name, prompt, model.row.output):
            try:
                watched = merge_configs(ensure_config(), {"callbacks": [_HangsUp()]})
                message = model.client.invoke(list(messages), watched)
            except GraphBubbleUp:
                raise
            except Exception as error:
                meter.note(Call(meter.run, REACT, model.name, "", 0, 0))
                return fault_of(error, "prompt")
            estimated = prompt, estimate_tokens(message.text)
            meter.note(call_of(meter.run, REACT, model.name, "prompt", message, estimated))
        return _whole(message, model)


class _HangsUp(BaseCallbackHandler):
    """Ends an answer whose words are watched, once nobody does."""

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        """See that somebody waits for the next word."""
        check_waited_for()


def _whole(message: AIMessage, model: RoleModel) -> AIMessage | AnswerRejected:
    """The message, if it says something and came to its end; what was cut off at its limit is an answer, too."""
    try:
        parsing.complete(message, needs_finish=model.is_openai)
    except AnswerRejected as error:
        if str(error) != parsing.CUT_OFF:
            return error
    if not message.text.strip():
        return AnswerRejected("The model answered with nothing.")
    if parsing.loops(message.text):
        return AnswerRejected("It says the same again and again.")
    if message.tool_calls or message.invalid_tool_calls:
        return _without_calls(message)
    is_text = isinstance(message.content, str)
    return message.model_copy(update={"content": clean(message.text)}) if is_text else message


def _without_calls(message: AIMessage) -> AIMessage:
    """The words alone: nobody has offered a tool, and a call without a result makes the next request invalid."""
    others = {key: value for key, value in message.additional_kwargs.items() if key not in _CALLS}
    update = {"content": clean(message.text), "tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": others}
    return message.model_copy(update=update)
