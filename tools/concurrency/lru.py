"""A bounded mapping of the most recently used values, each made when first asked for."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Keeps the values that were used last, and drops the one that was not used for longest. Safe across threads.

    Args:
        on_evict: Called with each value that is dropped, such as to close it.
    """

    def __init__(self, size: int, on_evict: Callable[[Value], object] | None = None) -> None:
        self._size, self._on_evict = size, on_evict
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, made where there is none; two threads never make one each."""
        with self._lock:
            if key not in self._values:
                self.put(key, make())
            self._values.move_to_end(key)
            return self._values[key]

    def peek(self, key: Key) -> Value | None:
        """The value of a key if there is one; this does not count as a use."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep a value as the one that was used last."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                dropped = self._values.popitem(last=False)[1]
                if self._on_evict is not None:
                    self._on_evict(dropped)

    def pop(self, key: Key) -> Value | None:
        """Take a value out, if it is there."""
        with self._lock:
            return self._values.pop(key, None)

    def values(self) -> list[Value]:
        """All values, the one that was used last at the end."""
        with self._lock:
            return list(self._values.values())

    def __len__(self) -> int:
        return len(self._values)
