"""Opens SQLite the way a memory needs it: durable, erasing what it deletes, and readable by its owner only."""

import os
import sqlite3
from pathlib import Path

from agentic_memory_bank.tools.storage import storage_errors


def connect(path: Path) -> sqlite3.Connection:
    """Open a database in WAL mode with `secure_delete`; the file is made 0600.

    Raises:
        StorageError: It cannot be opened, or is damaged.
    """
    with storage_errors(path):
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(path, check_same_thread=False, timeout=30)
        try:
            for pragma in ("journal_mode=WAL", "secure_delete=ON", "synchronous=NORMAL", "busy_timeout=30000"):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def truncate_log(connection: sqlite3.Connection) -> None:
    """Write the WAL back and cut it to nothing, so that deleted text does not stay in it."""
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
