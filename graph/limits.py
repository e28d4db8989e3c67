"""`AgentLimits`, a middleware that counts what an invocation of an agent spends, and has it answer before a limit.

on         no limit is near: the model is asked with its tools
last       this call would reach a limit: the model is asked without tools, and has to answer
over       a limit is reached: the model is not asked, the answer is made of what was found
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, OmitFromInput, OmitFromOutput, PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from agentic_memory_bank.engines.llm import models, parsing
from agentic_memory_bank.engines.llm.meter import money_of
from agentic_memory_bank.nodes.agent_messages import total
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.react_mem import fallback_answer
from agentic_memory_bank.nodes.react_mem.budget import Cost, LimitDecision, Tally, has_budget
from agentic_memory_bank.prompts import react
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.react_mem import Spent
from agentic_memory_bank.state.settings import Settings

_LOG = logging.getLogger(__name__)
_Request = ModelRequest[Any]
_Response = ModelResponse[Any]


class LimitState(AgentState[Any]):
    """State of the limits; what was spent is checkpointed, so that a resumed invocation counts on."""

    most_calls: NotRequired[Annotated[int, OmitFromOutput]]
    """Calls of the model that `recursion_limit` leaves."""
    spent: NotRequired[Annotated[Spent, PrivateStateAttr]]
    tally: NotRequired[Annotated[Any, PrivateStateAttr, UntrackedValue]]
    """`Tally`: it counts failed calls as well, of which no checkpoint is told."""
    stopped: NotRequired[Annotated[str, OmitFromInput]]
    """Why the agent had to answer, beginning with the name of the setting; empty where it ended by itself."""


class AgentLimits(AgentMiddleware[Any, Any, Any]):
    """Holds an agent of `create_agent` to `react_calls` and to the budgets, as `react_mem` is.

    An invocation has one account from its question to its answer, pauses and resumes included; the next invocation of
    the thread has its own. It does not end in an error: near a limit, the model is asked once more, without tools;
    where no call is left, or it calls tools all the same, the answer is made of its last words and of what was found.
    The output says why in `stopped`. Put it last, so that calls are counted that another middleware sends again.

    Args:
        name: Name of the agent's model in `prices`. Default: class and model, as `ChatOpenAI:gpt-x`.
        clock: Returns the current time; a fixed one makes runs repeatable.
        settings: Settings for an agent whose context has none. Default: those of the context, or the environment.

    Example:
        >>> agent = create_agent(model, tools, middleware=[FourTierMemory(), AgentLimits()])
    """

    state_schema = LimitState

    def __init__(self, name: str = "", *, clock: Clock = utc_now, settings: Settings | None = None) -> None:
        super().__init__()
        self._name, self._settings = name, settings
        self._now = lambda: clock().timestamp()

    def before_agent(self, state: LimitState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Open the account of an invocation."""
        tally = Tally(self._now)
        return {"tally": tally, "spent": tally.plain(), "stopped": ""}

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> ExtendedModelResponse[Any]:
        """Ask the model, unless a limit is reached.

        Raises:
            SettingsError: A budget of money lacks the price of the model.
        """
        call = self._call(request)
        if call.verdict.course == "over":
            return call.ended()
        try:
            response = handler(call.asked())
        except Exception as error:
            return call.failed(error)
        return call.answered(response)

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> ExtendedModelResponse[Any]:
        """Do what `wrap_model_call` does."""
        call = self._call(request)
        if call.verdict.course == "over":
            return call.ended()
        try:
            response = await handler(call.asked())
        except Exception as error:
            return call.failed(error)
        return call.answered(response)

    def _call(self, request: _Request) -> "_Call":
        state: Any = request.state
        settings = self._settings_of(request.runtime)
        held = state.get("tally")
        tally = held if isinstance(held, Tally) else Tally(self._now, state.get("spent"))
        price = self._price(request, settings)
        prompt = total(request.messages) if has_budget(settings, "tokens", "money") else 0
        tokens = max(prompt, tally.last.input_tokens), tally.last.output_tokens
        expected = Cost(*tokens, money_of(price, *tokens), tally.last.seconds)
        verdict = tally.judged(settings, state.get("most_calls"), expected)
        return _Call(request, tally, verdict, price, self._now(), self._now)

    def _price(self, request: _Request, settings: Settings) -> tuple[float, float]:
        own = models.name_of(request.model)
        name = self._name if self._name.endswith(own.partition(":")[2]) and self._name else own
        if name not in settings.prices and settings.budget_money is not None:
            raise SettingsError(
                f"A budget of money needs the price of '{name}'. Add it to MEMORY_BANK_PRICES, or `Settings.prices`."
            )
        return settings.prices.get(name, (0.0, 0.0))

    def _settings_of(self, runtime: Any) -> Settings:
        given = getattr(runtime, "context", None)
        if isinstance(given, Settings):
            return given
        return self._settings or MemoryContext.of(runtime)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of the agent's model."""

    request: _Request
    tally: Tally
    verdict: LimitDecision
    price: tuple[float, float]
    """Price of a million tokens, in and out."""
    began: float
    now: Callable[[], float]

    def asked(self) -> _Request:
        """Make the request; the last one has no tools."""
        if self.verdict.course == "on":
            return self.request
        messages = [*self.request.messages, HumanMessage(react.ANSWER_NOW)]
        return self.request.override(messages=messages, tools=[], tool_choice=None)

    def answered(self, response: _Response) -> ExtendedModelResponse[Any]:
        """Count the answer; of the last call keep the words alone, since no tool is called any more."""
        message = next((one for one in response.result if isinstance(one, AIMessage)), AIMessage(""))
        self.tally.charge(self._cost(message))
        if self.verdict.course == "on" or response.structured_response is not None:
            return self._told(response)
        words = parsing.without_calls(message)
        return self._told(ModelResponse(result=[words])) if words.text.strip() else self.ended(words)

    def failed(self, error: Exception) -> ExtendedModelResponse[Any]:
        """Count a call that failed; after the last one, answer from what was found.

        Raises:
            Exception: The error of the call, where a call is left or there is nothing to answer from.
        """
        self.tally.charge(Cost(seconds=self.now() - self.began))
        is_last = self.verdict.course == "last" and fallback_answer.has_found(self.request.state["messages"])
        if isinstance(error, GraphBubbleUp) or not is_last:
            raise error
        _LOG.warning("The last call of an agent's model failed (%s): what was found answers.", type(error).__name__)
        return self.ended()

    def ended(self, said: AIMessage | None = None) -> ExtendedModelResponse[Any]:
        """Make an answer without the model, from what was found.

        Args:
            said: Message of the model in place of an answer; its usage is kept.
        """
        answer = fallback_answer.answer_from_results(self.request.state["messages"])
        if said is not None:
            kept = {**said.additional_kwargs, **answer.additional_kwargs}
            answer = said.model_copy(update={"content": answer.content, "additional_kwargs": kept})
        return self._told(ModelResponse(result=[answer]))

    def _told(self, response: _Response) -> ExtendedModelResponse[Any]:
        update = {"tally": self.tally, "spent": self.tally.plain()}
        stopped = {"stopped": self.verdict.why, "jump_to": "end"} if self.verdict.course != "on" else {}
        return ExtendedModelResponse(response, Command(update={**update, **stopped}))

    def _cost(self, message: AIMessage) -> Cost:
        usage = message.usage_metadata
        estimated = 0 if usage else total(self.request.messages), 0 if usage else total([message])
        tokens = (usage["input_tokens"], usage["output_tokens"]) if usage else estimated
        return Cost(*tokens, money_of(self.price, *tokens), self.now() - self.began)
