"""Connections to a Postgres database: opened at their first use, of one process each, and closed with it."""

import atexit
import os
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Generic, TypeVar

from agentic_memory_bank.state.errors import SettingsError

Made = TypeVar("Made")

DATABASE_URL: Final = "MEMORY_BANK_DATABASE_URL"
"""The variable that names the database."""
MOST_CONNECTIONS: Final = 8
"""Of one process: each holds one for the time of one statement."""
PATIENCE: Final = 5.0
"""Seconds that a connection is waited for."""


class Connections(Generic[Made]):
    """The connections of a process to one database, and what is made on them; a fork has its own.

    A database that was restarted is connected to anew.

    Args:
        url: As libpq understands it, such as `postgresql://user:password@host/database`.
        make: Makes what is used from a `ConnectionPool`; called once in a process, before the first use.
        options: What else the pool is given, besides its size. Each time a connection is lent, it is asked whether it
            still serves, unless `check` is None.

    Raises:
        ImportError: `psycopg_pool` is not installed.
        SettingsError: The address cannot be read.
    """

    def __init__(self, url: str, make: Callable[[Any], Made], **options: Any) -> None:
        self._pool_class = import_module("psycopg_pool").ConnectionPool
        _check_address(url)
        self._url, self._make, self._options = url, make, options
        self._lock = threading.Lock()
        self._opened: tuple[int, Any, Made] | None = None
        """The process, its connections, and what was made on them."""

    def get(self) -> Made:
        """What was made on the connections of this process.

        Raises:
            psycopg.Error: The database cannot be reached, or fails.
        """
        with self._lock:
            if self._opened is None or self._opened[0] != os.getpid():  # connections are not shared with a fork
                pool = self._pool_class(
                    self._url,
                    min_size=1,
                    max_size=MOST_CONNECTIONS,
                    timeout=PATIENCE,
                    open=True,
                    **{"check": self._pool_class.check_connection, **self._options},
                )
                try:
                    made = self._make(pool)
                except BaseException:
                    pool.close()
                    raise
                self._opened = (os.getpid(), pool, made)
                atexit.register(self.close)
            return self._opened[2]

    def renew(self) -> None:
        """Put new connections in the place of those that the database has ended."""
        with self._lock:
            opened = self._opened
        if opened is not None and opened[0] == os.getpid():
            opened[1].check()

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and opened[0] == os.getpid():
            atexit.unregister(self.close)
            opened[1].close()


def not_installed() -> SettingsError:
    """The error of who names a database without what reads one."""
    return SettingsError(
        f"{DATABASE_URL} names a Postgres database, but what reads one is not installed. "
        'Run: pip install "agentic-memory-bank[postgres]"'
    )


def _check_address(url: str) -> None:
    """Refuse an address that libpq cannot read, and do not repeat it, as libpq does: it may hold a password."""
    try:
        import_module("psycopg.conninfo").conninfo_to_dict(url)
    except import_module("psycopg").ProgrammingError:
        raise SettingsError(
            f"{DATABASE_URL} is no address of a Postgres database. Write it as "
            "postgresql://user:password@host/database, with `%40` for an @ in the password."
        ) from None
