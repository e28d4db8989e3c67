"""The live page: served on this machine alone, to whoever has the one-time address, and to no other site.

An address is good for one visit, which gets a cookie that only this page is sent. A request counts only with that
cookie and this machine's own name, and an action only from the page itself, as JSON: another site can neither read
the page nor make the browser act on it.
"""

import json
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from agentic_memory_bank.runs.viewer.actions import Looked
from agentic_memory_bank.runs.viewer.page import UNSHARED, headers, page
from agentic_memory_bank.state.errors import InputError, MemoryBankError

MOST_BYTES: Final = 100_000
"""Largest request."""
PATIENCE: Final = 30
"""Seconds that a connection may be silent."""


class LivePage(ThreadingHTTPServer):
    """Serves a page on the loopback interface until it is closed.

    Args:
        looked: What is shown and done.
        port: 0 for any that is free.

    Example:
        >>> with LivePage(LookedAtBank("observatory")) as page:
        ...     print(page.address)
        ...     page.serve_forever()
    """

    daemon_threads = True

    def __init__(self, looked: Looked, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Visit)
        self.looked = looked
        self.host = f"127.0.0.1:{self.server_port}"
        self._token: str | None = secrets.token_urlsafe(32)
        self.session = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """The address for the one visit."""
        return f"http://{self.host}/?token={self._token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie; cookies do not tell ports apart."""
        return f"view-{self.server_port}"

    def admits(self, token: str) -> bool:
        """Take the token of a visit; it is good once."""
        known, is_it = self._token, secrets.compare_digest(token.encode(), (self._token or "").encode())
        if is_it:
            self._token = None
        return known is not None and is_it


class _Visit(BaseHTTPRequestHandler):
    """A request of the page."""

    timeout = PATIENCE
    server_version = "memory-bank"
    sys_version = ""

    @property
    def _live(self) -> LivePage:
        return cast(LivePage, self.server)

    def do_GET(self) -> None:
        """Give a visitor with the token the cookie, and one with the cookie the page."""
        asked = urlsplit(self.path)
        token = parse_qs(asked.query).get("token", [""])[0]
        if asked.path != "/" or not self._is_for_us():
            return self._refuse(HTTPStatus.NOT_FOUND)
        if token and self._live.admits(token):
            cookie = f"{self._live.cookie}={self._live.session}; HttpOnly; SameSite=Strict; Path=/"
            return self._answer(HTTPStatus.SEE_OTHER, b"", "text/plain", {"Location": "/", "Set-Cookie": cookie})
        if not self._has_session():
            return self._refuse(HTTPStatus.FORBIDDEN)
        looked = self._live.looked
        html = page(looked.snapshot(), live=True, undo=looked.undoable).encode("utf-8", "replace")
        self._answer(HTTPStatus.OK, html, "text/html; charset=utf-8", headers(live=True))

    def do_POST(self) -> None:
        """Do an action that the page itself asks for."""
        if not (self._is_for_us() and self._has_session() and self._is_from_us()):
            return self._refuse(HTTPStatus.FORBIDDEN)
        action = self._live.looked.actions.get(self.path.removeprefix("/do/")) if self.path.startswith("/do/") else None
        if action is None:
            return self._refuse(HTTPStatus.NOT_FOUND)
        try:
            self._say(HTTPStatus.OK, action(self._given()))
        except MemoryBankError as error:
            self._say(HTTPStatus.BAD_REQUEST, {"message": str(error)})

    def _is_for_us(self) -> bool:
        """Whether it names this machine: a name of others that leads here is another site's."""
        return self.headers.get("Host") == self._live.host

    def _is_from_us(self) -> bool:
        is_json = self.headers.get("Content-Type", "").partition(";")[0].strip() == "application/json"
        return is_json and self.headers.get("Origin") == f"http://{self._live.host}"

    def _has_session(self) -> bool:
        try:
            held = SimpleCookie(self.headers.get("Cookie", "")).get(self._live.cookie)
        except CookieError:
            return False
        return held is not None and secrets.compare_digest(held.value.encode(), self._live.session.encode())

    def _given(self) -> Mapping[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and int(length) <= MOST_BYTES):
            self.close_connection = True
            raise InputError(f"A request has at most {MOST_BYTES:,} bytes.")
        try:
            given = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise InputError("A request is JSON.") from None
        if not isinstance(given, dict):
            raise InputError("A request is a JSON object.")
        return cast("dict[str, Any]", given)

    def _say(self, status: HTTPStatus, value: object) -> None:
        self._answer(status, json.dumps(value).encode(), "application/json", {})

    def _refuse(self, status: HTTPStatus) -> None:
        said = f"{status.phrase}. Open the address that `memory-bank view` prints; it is good once.\n"
        self._answer(status, said.encode(), "text/plain; charset=utf-8", {})

    def _answer(self, status: HTTPStatus, body: bytes, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**UNSHARED, **more, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: an address holds its token."""
