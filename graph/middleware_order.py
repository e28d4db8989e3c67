"""Warns where a middleware behind memory changes messages that memory has kept, such as one that masks addresses."""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from langchain_core.messages import BaseMessage

KNOWN: Final = 4_096
"""Number of messages whose hashes are kept."""

_LOG = logging.getLogger(__name__)


class MiddlewareOrder:
    """Compares what memory kept with what the model is shown, as a middleware does not know what stands behind it.

    Only hashes are kept. Safe across threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: OrderedDict[str, bytes] = OrderedDict()
        self._is_told = False

    def taken_in(self, messages: Iterable[BaseMessage]) -> None:
        """Note the messages that memory keeps."""
        with self._lock:
            for message in messages:
                if message.id:
                    self._said[message.id] = _hash(message)
                    self._said.move_to_end(message.id)
            while len(self._said) > KNOWN:
                self._said.popitem(last=False)

    def shown(self, messages: Iterable[BaseMessage]) -> None:
        """Warn, once, where one of these messages has changed."""
        with self._lock:
            changed = any(self._said.get(m.id or "") not in (None, _hash(m)) for m in messages)
            is_new, self._is_told = changed and not self._is_told, self._is_told or changed
        if is_new:
            _LOG.warning(
                "A middleware that stands behind memory has changed messages that memory keeps as they were before: "
                "what it masks, as PIIMiddleware does, is kept unmasked. Put it in front of memory in "
                "`middleware=[...]`."
            )


def _hash(message: BaseMessage) -> bytes:
    return hashlib.sha256(repr(message.content).encode("utf-8", "surrogatepass")).digest()
