"""Do several server processes on one Postgres serve large users at once, each reading what others have just written?

    python benchmarks/mixed_load.py [--users 8] [--memories 20000] [--processes 4] [--rate 20] [--seconds 60]

Each user has that many memories. Requests come at random moments at the given rate, each to a process drawn by lot:
nine in ten recall what helps with a message, one in ten remembers a turn, from which a fact is drawn at once. After
each fact that was remembered another process is asked for it: it has to be in the block.

*Service* is the time from when a process takes up a request until it has answered; *answer* the time from when the
request was due, waiting for a free thread among it. *Cold* is the first recall of a user in a process, before the
measured time. *Read whole* counts how often a process read all events of a user in the measured time. Vectors are made
of hashes, so embedding by a model is left out. The database is that of `--database`, or one that is started for this,
durable as Postgres is by default.

The exit status says whether every bar holds.
"""

import argparse
import asyncio
import json
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from _bars import holds  # beside this
from memory_latency import _WORDS as WORDS  # a benchmark, too
from memory_latency import _own_bytes as own_bytes

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.event_log import EventLog

MOST_SERVICE: Final = 0.150
"""Seconds: p95 of a recall's service."""
THREADS: Final = 8
WRITES: Final = 0.1
FILLED: Final = 1_000
PATIENCE: Final = 600
NOISE: Final = 0.2


# --- a server process ------------------------------------------------------------------------------------------------


class Dense(HashEmbeddings):
    """Vectors of hashes with noise, which no database compresses, as it does not those of a model."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        noise = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimension)
        vector = np.array(super().embed_query(text)) + NOISE * noise / np.linalg.norm(noise)
        return (vector / np.linalg.norm(vector)).tolist()


class Server:
    """Answers the requests that come as lines of JSON, several at a time."""

    def __init__(self) -> None:
        self.memories = Memories(embeddings=Dense(384))
        self.read_whole = 0
        self._said = threading.Lock()
        read = EventLog._everything  # pyright: ignore[reportPrivateUsage]

        def counted(log: EventLog, heads: dict[str, int]) -> Any:
            self.read_whole += 1
            return read(log, heads)

        EventLog._everything = counted  # pyright: ignore[reportPrivateUsage]

    def serve(self) -> None:
        """Answer until nobody asks any more."""
        with ThreadPoolExecutor(THREADS) as threads:
            for line in sys.stdin:
                threads.submit(self._answer, json.loads(line))
        self.memories.close()

    def _answer(self, asked: dict[str, Any]) -> None:
        begun = time.perf_counter()
        try:
            found = getattr(self, asked["do"])(asked)
        except Exception as error:
            found = {"fault": f"{type(error).__name__}: {error}"}
        told = json.dumps({"id": asked["id"], "service": time.perf_counter() - begun, **found})
        with self._said:
            sys.stdout.write(told + "\n")
            sys.stdout.flush()

    def fill(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Store the memories of a user."""
        chance = random.Random(asked["user"])
        drafts = [{"text": f"The user {' '.join(chance.choices(WORDS, k=9))}."} for _ in range(asked["count"])]
        records = self.memories._records  # pyright: ignore[reportPrivateUsage]
        for start in range(0, len(drafts), FILLED):
            records.store_many(asked["user"], drafts[start : start + FILLED])
        records.flush(PATIENCE)  # until the index is kept: a server lives on, and this process is about to end
        return {}

    def recall(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Recall what helps with a message."""
        found = self.memories.recall(asked["text"], user=asked["user"])
        degraded = found["receipt"].get("degraded")
        return {"found": len(found["memories"]), "block": found["block"], "degraded": degraded or []}

    def remember(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Remember a turn, and draw from it at once."""
        user, conversation = asked["user"], asked["conversation"]
        done = self.memories.remember(asked["text"], user=user, conversation_id=conversation, end=True)
        return {"found": len(done["stored"])}

    def settle(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Wait until nothing is done in the background, and begin to count."""
        records = self.memories._records  # pyright: ignore[reportPrivateUsage]
        records.flush(PATIENCE)
        told, self.read_whole = {"read_whole": self.read_whole}, 0
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {**told, "cpu": used.ru_utime + used.ru_stime, "bytes": own_bytes()}


# --- whoever asks ----------------------------------------------------------------------------------------------------


class Client:
    """Talks to one server process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def begin(cls, environment: dict[str, str]) -> "Client":
        """Start a process."""
        pipes: dict[str, Any] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        return cls(await asyncio.create_subprocess_exec(sys.executable, __file__, "--serve", env=environment, **pipes))

    async def ask(self, do: str, **told: Any) -> dict[str, Any]:
        """Have something done."""
        self._number += 1
        asked = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        assert self._process.stdin
        self._process.stdin.write((json.dumps({"id": self._number, "do": do, **told}) + "\n").encode())
        found = await asked
        if "fault" in found:
            raise SystemExit(f"{do}: {found['fault']}")
        return found

    async def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            found = json.loads(line)
            self._waiting.pop(found["id"]).set_result(found)


class Load:
    """The requests of the measured time, and what became of them."""

    def __init__(self, clients: list[Client], users: list[str], chance: random.Random) -> None:
        self._clients, self._users, self._chance = clients, users, chance
        self.service: dict[str, list[float]] = {"recall": [], "remember": []}
        self.answer: dict[str, list[float]] = {"recall": [], "remember": []}
        self.stale: list[str] = []
        self.fresh = self.degraded = self._told = 0

    async def go(self, rate: float, seconds: float) -> None:
        """Send the requests when they are due, whatever has become of those before."""
        begun, due, asked = time.perf_counter(), 0.0, list[asyncio.Task[None]]()
        while (due := due + self._chance.expovariate(rate)) < seconds:
            await asyncio.sleep(max(0.0, begun + due - time.perf_counter()))
            is_write = self._chance.random() < WRITES
            asked.append(asyncio.create_task(self._write(begun + due) if is_write else self._read(begun + due)))
        await asyncio.gather(*asked)

    async def _read(self, due: float) -> None:
        user = self._chance.choice(self._users)
        await self._recall(self._chance.choice(self._clients), user, message(self._chance), due)

    async def _recall(self, client: Client, user: str, text: str, due: float) -> str:
        found = await client.ask("recall", user=user, text=text)
        self._note("recall", found, due)
        self.degraded += bool(found["degraded"])
        return found["block"]

    async def _write(self, due: float) -> None:
        """Remember something, and have another process asked for it."""
        self._told += 1
        user, (client, other) = self._chance.choice(self._users), self._chance.sample(self._clients, 2)
        name = f"{self._chance.choice(WORDS)}{self._told}x"
        said = f"My boat is called {name.capitalize()}."
        found = await client.ask("remember", user=user, text=said, conversation=f"c{self._told}")
        self._note("remember", found, due)
        block = await self._recall(
            other, user, f"What do you know of my boat {name.capitalize()}?", time.perf_counter()
        )
        self.fresh += 1
        if name.capitalize() not in block:
            self.stale.append(name)

    def _note(self, do: str, found: dict[str, Any], due: float) -> None:
        self.service[do].append(found["service"])
        self.answer[do].append(time.perf_counter() - due)


def message(chance: random.Random) -> str:
    """What a user says who is to be helped by memories."""
    return f"What did I tell you about {' '.join(chance.choices(WORDS, k=3))}?"


async def measure(given: argparse.Namespace, environment: dict[str, str]) -> dict[str, Any]:
    """The figures; times in milliseconds."""
    chance, users = random.Random(7), [f"user {number}" for number in range(given.users)]
    clients = [await Client.begin(environment) for _ in range(given.processes)]
    begun = time.perf_counter()
    for user in users:
        await clients[0].ask("fill", user=user, count=given.memories)
    filled = time.perf_counter() - begun
    await clients[0].end()  # whoever has written them holds them in memory
    clients[0] = await Client.begin(environment)
    await clients[0].ask("recall", user=users[0], text="Who am I?")
    cold = [await client.ask("recall", user=u, text=message(chance)) for client in clients for u in users]
    before = [await client.ask("settle") for client in clients]
    load, begun, computed = Load(clients, users, chance), time.perf_counter(), _database_cpu(environment)
    await load.go(given.rate, given.seconds)
    taken = time.perf_counter() - begun
    after = [await client.ask("settle") for client in clients]
    for client in clients:
        await client.end()
    count = sum(map(len, load.service.values()))
    cpu = sum(a["cpu"] - b["cpu"] for a, b in zip(after, before, strict=True))
    return {
        "users": given.users,
        "memories": given.memories,
        "processes": given.processes,
        "requests": count,
        "requests a second": round(count / taken, 1),
        **{f"{do} {name}": _spread(times) for do in load.service for name, times in _both(load, do).items()},
        "cold recall": _spread([one["service"] for one in cold]),
        "cold recalls that found nothing": sum(not one["found"] for one in cold),
        "read whole while cold": sum(one["read_whole"] for one in before),
        "read whole": sum(one["read_whole"] for one in after),
        "fresh reads": f"{load.fresh - len(load.stale)} of {load.fresh}",
        "recalls without memory": load.degraded,
        "CPU a request, ms": round(1_000 * cpu / count, 1),
        "CPU of the database a request, ms": round(1_000 * (_database_cpu(environment) - computed) / count, 1),
        "MB of a process": round(max(one["bytes"] for one in after) / 1e6),
        "fill, s": round(filled),
        **_sizes(environment, given.users),
    }


def _both(load: Load, do: str) -> dict[str, list[float]]:
    return {"service": load.service[do], "answer": load.answer[do]}


def _spread(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds) or [0.0]
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    found = {"p50": statistics.median(ordered), "p95": p95, "longest": ordered[-1]}
    return {name: round(1_000 * s, 1) for name, s in found.items()}


def _database_cpu(environment: dict[str, str]) -> float:
    """Seconds that the processes of the database have computed, where they are on this machine."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    with _connected(environment) as connection:
        head = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    try:
        parent = int(Path(f"/proc/{head}/stat").read_text().rpartition(")")[2].split()[1])
        for file in Path("/proc").glob("[0-9]*/stat"):
            told = file.read_text().rpartition(")")[2].split()
            own, ended = int(told[11]) + int(told[12]), int(told[13]) + int(told[14])
            is_head = int(file.parent.name) == parent
            if is_head or int(told[1]) == parent:
                total += (own + ended * is_head) / tick
    except OSError:
        return 0.0
    return total


def _sizes(environment: dict[str, str], users: int) -> dict[str, float]:
    with _connected(environment) as connection:
        (size,) = connection.execute("SELECT pg_total_relation_size('store')").fetchone()
        query = "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        (clients,) = connection.execute(query).fetchone()
    kept = sum(file.stat().st_size for file in Path(environment["MEMORY_BANK_HOME"]).rglob("*.index"))
    return {
        "MB of the database for a user": round(size / users / 1e6, 1),
        "MB of a user's index": round(kept / users / 1e6, 1),
        "connections left": clients - 1,
    }


def _connected(environment: dict[str, str]) -> Any:
    return import_module("psycopg").connect(environment["MEMORY_BANK_DATABASE_URL"])


def are_met(found: dict[str, Any]) -> bool:
    """Print each figure that has a bar; whether all hold."""
    fresh, asked = map(int, found["fresh reads"].split(" of "))
    met = [
        holds("p95 of a recall's service, ms", found["recall service"]["p95"], most=1_000 * MOST_SERVICE),
        holds("share of reads that have what another process has just written", fresh / max(1, asked), least=1),
        holds("times that a process read all again", found["read whole"], most=0),
        holds("recalls that were answered without memory", found["recalls without memory"], most=0),
        holds("first recalls of a process that found nothing", found["cold recalls that found nothing"], most=0),
    ]
    return all(met)


def main() -> int:
    """Print the figures and their bars; 1 where one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--database", help="address of a Postgres database; its memories are left in it")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        Server().serve()
        return 0
    with ExitStack() as opened:
        home = opened.enter_context(tempfile.TemporaryDirectory())
        address = given.database
        if address is None:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
            servers: Any = import_module("postgres_server")
            if (programs := servers.programs()) is None:
                sys.stdout.write("No PostgreSQL server is here (apt-get install postgresql): not measured.\n")
                return 0
            address = opened.enter_context(servers.postgres_server(programs))
        own = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_BANK_")}
        environment = {**own, "MEMORY_BANK_HOME": home, "MEMORY_BANK_DATABASE_URL": address}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MEMORY_BANK_MEMORY_QUOTA": "1000000"}
        found = asyncio.run(measure(given, environment))
    found["load of the machine"] = re.sub(r"(\S+ ).*", r"\1", Path("/proc/loadavg").read_text()).strip()
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0 if are_met(found) else 1


if __name__ == "__main__":
    sys.exit(main())
