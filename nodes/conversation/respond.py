"""Stage 2: the answer, of a chat model, or quoted from what was said."""

from collections.abc import Sequence
from dataclasses import asdict

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.responder import QUOTES_ONLY, ResponderInput
from agentic_memory_bank.nodes.conversation.deps import ConversationDeps, shown_tokens
from agentic_memory_bank.nodes.conversation.fitting import ConversationHistory, Digest, fitted, plain
from agentic_memory_bank.nodes.conversation.history import asked, earlier, new_messages, turns_in
from agentic_memory_bank.nodes.deps import context_of
from agentic_memory_bank.nodes.messages import RECALLED, REPEATS, text_of
from agentic_memory_bank.state.conversations import ConversationState, ConversationUpdate, MemoryContext
from agentic_memory_bank.state.errors import BudgetReachedError, EngineError
from agentic_memory_bank.state.memory_bank import Usage
from agentic_memory_bank.tools.text.terms import tokenize

DIGESTED: int = 40
"""Of how many turns at most it is told at once where a conversation stands of which nothing is kept yet."""


def respond(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> ConversationUpdate:
    """Answer. What was recalled is in no checkpoint, and so is recalled anew where a run goes on after a crash.

    Where no model answers, what the user said is remembered all the same, and nothing else of the turn.

    Raises:
        ModelRefused: A key, a name or a quota has to be mended first.
        ModelUnavailable: The model did not answer, the second time too.
        AnswerRejected: It said nothing.
        BudgetReachedError: The run has spent what it may.
        SettingsError: The model cannot be asked.
    """
    state = _at_hand(state, runtime, deps)
    metered = deps.responder_for(runtime, state["conversation_id"])
    try:
        answer = metered.engine.respond(_situation(state, runtime, deps))
    except (EngineError, BudgetReachedError):
        _keep_words(state, runtime, deps)
        raise
    if answer.response_metadata.get(QUOTES_ONLY):
        answer = answer.model_copy(update={"additional_kwargs": {**answer.additional_kwargs, RECALLED: True}})
    elif _repeats(answer.text, state):
        answer = answer.model_copy(update={"additional_kwargs": {**answer.additional_kwargs, REPEATS: True}})
    nothing: Usage = {"calls": 0, "input_tokens": 0, "output_tokens": 0}
    return {"messages": [answer], "usage": metered.meter.usage() if metered.meter else nothing}


def _repeats(answer: str, state: ConversationState) -> bool:
    """Whether an answer says nothing but what was recalled or asked: kept again, it would be recalled the next time."""
    told = [memory["text"] for memory in state.get("memories", ())]
    known = {term for text in (*told, text_of(asked(state["messages"]))) for term in tokenize(text)}
    return bool(told) and known.issuperset(tokenize(answer))


def _at_hand(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> ConversationState:
    """The state with what was recalled."""
    if "block" in state or state.get("mode") == "off":
        return state
    standing, found = deps.at_hand(state, state["conversation_id"], runtime)
    return {**state, "standing": standing, "block": found.get("block", ""), "memories": found.get("memories", [])}


def _situation(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> ResponderInput:
    context, messages = context_of(runtime), state["messages"]
    if state.get("mode") == "off":
        return ResponderInput(plain(messages), text_of(asked(messages)), (), earlier(messages, ()))
    standing = state["standing"]
    before = turns_in(standing)

    def digest(unshown: Sequence[Turn]) -> Digest:
        if any(standing["digest"].values()) or not unshown:
            return standing["digest"]
        return asdict(deps.summariser.summarise(unshown[-DIGESTED:]))

    talked = ConversationHistory(messages, before, standing["count"], digest, state.get("block", ""))
    memories = state.get("memories", ())
    return ResponderInput(
        fitted(talked, shown_tokens(context)), text_of(asked(messages)), memories, earlier(messages, before)
    )


def _keep_words(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> None:
    """Have what the user said remembered, where memory is not switched off."""
    if state.get("mode") == "on" and (new := new_messages(state["messages"], turns_in(state["standing"]))):
        deps.hand_over(new, state["conversation_id"], runtime)
