"""The search tool over a web that answers from a script: keys, results, failures, and a caller's own tool."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.tools.web import client
from agentic_memory_bank.tools.web.client import PublicWeb
from agentic_memory_bank.tools.web.public_addresses import WebError
from agentic_memory_bank.tools.web.search import Disabled, search

SERPER = {
    "organic": [
        {
            "title": "Condor",
            "link": "https://news.example/condor",
            "snippet": "It has 1,121\n qubits.",
            "date": "Dec 4",
        },
        {"title": "Osprey", "link": "https://news.example/osprey", "snippet": "It has 433 qubits."},
    ]
}
TAVILY = {
    "results": [{"title": "Condor", "url": "https://news.example/", "content": "It has 1,121 qubits.", "score": 1}]
}


class Web(PublicWeb):
    """Answers every query as told, and remembers what it was sent."""

    def __init__(self, *answers: object) -> None:
        super().__init__()
        self.answers = list(answers)
        self.sent: list[tuple[str, Any, Mapping[str, str]]] = []
        self.busy = self.most_busy = 0
        self._lock = threading.Lock()

    def post_json(self, url: str, body: object, headers: Mapping[str, str], *, seconds: float | None = None) -> Any:
        with self._lock:
            self.sent.append((url, body, headers))
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
        time.sleep(0.01)
        with self._lock:
            self.busy -= 1
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "canary-serper")
    monkeypatch.setenv("TAVILY_API_KEY", "canary-tavily")
    monkeypatch.setattr(client, "_FIRST_PAUSE", 0.001)


def made(found: BaseTool | Disabled) -> BaseTool:
    assert isinstance(found, BaseTool)
    return found


def message(found: BaseTool | Disabled, *queries: str) -> ToolMessage:
    call = {"type": "tool_call", "name": "search", "id": "1", "args": {"queries": list(queries)}}
    answer = made(found).invoke(call)
    assert isinstance(answer, ToolMessage)
    return answer


# --- keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("provider", "variable"), [("serper", "SERPER_API_KEY"), ("tavily", "TAVILY_API_KEY")])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_disables_the_tool_and_says_which(
    monkeypatch: pytest.MonkeyPatch, provider: Any, variable: str, value: str | None
) -> None:
    monkeypatch.delenv(variable)
    if value is not None:
        monkeypatch.setenv(variable, value)

    found = search(provider)

    assert isinstance(found, Disabled)
    assert (found.name, found.variable) == ("search", variable)
    assert found.line == f"search is off: {variable} is not set. Set it to a key of {found.provider} to turn it on."
    assert "`search`" in found.instruction


def test_a_key_that_goes_away_later_is_a_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = search(web=Web(SERPER))
    monkeypatch.delenv("SERPER_API_KEY")

    found = message(tool, "qubits")

    assert found.status == "error"
    assert "SERPER_API_KEY is not set" in found.content


def test_the_key_is_sent_to_the_provider_and_stands_nowhere_else() -> None:
    web = Web(SERPER)
    tool = made(search(web=web))

    found = message(tool, "qubits")

    assert [(url, headers) for url, _, headers in web.sent] == [
        ("https://google.serper.dev/search", {"X-API-KEY": "canary-serper"})
    ]
    assert "canary" not in f"{tool!r} {tool.__dict__} {vars(tool.func.__self__)} {found} {web.sent[0][1]}"  # type: ignore[attr-defined]


def test_an_unknown_provider_is_a_setting_to_mend() -> None:
    with pytest.raises(SettingsError, match="serper, tavily"):
        search("google")  # type: ignore[arg-type]


def test_a_tool_of_the_callers_is_taken_as_it_is() -> None:
    @tool
    def other(query: str) -> str:
        """Search elsewhere."""
        return query

    assert search(other) is other


# --- results -------------------------------------------------------------------------------------------------------


def test_results_are_numbered_with_title_date_url_and_lines() -> None:
    assert message(search(web=Web(SERPER)), " Condor qubits ").content == (
        "Results for 'Condor qubits':\n"
        "1. Condor (Dec 4)\n   https://news.example/condor\n   It has 1,121 qubits.\n"
        "2. Osprey\n   https://news.example/osprey\n   It has 433 qubits."
    )


def test_tavily_is_asked_and_read_in_its_own_way() -> None:
    web = Web(TAVILY)

    found = message(search("tavily", web=web), "qubits")

    assert web.sent == [
        (
            "https://api.tavily.com/search",
            {"query": "qubits", "max_results": 5},
            {"Authorization": "Bearer canary-tavily"},
        )
    ]
    assert "1. Condor\n   https://news.example/\n   It has 1,121 qubits." in found.content


def test_five_results_are_shown_and_a_short_answer_before_them() -> None:
    items = [{"title": f"Page {number}", "link": "x", "snippet": "y" * 5_000} for number in range(20)]

    found = message(
        search(web=Web({"organic": items, "answerBox": {"answer": "1,121", "link": "z"}})), "qubits"
    ).content

    assert found.count("Page ") == 5
    assert found.index("1,121") < found.index("Page 0")
    assert len(found) < 7_000


def test_a_chinese_query_is_searched_where_chinese_is_written() -> None:
    web = Web(SERPER)

    message(search(web=web), "量子计算机有多少量子比特")
    message(search(web=web), "how many qubits")

    assert [(body["gl"], body["hl"], body["num"]) for _, body, _ in web.sent] == [("cn", "zh-cn", 5), ("us", "en", 5)]


def test_queries_are_sent_three_at_a_time_and_answered_in_order() -> None:
    web = Web(SERPER)

    found = message(search(web=web), *(f"query {number}" for number in range(9)), " ").content

    assert [line for line in found.splitlines() if line.startswith("Results")] == [
        f"Results for 'query {number}':" for number in range(9)
    ]
    assert 2 <= web.most_busy <= 3


@pytest.mark.parametrize(
    "answer",
    [None, [], "text", 5, {}, {"organic": None}, {"organic": "x"}, {"organic": []}, {"organic": {}}, {"answerBox": 5}],
)
def test_an_answer_of_another_shape_is_no_result(answer: object) -> None:
    assert "Nothing was found" in message(search(web=Web(answer)), "qubits").content


def test_a_result_of_another_shape_harms_none_of_the_others() -> None:
    items = [None, 5, {"title": ["x"], "link": {}, "snippet": "kept\ud800\x00"}, *SERPER["organic"]]

    found = message(search(web=Web({"organic": items})), "qubits").content

    assert "kept\ufffd\ufffd" in found
    assert "Condor" in found


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "said", "asked"),
    [
        (WebError("x", status=401), "does not accept the key in SERPER_API_KEY", 1),
        (WebError("x", status=403), "does not accept the key in SERPER_API_KEY", 1),
        (WebError("x", status=400), "credit", 1),
        (WebError("x", status=429, may_pass=True), "does not answer at the moment (429)", 5),
        (WebError("x", status=500, may_pass=True), "does not answer at the moment (500)", 5),
        (WebError("it took too long", may_pass=True), "it took too long", 5),
    ],
)
def test_a_failure_is_a_sentence_and_only_one_that_may_pass_is_tried_again(
    fault: WebError, said: str, asked: int
) -> None:
    web = Web(fault)

    found = message(search(web=web), "qubits")

    assert found.status == "error"
    assert said in found.content
    assert len(web.sent) == asked
    assert "canary" not in str(found)


def test_a_failure_that_passes_is_not_noticed() -> None:
    web = Web(WebError("x", status=503, may_pass=True), SERPER)

    assert "Condor" in message(search(web=web), "qubits").content


def test_one_failed_query_does_not_take_the_others_with_it() -> None:
    class SecondFails(Web):
        def post_json(self, url: str, body: Any, headers: Mapping[str, str], *, seconds: float | None = None) -> Any:
            if body["q"] == "two":
                raise WebError("x", status=404)
            return SERPER

    found = message(search(web=SecondFails()), "one", "two", "three")

    assert found.status == "success"
    assert found.content.count("Condor") == 2
    assert "Results for 'two':\nThis search failed. Serper does not answer" in found.content


def test_no_query_at_all_is_a_sentence_too() -> None:
    assert "Say what to search for" in message(search(web=Web(SERPER)), " ", "").content


def test_the_search_may_be_at_an_address_of_ones_own() -> None:
    web = Web(SERPER)

    message(search(web=web, address="https://gateway.example/serper"), "qubits")

    assert web.sent[0][0] == "https://gateway.example/serper"
