"""What went wrong with a request, in our own words, whichever client raised it; and how clients are made."""

import gc
import os
import time
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from agentic_memory_bank.engines.llm import models
from agentic_memory_bank.engines.llm.faults import ModelFault, broken_off, fault_of
from agentic_memory_bank.engines.llm.models import ChatModels, OutputModes
from agentic_memory_bank.engines.openai_client import chat_model
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.settings import Settings

CANARY = "zebra-canary"
MODES = ("json_schema", "function_calling", "json_mode", "prompt")


class Refused(Exception):
    """What a client raises for a status."""

    def __init__(self, status: int, text: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{text} {CANARY}")
        self.status_code = status
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


def status(number: int, text: str = "", mode: str = "json_schema", **headers: str) -> ModelFault:
    return fault_of(Refused(number, text, {k.replace("_", "-"): v for k, v in headers.items()}), mode)


@pytest.mark.parametrize("number", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(number: int) -> None:
    fault = status(number)

    assert (fault.is_final, fault.is_general, fault.refuses) == (False, False, False)


@pytest.mark.parametrize("number", [400, 401, 402, 403, 404, 422])
def test_what_does_not_pass_is_final(number: int) -> None:
    assert (status(number).is_final, status(number).is_general) == (True, True)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (429, "You exceeded your current quota, please check your plan"),
        (429, "insufficient_quota"),
        (402, "Insufficient Balance"),
        (403, "billing_hard_limit_reached"),
    ],
)
def test_an_exhausted_quota_is_final_whatever_the_status(number: int, text: str) -> None:
    fault = status(number, text)

    assert fault.is_general
    assert "{key}" in fault.reason


def test_a_prompt_that_is_too_long_concerns_this_prompt_alone() -> None:
    fault = status(400, "This model's maximum context length is 8192 tokens")

    assert (fault.is_final, fault.is_general) == (True, False)
    assert "WINDOW" in fault.reason


@pytest.mark.parametrize(
    ("mode", "number", "text"),
    [
        ("json_schema", 400, "'response_format' of type 'json_schema' is not supported with this model."),
        ("json_schema", 400, "This response_format type is unavailable now"),
        ("json_schema", 422, "Extra inputs are not permitted: response_format"),
        ("function_calling", 400, "deepseek-reasoner does not support this tool_choice"),
        ("function_calling", 400, "registry.ollama.ai/library/gemma3:latest does not support tools"),
        ("function_calling", 404, "No endpoints found that support tool use."),
        ("function_calling", 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        ("function_calling", 400, "deepseek-reasoner does not support Function Calling"),
        ("json_mode", 400, "'response_format.type' must be 'json_schema' or 'text'"),
    ],
)
def test_a_form_that_is_refused_is_told_from_a_request_that_is_wrong(mode: str, number: int, text: str) -> None:
    assert status(number, text, mode).refuses
    assert not status(number, text, "prompt").refuses
    assert not status(number, "The request is malformed.", mode).refuses


def test_a_client_that_cannot_ask_in_a_form_refuses_it() -> None:
    assert fault_of(NotImplementedError(), "function_calling").refuses
    assert not fault_of(NotImplementedError(), "prompt").refuses


def test_a_refusal_behind_a_warning_is_seen() -> None:
    """LangChain warns before it passes the refusal on; where warnings are errors, they come first."""

    def refuse() -> None:
        try:
            raise Refused(400, "'response_format' of type 'json_schema' is not supported with this model")
        except Refused:
            warnings.warn("Use another method.", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning) as caught:
            refuse()

    assert fault_of(caught.value, "json_schema").refuses


@pytest.mark.parametrize("number", [200, 204, 302])
def test_an_answer_that_could_not_be_read_is_no_refusal(number: int) -> None:
    """Clients attach the response, with its 200, to what they raise over a web page in place of an answer."""
    fault = status(number)

    assert (fault.is_final, fault.is_general) == (False, False)
    assert "could not be read" in fault.reason


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("-3", 0.0), ("0", 0.0), ("soon", None), ("inf", None), ("nan", None), ("", None)],
)
def test_the_time_a_server_names_is_read(value: str, seconds: float | None) -> None:
    assert status(429, retry_after=value).wait == seconds
    assert status(503, retry_after=value).wait == seconds


def test_the_time_a_server_names_may_be_a_date() -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)

    assert status(429, retry_after=format_datetime(at, usegmt=True)).wait == pytest.approx(30, abs=1.5)
    assert status(429, retry_after=format_datetime(at - timedelta(days=1), usegmt=True)).wait == 0.0


@pytest.mark.parametrize("number", [None, 200, 400, 401, 402, 403, 404, 413, 422, 429, 500])
@pytest.mark.parametrize(
    "text", ["", "insufficient_quota", "maximum context length", "content_filter", "response_format"]
)
def test_no_fault_repeats_what_the_server_wrote(number: int | None, text: str) -> None:
    error: Exception = OSError(f"{text} {CANARY}") if number is None else Refused(number, text)

    for mode in MODES:
        assert CANARY not in repr(fault_of(error, mode))


def test_other_clients_are_understood_too() -> None:
    class GoogleError(Exception):
        code = 429

    class NumberedError(Exception):
        code = "rate_limited"

    assert not fault_of(GoogleError(), "prompt").is_final
    assert "could not be read" in fault_of(NumberedError(), "prompt").reason
    assert "reached" in fault_of(ConnectionResetError(), "prompt").reason
    assert "TIMEOUT" in fault_of(TimeoutError(), "prompt").reason


def test_an_answer_that_was_cut_off_is_read_out_of_the_error() -> None:
    choice = SimpleNamespace(message=SimpleNamespace(content="It is"), finish_reason="length")
    usage = SimpleNamespace(prompt_tokens=7, completion_tokens=2)
    error: Any = Exception()
    error.completion = SimpleNamespace(choices=[choice], usage=usage)

    message = broken_off(error)

    assert message
    assert (message.text, message.response_metadata) == ("It is", {"finish_reason": "length"})
    assert message.usage_metadata
    assert message.usage_metadata["total_tokens"] == 9
    assert broken_off(Exception()) is None


# --- ladders -----------------------------------------------------------------------------------------------------


def test_a_form_is_given_up_when_it_is_ignored_twice_in_a_row() -> None:
    modes = OutputModes(MODES)
    for _ in range(5):
        modes.ignored("json_schema")
        modes.kept_to()
    assert modes.mode == "json_schema"

    modes.ignored("json_schema")
    modes.ignored("json_schema")
    assert modes.mode == "function_calling"


def test_late_news_of_a_form_that_was_given_up_does_not_count() -> None:
    modes = OutputModes(MODES)
    assert modes.step_down("json_schema")
    assert modes.step_down("json_schema")
    for _ in range(4):
        modes.ignored("json_schema")

    assert modes.mode == "function_calling"


def test_there_is_nothing_below_the_last_form() -> None:
    modes = OutputModes(["prompt"])
    modes.ignored("prompt")
    modes.ignored("prompt")

    assert not modes.step_down("prompt")
    assert modes.mode == "prompt"


def test_the_modes_of_a_client_that_was_passed_go_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client may be given the same place in memory; it begins at the top."""
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    client = FakeListChatModel(responses=["x"])
    first, again = ChatModels.of(Settings(), client), ChatModels.of(Settings(), client)
    assert first.roles["plan"].modes is again.roles["plan"].modes
    assert len(models._KNOWN_MODES) == 1

    del client, first, again
    gc.collect()
    assert models._KNOWN_MODES == {}


def test_asking_a_client_for_its_parameters_uses_nothing_up() -> None:
    client = GenericFakeChatModel(messages=iter([AIMessage("one"), AIMessage("two")]))

    ChatModels.of(Settings(), client)

    assert client.invoke("?").text == "one"


def test_a_client_that_was_passed_keeps_its_retries_and_is_asked_without_them() -> None:
    client = ChatOpenAI(model="m", api_key="k", max_retries=4, base_url="http://127.0.0.1:9/v1")  # type: ignore[arg-type]

    asked: Any = ChatModels.of(Settings(), client).roles["plan"].client

    assert asked.root_client.max_retries == 0
    assert client.root_client.max_retries == 4
    assert asked.model_name == "m"


# --- clients -----------------------------------------------------------------------------------------------------


def made(name: str, **environment: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        return chat_model(Settings(model=name).role("plan"))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def test_an_address_is_shown_without_what_may_be_secret_in_it() -> None:
    client = made("local:m", MEMORY_BANK_LOCAL_BASE_URL=f"https://me:{CANARY}@example.org/v1?key={CANARY}#{CANARY}")

    assert client.openai_api_base == "https://example.org/v1"
    assert CANARY not in repr(client)
    assert CANARY not in repr(client.root_client.base_url)


@pytest.mark.parametrize(
    "address", [CANARY, f"ftp://{CANARY}/v1", f"http://[{CANARY}", f"http://{CANARY}:x/v1", "http://", f"//{CANARY}/v1"]
)
def test_an_address_that_is_none_is_named_by_its_variable(address: str) -> None:
    with pytest.raises(SettingsError, match="MEMORY_BANK_LOCAL_BASE_URL") as caught:
        made("local:m", MEMORY_BANK_LOCAL_BASE_URL=address)

    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("proxy", [f"nonsense://me:{CANARY}@h:1", f"http://me:{CANARY}@h:port", f"://{CANARY}"])
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(proxy: str) -> None:
    address = "http://proxied.example:1/v1"
    with pytest.raises(SettingsError, match="HTTP_PROXY") as caught:
        made("local:m", MEMORY_BANK_LOCAL_BASE_URL=address, HTTP_PROXY=proxy)

    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("key", [f"sk-{CANARY}\nx", f"“{CANARY}”", f"{CANARY}é"])
def test_a_key_that_no_header_can_carry_is_named_by_its_variable(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY") as caught:
        made("openai:m", OPENAI_API_KEY=key)

    assert CANARY not in str(caught.value)


def test_a_key_is_taken_without_the_end_of_the_line_it_was_pasted_with() -> None:
    assert made("openai:m", OPENAI_API_KEY="sk-1\n").openai_api_key.get_secret_value() == "sk-1"


def test_variables_of_other_programs_are_left_alone() -> None:
    client = made("openai:m", OPENAI_API_KEY="k", OPENAI_PROXY="http://h:1", OPENAI_API_BASE="http://other/v1")

    assert client.openai_api_base == "https://api.openai.com/v1"


def test_roles_share_their_connections_and_have_their_own_time() -> None:
    clients: list[Any] = [
        chat_model(Settings(model="local:m", plan_timeout=3).role(role)) for role in ("plan", "react")
    ]

    assert clients[0].http_client is clients[1].http_client
    assert [client.request_timeout for client in clients] == [3, 120]


def test_making_a_client_takes_no_time_the_second_time() -> None:
    made("local:m")
    taken = list[float]()
    for _ in range(5):
        begun = time.thread_time()
        made("local:m")
        taken.append(time.thread_time() - begun)

    assert min(taken) < 0.05
