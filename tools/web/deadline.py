"""A time limit for an HTTP request as a whole: libraries count anew with every byte that drips in."""

import ssl
import time
from typing import Any, Final, Self

import httpcore2

from agentic_memory_bank.tools.concurrency.waiting import check_waited_for

LOOK_SECONDS: Final = 0.25
"""How often it is looked whether somebody still waits for an answer."""
_LEAST: Final = 0.001


class Deadline:
    """When a request has to be answered, by the monotonic clock."""

    at: float = float("inf")
    message: str = "The answer was not complete in time."
    """Of the error when it has passed."""

    @classmethod
    def after(cls, seconds: float) -> Self:
        """The deadline that is so many seconds away."""
        deadline = cls()
        deadline.at, deadline.message = time.monotonic() + seconds, f"it was not done after {seconds:g} s"
        return deadline

    def left(self, timeout: float | None = None) -> float:
        """The seconds that one operation may take.

        Raises:
            httpcore2.ReadTimeout: None are left.
        """
        left = self.at - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout(self.message)
        return left if timeout is None else min(left, timeout)


class TimedStream(httpcore2.NetworkStream):
    """A connection on which no read or write outlasts a deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come, as long as somebody waits for it."""
        ends = time.monotonic() + self._deadline.left(timeout)
        while True:
            check_waited_for()
            left = ends - time.monotonic()
            try:
                return self._stream.read(max_bytes, min(max(left, _LEAST), LOOK_SECONDS))
            except httpcore2.ReadTimeout:
                if left <= LOOK_SECONDS:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write everything, if somebody waits for what comes of it."""
        check_waited_for()
        self._stream.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Go on encrypted."""
        left = self._deadline.left(timeout)
        return TimedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection."""
        return self._stream.get_extra_info(info)
