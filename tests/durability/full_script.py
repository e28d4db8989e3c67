"""One run that passes everything: three sources, a conflict, the web, pictures; and the model and the web it asks.

The model's answers depend on nothing but the question, so that a run that is killed and resumed can equal one that is
not. `ModelServer.spawn("full_script:judge")` serves it in a process of its own.
"""

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.testing import ChatRequest, Reply, ScriptedJudge, ToolCall

QUESTION = "How tall is the iron tower of Paris, and how many visitors did it have in 2023?"
AGAIN = "Who painted the iron tower of Paris?"
SOURCES = [
    {"source": "atlas", "text": "The iron tower of Paris is 324 m tall."},
    {"source": "guide", "text": "The iron tower of Paris is 330 m tall."},
    {"source": "leaflet", "text": "From the ground to its antenna the iron tower of Paris measures 330 m."},
]
"""Two of them contradict the first, so that nothing new is free of the conflict."""
CHART, LIFT = b"\x89PNG\r\n\x1a\n" + b"a chart of visitors", b"\x89PNG\r\n\x1a\n" + b"a lift"
ATTACHED = {"name": "chart.png", "data": base64.b64encode(CHART).decode()}
VISITORS = "The iron tower of Paris had 6.3 million visitors in 2023."
LIFTED = "The lift of the iron tower of Paris holds 110 people."
SETTINGS = {"model": "local:test", "gate_english": -1, "allow_private_addresses": True}
"""Every pair is judged; and addresses of the own machine may be opened, which a setting alone allows."""

PAGE = """<!doctype html><html><head><title>The tower</title>
<meta property="article:published_time" content="2023-05-01"></head>
<body><main><p>With its new antenna the iron tower of Paris is 330 m tall.</p></main></body></html>"""


# --- the web -------------------------------------------------------------------------------------------------------


class Web(ThreadingHTTPServer):
    """A site with a page and a picture, and the search service that knows them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def search(self) -> str:
        """The address of the search service."""
        return f"{self.url}/search"


class _Handler(BaseHTTPRequestHandler):
    server: Web

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        found = {"title": "The tower", "link": f"{self.server.url}/height", "snippet": "It is 330 m tall."}
        self._send(json.dumps({"organic": [found]}).encode(), "application/json")

    def do_GET(self) -> None:
        pages = {"/height": (PAGE.encode(), "text/html; charset=utf-8"), "/lift.png": (LIFT, "image/png")}
        if self.path in pages:
            self._send(*pages[self.path])
        else:
            self.send_error(404)

    def _send(self, body: bytes, kind: str) -> None:
        self.server.asked.append(self.path)
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def serve_web() -> Iterator[Web]:
    """Serve the site for as long as the block lasts."""
    with Web() as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()


# --- the judge -----------------------------------------------------------------------------------------------------


def find_conflicts(prompt: str) -> dict[str, Any]:
    """Heights that differ are a conflict, heights that do not are the same fact."""
    found: list[dict[str, Any]] = []
    for new, other, said, known in pairs(prompt):
        heights = [set(re.findall(r"3\d\d m", text)) for text in (said, known)]
        if all(heights) and heights[0].isdisjoint(heights[1]):
            claims = {"kind": "number", "reason": "The heights differ.", "new_claim": said, "other_claim": known}
            found.append({"new": new, "other": other, "relation": "conflict", **claims})
        elif all(heights):
            same = {"kind": "", "reason": "The same height.", "new_claim": "", "other_claim": ""}
            found.append({"new": new, "other": other, "relation": "merge", **same})
    return {"findings": found}


def find_related(prompt: str) -> dict[str, Any]:
    """Each new memory is related to the first it is shown with, which is refreshed."""
    first = {new: other for new, other, _, _ in reversed(list(pairs(prompt)))}
    old = {"other_context": "Of the iron tower.", "other_keywords": ["tower"]}
    new_ = {"new_context": "", "new_keywords": []}
    return {"related": [{"new": new, "other": other, **new_, **old} for new, other in first.items()]}


def integrate(prompt: str) -> dict[str, Any]:
    """What is merged here is the height."""
    said = {"summary": "The iron tower of Paris is 330 m tall.", "context": "Its height.", "keywords": ["height"]}
    groups = map(int, re.findall(r'<group id="(\d+)">', prompt))
    return {"merged": [{"group": n, **said, "description": "Put together.", "neighbours": []} for n in groups]}


def plan(prompt: str) -> dict[str, Any]:
    """One search and the answer; of the second question a step that fails, and no answer."""
    done = re.findall(r"^- (\w+), ", prompt, re.MULTILINE)
    steps = [("solve", "Work out who painted it.")] if AGAIN in prompt.split("</task>")[0] else _STEPS
    left = [step for step in steps if step[0] not in done]
    kind, description = left[0] if left else ("", "")
    return {"is_done": not left, "kind": kind, "description": description}


_STEPS = [("search", "Look at the picture of the lift."), ("answer", "Answer from memory.")]


def validate(prompt: str) -> dict[str, Any]:
    """330 m holds, by all that says so."""
    evidence = re.findall(r'<evidence id="(\d+)">\n(.*?)\n</evidence>', prompt, re.DOTALL)
    told = [int(number) for number, text in evidence if "330 m" in text]
    verdicts: list[dict[str, Any]] = []
    for number, text in re.findall(r'<dispute id="(\d+)">\n(.*?)\n</dispute>', prompt, re.DOTALL):
        claim = next(int(n) for n, words in re.findall(r"^claim (\d+): (.*)$", text, re.MULTILINE) if "330" in words)
        why = {"statement": "", "explanation": "The site says 330 m.", "evidence": told}
        verdicts.append({"dispute": int(number), "outcome": "holds", "claim": claim, **why})
    return {"verdicts": verdicts}


def recognize(_: str) -> dict[str, Any]:
    """A chart; which picture it is stands in the request, and not in the prompt."""
    return seen(VISITORS)


def seen(figure: str) -> dict[str, Any]:
    """What is said of a picture."""
    return {"written": "", "shown": "A picture of the tower.", "figures": [figure]}


def answer(prompt: str) -> dict[str, Any]:
    """The height and the visitors, by the passages that hold them."""
    passages = re.findall(r'<passage id="(\d+)">(.*?)</passage>', prompt, re.DOTALL)
    quotes: list[dict[str, Any]] = []
    for wanted in ("The iron tower of Paris is 330 m tall", VISITORS):
        held = next((int(number) for number, text in passages if wanted in unescape(text)), None)
        quotes += [{"passage": held, "words": wanted}] if held else []
    return {"is_found": bool(quotes), "answer": " ".join(quote["words"] for quote in quotes), "quotes": quotes}


def pairs(prompt: str) -> Iterator[tuple[int, int, str, str]]:
    """The pairs to judge: their numbers, and what both say."""
    shown = {
        int(number): unescape(re.findall(r"^(?:text|summary): (.*)$", said, re.MULTILINE)[0])
        for number, said in re.findall(r'<memory id="(\d+)">\n(.*?)\n</memory>', prompt, re.DOTALL)
    }
    for line in "".join(re.findall(r"<pairs>\n(.*?)\n</pairs>", prompt, re.DOTALL)).splitlines():
        new, _, others = line.partition(": ")
        for other in map(int, others.split(", ")):
            yield int(new), other, shown[int(new)], shown[other]


_judge = ScriptedJudge(
    find_conflicts=find_conflicts,
    find_related=find_related,
    integrate=integrate,
    plan=plan,
    validate=validate,
    recognize=recognize,
    answer=answer,
)


# --- the agent -----------------------------------------------------------------------------------------------------


def judge(request: ChatRequest) -> Reply:
    """Answer as judge or as agent, whoever is asked."""
    if request.images:
        shows_lift = base64.b64encode(LIFT).decode() in request.images[0]
        return Reply(data=seen(LIFTED if shows_lift else VISITORS))
    try:
        _judge.kind_of(request)
    except LookupError:
        return act(request)
    return _judge(request)


def act(request: ChatRequest) -> Reply:
    """The next turn of the agent, by its step and the results it has seen."""
    results = [str(message["content"]) for message in request.messages if message["role"] == "tool"]
    prompt = next(str(message["content"]) for message in request.messages if message["role"] == "user")
    (kind,) = re.findall(r"^Current step \((\w+)\)", prompt, re.MULTILINE)
    turns = {"cross_validate": checking, "search": looking}.get(kind, failing)
    return turns(prompt, results)


def checking(prompt: str, results: list[str]) -> Reply:
    """Search, visit what was found, read a memory whole, and say what holds."""
    if not results:
        return calling(results, "search", queries=["height of the iron tower of Paris"])
    pages = re.findall(r"http://\S+/height", results[0])
    if len(results) == 1 and pages:
        return calling(results, "visit", url=pages[0], goal="How tall is the tower?")
    if len(results) == 2:
        node = prompt.split("<memory>\n[")[1].split("]")[0]
        return calling(results, "deep_retrieval", node_id=node)
    return Reply("The page of the tower says that it is 330 m tall." if pages else "Nothing was found.")


def looking(prompt: str, results: list[str]) -> Reply:
    """Open a picture, whose address memory holds."""
    sites = re.findall(r"(http://[^\s/]+)/height", prompt)
    if not results and sites:
        return calling(results, "visit", url=f"{sites[0]}/lift.png", goal="What does the lift hold?")
    return Reply("There is a picture of the lift." if results else "No picture was found.")


def failing(prompt: str, results: list[str]) -> Reply:
    """Call for what is not there, until the step has failed."""
    return calling(results, "nosuch")


def calling(results: list[str], tool: str, **arguments: Any) -> Reply:
    """Call a tool; its id says how far the step is, so that it is the same in every run."""
    return Reply(tool_calls=[ToolCall(tool, arguments, id=f"call_{len(results)}")])
