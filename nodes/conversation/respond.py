"""Stage 2: the answer, of a chat model or quoted from what was said."""

from collections.abc import Sequence
from dataclasses import asdict

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.responding import QUOTES_ONLY, Situation
from agentic_memory_bank.nodes.conversation.fitting import Digest, Talked, fitted, plain
from agentic_memory_bank.nodes.conversation.history import asked, earlier, turns_in, unheard
from agentic_memory_bank.nodes.conversation.kit import TalkKit
from agentic_memory_bank.nodes.memories import context_of
from agentic_memory_bank.nodes.spoken import RECALLED, REPEATS, said
from agentic_memory_bank.state.conversations import MemoryContext, Talk, TalkUpdate
from agentic_memory_bank.state.errors import BudgetReachedError, EngineError
from agentic_memory_bank.state.memory_bank import Usage
from agentic_memory_bank.tools.text.terms import tokenize

DIGESTED: int = 40
"""Of how many turns at most it is told at once where a conversation stands of which nothing is kept yet."""


def respond(state: Talk, runtime: Runtime[MemoryContext], kit: TalkKit) -> TalkUpdate:
    """Answer. What was recalled is in no checkpoint, and so is recalled anew where a run goes on after a crash.

    Where no model answers, what the user said is remembered all the same, and nothing else of the turn.

    Raises:
        ModelRefused: A key, a name or a quota has to be mended first.
        ModelUnavailable: The model did not answer, the second time too.
        AnswerRejected: It said nothing.
        BudgetReachedError: The run has spent what it may.
        SettingsError: The model cannot be asked.
    """
    state = _at_hand(state, runtime, kit)
    judge = kit.judge(runtime, state["conversation_id"])
    try:
        answer = judge.engine.respond(_situation(state, runtime, kit))
    except (EngineError, BudgetReachedError):
        _keep_words(state, runtime, kit)
        raise
    if answer.response_metadata.get(QUOTES_ONLY):
        answer = answer.model_copy(update={"additional_kwargs": {**answer.additional_kwargs, RECALLED: True}})
    elif _repeats(answer.text, state):
        answer = answer.model_copy(update={"additional_kwargs": {**answer.additional_kwargs, REPEATS: True}})
    nothing: Usage = {"calls": 0, "input_tokens": 0, "output_tokens": 0}
    return {"messages": [answer], "usage": judge.meter.usage() if judge.meter else nothing}


def _repeats(answer: str, state: Talk) -> bool:
    """Whether an answer says nothing but what was recalled or asked: kept again, it would be recalled the next time."""
    told = [memory["text"] for memory in state.get("memories", ())]
    known = {term for text in (*told, said(asked(state["messages"]))) for term in tokenize(text)}
    return bool(told) and known.issuperset(tokenize(answer))


def _at_hand(state: Talk, runtime: Runtime[MemoryContext], kit: TalkKit) -> Talk:
    """The state with what was recalled."""
    if "block" in state or not context_of(runtime).enable_memory:
        return state
    standing, found = kit.at_hand(state, state["conversation_id"], runtime)
    return {**state, "standing": standing, "block": found.get("block", ""), "memories": found.get("memories", [])}


def _situation(state: Talk, runtime: Runtime[MemoryContext], kit: TalkKit) -> Situation:
    context, messages = context_of(runtime), state["messages"]
    if not context.enable_memory:
        return Situation(plain(messages), said(asked(messages)), (), earlier(messages, ()))
    standing = state["standing"]
    before = turns_in(standing)

    def digest(unshown: Sequence[Turn]) -> Digest:
        if any(standing["digest"].values()) or not unshown:
            return standing["digest"]
        return asdict(kit.offline.summarise(unshown[-DIGESTED:]))

    tokens = min(context.conversation_tokens, context.role("react").text_tokens(context.window_ratio))
    talked = Talked(messages, before, standing["count"], digest, state.get("block", ""))
    memories = state.get("memories", ())
    return Situation(fitted(talked, tokens), said(asked(messages)), memories, earlier(messages, before))


def _keep_words(state: Talk, runtime: Runtime[MemoryContext], kit: TalkKit) -> None:
    """Have what the user said remembered, where memory is not switched off."""
    if context_of(runtime).enable_memory and (new := unheard(state["messages"], turns_in(state["standing"]))):
        kit.hand_over(new, state["conversation_id"], runtime)
