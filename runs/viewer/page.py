"""The page of the viewer as one HTML file: a snapshot as data, beside the one script and the one style it may use.

Nothing of a memory is ever markup: it stands in the file as JSON without `<`, `>` and `&`, and the script makes text
nodes of it. The policy lets the browser load nothing and run nothing but that script, by its hash.
"""

import base64
import hashlib
import html
import json
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Final

from agentic_memory_bank.nodes.deps import timestamp, utc_now
from agentic_memory_bank.runs.viewer import MARK
from agentic_memory_bank.runs.viewer.snapshot import Shown, Snapshot

SCRIPTS: Final = ("words.js", "parts.js", "bank.js", "user.js", "pages.js", "live.js", "main.js")
"""The script, in the order in which its parts are joined."""
UNSHARED: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of whatever is served of a memory."""
_ESCAPED: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def page(snapshot: Snapshot, *, live: bool = False, undo: str | None = None) -> str:
    """Write the page.

    Args:
        snapshot: What it shows.
        live: Whether it may ask the process that serves it to change memories.
        undo: The name of the last action that it did, which may be taken back.
    """
    shown: Shown = {
        "snapshot": snapshot,
        "made_at": timestamp(utc_now()),
        "version": version("agentic-memory-bank"),
        "live": live,
        "undo": undo,
    }
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MARK}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy(live=live)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(_title(snapshot))}</title>\n<style>{_style()}</style>\n</head>\n<body>\n"
        "<noscript>This page shows a memory with the script it carries; switch JavaScript on to see it.</noscript>\n"
        f'<script type="application/json" id="shown">{as_data(shown)}</script>\n'
        f"<script>{_script()}</script>\n</body>\n</html>\n"
    )


def policy(*, live: bool = False) -> str:
    """The policy of the page: its own script and style, and for the live page its own address; text is never markup."""
    reached = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src '{_hash(_script())}'; style-src '{_hash(_style())}'; "
        f"connect-src {reached}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def headers(*, live: bool = False) -> dict[str, str]:
    """What goes with the page where it is served: its policy, and that nobody frames, keeps or shares it."""
    return {**UNSHARED, "Content-Security-Policy": f"{policy(live=live)}; frame-ancestors 'none'"}


def as_data(value: object) -> str:
    """JSON that cannot end the element it stands in, nor begin another."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)


def _title(snapshot: Snapshot) -> str:
    return " ".join(f"{snapshot['name'][:80]} · Agentic Memory Bank".split())


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "".join(map(_asset, SCRIPTS)) + "})();\n"


@cache
def _style() -> str:
    return _asset("viewer.css")


def _asset(name: str) -> str:
    return files("agentic_memory_bank.runs.viewer").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
