"""Servers that refuse or ignore a form of structured output: another form serves, or the failure has a type."""

import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

from agentic_memory_bank.engines.llm import models, retry
from agentic_memory_bank.testing import (
    ChatRequest,
    Fault,
    ModelServer,
    Reply,
    fenced,
    http_error,
    ignoring_tools,
    refusing,
    thinking,
)

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

MODES = ("json_schema", "function_calling", "json_mode", "prompt")
CANARY = "zebra-canary"
Script = Callable[[ChatRequest], Reply | Fault]


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


scenario = _neighbour("scenario")


@pytest.fixture(autouse=True)
def _a_process_that_asked_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with scenario.model(lambda url: monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", url)) as model:
        yield model


def forms(ended: Any) -> Counter[str]:
    return Counter(request.mode for request in ended.asked)


def served(ended: Any) -> Counter[str]:
    """How many answers came by which form, as a run reports it."""
    total: Counter[str] = Counter()
    for role in ended.output["usage"]["roles"].values():
        total.update(role["served_by"])
    return total


def assert_all_is_well(ended: Any) -> None:
    scenario.assert_memory_is_sound(ended.state)
    assert (ended.output["status"], ended.output["degraded"]) == ("completed", [])


@pytest.mark.parametrize("refused", [0, 1, 2, 3])
def test_a_refused_form_is_asked_for_once_and_the_one_below_it_serves(model: Any, refused: int) -> None:
    ended = model.ask(refusing(scenario.judge, *MODES[:refused]))
    again = model.ask(refusing(scenario.judge, *MODES[:refused]))

    assert_all_is_well(ended)
    questions = len(again.asked)
    assert forms(ended) == {**dict.fromkeys(MODES[:refused], 1), MODES[refused]: questions}
    assert served(ended) == {MODES[refused]: questions}
    assert ended.output["usage"]["calls"] == questions + refused, "what was refused is a call, too"
    assert forms(again) == {MODES[refused]: questions}


def test_a_server_that_refuses_every_form_is_refused_in_turn(model: Any) -> None:
    ended = model.ask(refusing(scenario.judge, *MODES))

    (pause,) = (interrupt.value for interrupt in ended.output["__interrupt__"])
    assert pause["reason"] == "refused"
    assert "MEMORY_BANK_MODEL" in pause["message"]
    assert {mode: forms(ended)[mode] for mode in MODES[:3]} == dict.fromkeys(MODES[:3], 1)


def test_deepseek_is_never_asked_for_what_it_does_not_have(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", model.server.url)

    ended = model.ask(refusing(scenario.judge, "json_schema"), model="deepseek:deepseek-chat")

    assert_all_is_well(ended)
    assert set(forms(ended)) == {"function_calling"}


@pytest.mark.parametrize("loud", [False, True], ids=["warnings", "warnings are errors"])
def test_a_refusal_in_openais_own_words_steps_down(model: Any, loud: bool) -> None:
    """LangChain warns of these words before it raises."""
    text = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."

    def older(request: ChatRequest) -> Reply | Fault:
        refused = http_error(400, text, param="response_format")
        return refused if request.mode == "json_schema" else scenario.judge(request)

    with warnings.catch_warnings():
        warnings.simplefilter("error" if loud else "ignore")
        ended = model.ask(older)

    assert_all_is_well(ended)
    assert forms(ended)["json_schema"] == 1


def unclosed(script: Script) -> Script:
    """A model that never ends its thoughts, with an answer among them."""

    def answer(request: ChatRequest) -> Reply | Fault:
        reply = scenario.judge(request).settled(replace(request, body={**request.body, "tools": []}))
        return Reply(f"<think>Perhaps {reply.content}, but then")

    return answer


def swallowed(script: Script) -> Script:
    """A model whose chat template swallows the tag that opens its thoughts."""

    def answer(request: ChatRequest) -> Reply | Fault:
        reply = scenario.judge(request).settled(request)
        return reply if reply.content is None else replace(reply, content=f'Is it {{"x": 1}}?</think>{reply.content}')

    return answer


HABITS = (fenced, thinking, swallowed, ignoring_tools)


@pytest.mark.parametrize(
    ("habit", "refused"),
    [
        pytest.param(habit, refused, marks=() if (at + refused) % 2 else pytest.mark.attack)
        for at, habit in enumerate(HABITS)
        for refused in range(len(MODES))
    ],
)
def test_habits_are_read_through_at_every_form(model: Any, habit: Any, refused: int) -> None:
    plain = model.ask(refusing(scenario.judge, *MODES[:refused]))
    ended = model.ask(refusing(habit(scenario.judge), *MODES[:refused]))

    assert_all_is_well(ended)
    assert ended.digest == plain.digest
    assert forms(ended) == {MODES[refused]: len(ended.asked)}


def test_thoughts_that_never_end_hold_no_answer(model: Any) -> None:
    ended = model.ask(unclosed(scenario.judge))

    scenario.assert_memory_is_sound(ended.state)
    assert ended.output["status"] == "completed", "the offline engine judges in the model's place"
    assert all("AnswerRejected" in said for said in ended.output["degraded"])
    assert max(ended.requests("plan").values()) == 2


def test_a_server_that_ignores_forms_is_told_in_words_and_soon_at_the_first_try(model: Any) -> None:
    """It never reads response_format or tools: it answers in JSON only where the prompt asks for it."""

    def deaf(request: ChatRequest) -> Reply | Fault:
        if "one JSON object" not in str(request.messages[0]["content"]):
            return Reply("Certainly, here is what I think of it.")
        return ignoring_tools(scenario.judge)(request)

    first, later = model.ask(deaf), model.ask(deaf)

    assert_all_is_well(first)
    assert_all_is_well(later)
    assert len(first.asked) == len(later.asked) + 4, "two forms, each tried twice"
    assert set(forms(later)) == {"json_mode"}


def test_a_passing_fault_gives_up_no_form(model: Any) -> None:
    left = [Reply("prose"), http_error(500), http_error(429), Reply(refusal="no"), Reply("prose")]
    turn = iter(range(100))

    def moody(request: ChatRequest) -> Reply | Fault:
        return left.pop() if next(turn) % 2 == 0 and left else scenario.judge(request)

    ended = model.ask(moody)

    assert not left
    assert_all_is_well(ended)
    assert set(forms(ended)) == {"json_schema"}


# --- chat models that are passed in code -------------------------------------------------------------------------


class Plain(BaseChatModel):
    """A chat model without tools, of no provider that is known here."""

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        assert not options.get("response_format")
        return ChatResult(generations=[ChatGeneration(message=self.said(messages, options))])

    def said(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """The right answer, in words."""
        return AIMessage(f"Let me see.\n```json\n{json.dumps(self.right(messages))}\n```")

    @staticmethod
    def right(messages: list[BaseMessage]) -> Any:
        return scenario.judge(ChatRequest({"messages": [{"content": message.text} for message in messages]})).data


class Reluctant(Plain):
    """One that says it takes tools and does not."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("not here")


class Handy(Plain):
    """One that takes tools."""

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **_: Any) -> Any:
        return self.bind(name=tool_choice)

    def said(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        call: Any = {"name": options["name"], "args": self.right(messages), "id": "c", "type": "tool_call"}
        return AIMessage("", tool_calls=[call], response_metadata={"stop_reason": "tool_use"})


class Broken(Plain):
    """One that raises what nobody expects, with the key in it."""

    def said(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        raise LookupError(f"{CANARY} was not accepted by {self!r}")


def ran(client: Any) -> Any:
    bank, config = scenario.bank(models=client), {"configurable": {"thread_id": "t"}}
    given = {"question": scenario.QUESTION, "documents": list(scenario.DOCUMENTS)}
    return scenario.Ended(bank.invoke(given, config), bank.get_state(config).values, [])


@pytest.mark.parametrize(
    ("client", "modes"),
    [(Plain(), {"prompt"}), (Reluctant(), {"prompt"}), (Handy(), {"function_calling"})],
    ids=["plain", "reluctant", "handy"],
)
def test_any_chat_model_serves_by_a_form_it_has(model: Any, client: Any, modes: set[str]) -> None:
    ended = ran(client)

    assert_all_is_well(ended)
    assert set(served(ended)) == modes
    assert ended.digest == model.ask().digest


def test_a_chat_model_that_breaks_in_its_own_way_costs_its_judgements(caplog: pytest.LogCaptureFixture) -> None:
    ended = ran(Broken())

    scenario.assert_memory_is_sound(ended.state)
    assert ended.output["status"] == "completed", "the offline engine judges in the model's place"
    assert ended.output["degraded"]
    assert CANARY not in ended.text + caplog.text


def test_models_of_roles_stand_beside_the_offline_engine(model: Any) -> None:
    ended = ran({"plan": Plain()})

    assert ended.output["status"] == "completed"
    assert set(ended.output["usage"]["roles"]) == {"plan"}


def test_a_client_with_retries_of_its_own_does_not_multiply_them() -> None:
    def failing(request: ChatRequest) -> Reply | Fault:
        return http_error(500) if scenario.judge.kind_of(request) == "structure" else scenario.judge(request)

    with ModelServer(failing) as server:
        client = ChatOpenAI(model="m", base_url=server.url, api_key="k", max_retries=2)  # type: ignore[arg-type]
        ended = ran(client)

        asked = [scenario.judge.kind_of(request) for request in server.chats]
        client.root_client.close()
    scenario.assert_memory_is_sound(ended.state)
    assert asked.count("structure") == 2


def test_a_server_that_drops_the_schema_in_silence_is_noticed_by_the_shape_of_its_answers(model: Any) -> None:
    def dropping(request: ChatRequest) -> Reply | Fault:
        return Reply('{"said": "so"}') if request.mode == "json_schema" else scenario.judge(request)

    ended = model.ask(dropping, retries=2)

    assert_all_is_well(ended)
    assert 2 <= forms(ended)["json_schema"] <= 4
    assert set(forms(ended)) == {"json_schema", "function_calling"}
