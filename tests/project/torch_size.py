"""What PyTorch weighs to download, from the package index and as its CPU build.

Usage: `python tests/project/torch_size.py [--cpu INDEX_OR_FOLDER]`; it asks pip and the servers, and installs nothing.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

PIN = re.search(r"^torch==\S+$", (Path(__file__).parents[2] / "constraints.txt").read_text(), re.MULTILINE)
CPU = "https://download.pytorch.org/whl/cpu"


def wheels(*options: str) -> Sequence[str]:
    """The addresses of the wheels that pip would fetch for the pinned PyTorch."""
    assert PIN
    command = [sys.executable, "-m", "pip", "--isolated", "install", "-qq", "--dry-run", "--ignore-installed"]
    done = subprocess.run([*command, "--report", "-", *options, PIN[0]], capture_output=True, text=True, check=True)
    return [wheel["download_info"]["url"] for wheel in json.loads(done.stdout)["install"]]


def size(url: str) -> int:
    """The bytes of a wheel, which stays where it is."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path)).stat().st_size
    with urlopen(Request(url, method="HEAD"), timeout=60) as answer:
        return int(answer.headers["Content-Length"])


def main() -> None:
    """Print both sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", default=CPU, help="where the CPU build is")
    cpu = parser.parse_args().cpu
    builds = {"the package index": (), "the CPU build": ("--no-deps", "--no-index", "--find-links", cpu)}
    if cpu.startswith("http"):
        builds["the CPU build"] = ("--no-deps", "--index-url", cpu)
    for name, options in builds.items():
        found = wheels(*options)
        total = sum(map(size, found))
        sys.stdout.write(f"{name}: {total / 1e9:.2f} GB in {len(found)} wheels\n")


if __name__ == "__main__":
    main()
