"""Has untrusted PDF, Word and HTML files parsed by a child process that may die of them: the parent's side."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

from agentic_memory_bank.state.errors import LoadError

Kind = Literal["pdf", "docx", "html"]

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 30
WALL_SECONDS = 35.0
OUTPUT_BYTES = 50 * 1024 * 1024

_CHILD = Path(__file__).with_name("parsing_child.py")
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")  # no keys, no proxies
_LIMITS = f"{MEMORY_BYTES >> 20} MB of memory, {CPU_SECONDS} s of processor time, {OUTPUT_BYTES >> 20} MB of text"
_SAY = {
    "locked": "{name} is protected by a password ({detail}). Save a copy without one, and load that.",
    "large": "{name} takes more to read than is allowed ({limits}): {detail}. Split it, or convert it to plain text.",
    "missing": "{name} cannot be read because a package is missing: {detail}. Install agentic-memory-bank again.",
    "foreign": "{name} is not what it is named: {detail}. Save it again as DOCX, or convert it to plain text.",
    "damaged": "{name} is damaged ({detail}). Open and save it again with another program, or convert it to text.",
}


class Part(NamedTuple):
    """A piece of a file's text, a page of a PDF or the whole, and what is known of it."""

    text: str
    metadata: dict[str, Any]


class Parser:
    """A child process that parses one file after another, started at the first; use it as a context manager.

    Each file may use `CPU_SECONDS` and `WALL_SECONDS`, the process `MEMORY_BYTES`; a file that takes more costs the
    child its life and the caller a `LoadError`. A later file gets a new child.
    """

    def __init__(self, *, cpu_seconds: int = CPU_SECONDS, wall_seconds: float = WALL_SECONDS) -> None:
        self._cpu_seconds = cpu_seconds
        self._wall_seconds = wall_seconds
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Parser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        if self._child is None:
            return
        child, self._child = self._child, None
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:  # what was not yet written to a dead child
                    continue
        child.wait()

    def parse(self, path: Path, kind: Kind, name: str) -> list[Part]:
        """Return the parts of a file that have text.

        Args:
            path: The file; a regular one, as the caller has made sure.

        Raises:
            LoadError: It is damaged, protected, empty of text, or takes more than a file may.
        """
        answer = self._ask({"path": str(path.absolute()), "kind": kind}, name)
        if "error" in answer:
            template = _SAY.get(answer["error"], _SAY["damaged"])
            raise LoadError(template.format(name=name, detail=answer["detail"], limits=_LIMITS))
        parts = [Part(part["text"], part["metadata"]) for part in answer["parts"] if part["text"].strip()]
        if not parts:
            raise LoadError(
                f"There is no text in {name}. If it holds pictures of pages, run text recognition (OCR) first."
            )
        return parts

    def _ask(self, request: dict[str, str], name: str) -> dict[str, Any]:
        child = self._child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        clock = threading.Timer(self._wall_seconds, child.kill)
        clock.daemon = True
        clock.start()
        try:
            child.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            child.stdin.flush()
            line = child.stdout.readline(OUTPUT_BYTES + 1)
        except BrokenPipeError:
            line = b""
        finally:
            clock.cancel()
        if line.endswith(b"\n"):
            return json.loads(line.decode("utf-8", "surrogatepass"))
        why = "more than that came out" if line else self._cause_of_death(child)
        self.close()
        return {"error": "large", "detail": why}

    def _cause_of_death(self, child: "subprocess.Popen[bytes]") -> str:
        code = child.wait()
        if code == -getattr(signal, "SIGKILL", -1):
            return f"it was not done after {self._wall_seconds:g} s"
        if code == -getattr(signal, "SIGXCPU", 0):
            return f"it was not done after {self._cpu_seconds} s of processor time"
        return f"the parser died (exit status {code})"

    def _start(self) -> "subprocess.Popen[bytes]":
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            )
        except OSError as fault:
            raise LoadError(f"The process that reads PDF, Word and HTML files cannot be started: {fault}.") from fault
        assert child.stdin is not None
        limits = {
            "import_path": [place for place in sys.path if os.path.isabs(place)],
            "memory_bytes": MEMORY_BYTES,
            "cpu_seconds": self._cpu_seconds,
        }
        child.stdin.write(json.dumps(limits).encode("ascii") + b"\n")
        return child
