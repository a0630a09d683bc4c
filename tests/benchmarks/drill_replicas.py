"""Two replicas behind nginx, with one PostgreSQL, Redis and Milvus Lite, while users ask: kill one, restart both.

A question searches a guideline and gets an answer of 50 words, one every 200 ms. A reader whose stream breaks resumes
it with Last-Event-ID. The events that it received are compared with the history. Started by root, every replica has
a separate host name, so that it counts as another machine. Replicas are forked from a process that has loaded the code.

    python -m tests.benchmarks.drill_replicas kill --times 20 --users 12     kill -9 of one of them, at random moments
    python -m tests.benchmarks.drill_replicas kill --background              the other one goes on with its answers
    python -m tests.benchmarks.drill_replicas restart --times 2 --users 12   SIGTERM of one after the other
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from chat_app.interface.assets import prepare_page_root
from tests.benchmarks.replay_server import replay_server
from tests.support.nginx import balancer
from tests.support.postgres import postgres_server
from tests.support.served import asclepius
from tests.support.services import free_port, milvus_lite_server, redis_server
from tools.guidelines.library import DEMO_FOLDER

WORDS, EVERY_MS = 50, 200
GUIDELINE = DEMO_FOLDER / "hypertension.pdf"
_FORKING = multiprocessing.get_context("forkserver")
_NEW_HOST_NAME = 0x04000000
"""CLONE_NEWUTS."""
_SETTLED_SECONDS = 20.0
_GIVE_UP_SECONDS = 60.0
_TURNS = "SELECT metadata FROM steps WHERE metadata LIKE '%\"turn\"%'"


@dataclass
class Replica:
    """One process of the app."""

    folder: Path
    environment: dict[str, str]
    port: int = field(default_factory=free_port)
    process: Any = None

    def start(self) -> None:
        own = {"ASCLEPIUS_DATA_DIR": str(self.folder / "data"), "ASCLEPIUS_PORT": str(self.port)}
        arguments = (self.environment | own, self.folder.name, str(self.folder / "serve.log"))
        self.process = _FORKING.Process(target=_serve, args=arguments)
        self.process.start()

    async def ready(self) -> None:
        while not await asyncio.to_thread(_is_loaded, f"http://127.0.0.1:{self.port}/readyz"):
            assert self.process.is_alive(), (self.folder / "serve.log").read_text()[-2000:]
            await asyncio.sleep(0.2)

    async def end(self, with_signal: signal.Signals) -> None:
        """Send ``with_signal``, and wait until the process has ended."""
        if self.process is not None and self.process.is_alive():
            os.kill(self.process.pid, with_signal)
            await asyncio.to_thread(self.process.join)


def _serve(environment: dict[str, str], host: str, log: str) -> None:
    """Serve the app in this process."""
    from chat_app.interface.http_api import create_app
    from chat_app.interface.serving import page_server
    from chat_app.observability.log_format import set_up_logs
    from chat_app.settings import Settings

    if os.geteuid() == 0:
        ctypes.CDLL(None).unshare(_NEW_HOST_NAME)
        socket.sethostname(host)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ |= environment
    settings = Settings()
    set_up_logs(settings.diagnostics)
    page_server(create_app(settings), settings).run()


def _is_loaded(readiness: str) -> bool:
    """Return whether all parts but the drug database, which is empty here, are ready."""
    try:
        parts = httpx.get(readiness, timeout=5).json()["parts"]
    except (httpx.HTTPError, ValueError):
        return False
    return "services" not in parts and all(part["ready"] for name, part in parts.items() if name != "drugs")


@dataclass
class Shown:
    """What one reader was shown of one question."""

    turn_id: str = ""
    at: str = ""
    text: str = ""
    outcome: str = ""
    replaced: bool = False
    recoveries: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    _broke: float = 0.0

    def broke(self) -> None:
        self._broke = self._broke or time.monotonic()

    async def read(self, response: httpx.Response) -> None:
        self.turn_id = response.headers["x-turn-id"]
        async for line in response.aiter_lines():
            if self._broke and line.startswith("id: "):
                self.recoveries.append(time.monotonic() - self._broke)
                self._broke = 0.0
            if line.startswith("id: "):
                self.at = line[4:]
            elif line.startswith("data: "):
                event = json.loads(line[6:])
                self.text += event["text"] if event["type"] == "text_delta" else ""
                if event["type"] == "text_replaced":
                    self.text, self.replaced = "", True
                if event["type"] == "turn_ended":
                    self.outcome = event["outcome"]["code"]


class User:
    """Asks one question after the other through the balancer."""

    def __init__(self, url: str, name: str, seen: list[Shown]) -> None:
        self._url, self._name, self._seen = url, name, seen

    async def run(self, over: asyncio.Event) -> None:
        headers = {"x-drill-user": self._name}
        async with httpx.AsyncClient(base_url=self._url, headers=headers, timeout=40) as client:
            while not over.is_set():
                try:
                    (await client.post("/auth/header")).raise_for_status()
                    break
                except httpx.HTTPError:
                    await asyncio.sleep(0.5)
            while not over.is_set():
                await asyncio.sleep(random.uniform(0, 2))
                shown = Shown()
                self._seen.append(shown)
                await self._asked(client, shown)
                if shown.turn_id:
                    await self._resumed(client, shown)

    async def _asked(self, client: httpx.AsyncClient, shown: Shown) -> None:
        body = {"message": "Which drugs are contraindicated?"}
        try:
            async with client.stream("POST", "/api/v1/consult", json=body) as response:
                if response.status_code == 200:
                    await shown.read(response)
                else:
                    shown.refused.append(str(response.status_code))
        except httpx.TransportError as error:
            if not shown.turn_id:
                shown.refused.append(type(error).__name__)

    async def _resumed(self, client: httpx.AsyncClient, shown: Shown) -> None:
        given_up = time.monotonic() + _GIVE_UP_SECONDS
        while not shown.outcome and time.monotonic() < given_up:
            shown.broke()
            headers = {"last-event-id": shown.at} if shown.at else {}
            try:
                async with client.stream("GET", f"/api/v1/turns/{shown.turn_id}/events", headers=headers) as response:
                    if response.status_code == 200:
                        await shown.read(response)
            except httpx.TransportError:
                pass
            await asyncio.sleep(0 if shown.outcome else 0.3)


@asynccontextmanager
async def cluster(folder: Path, *, background: bool) -> AsyncIterator[tuple[str, str, Sequence[Replica]]]:
    """Run everything; yield the balancer's address, the database's and the replicas."""
    with ExitStack() as running:
        database = running.enter_context(postgres_server())
        shared = {
            "DATABASE_URL": database,
            "REDIS_URL": running.enter_context(redis_server(folder)),
            "ASCLEPIUS_AUTH": "header",
            "ASCLEPIUS_LOAD_DEMO": "false",
            "ASCLEPIUS_DRAIN_SECONDS": "40",
            "CHAINLIT_AUTH_SECRET": "x" * 40,
            "MILVUS_URI": running.enter_context(milvus_lite_server(folder / "milvus")),
            "OPENAI_BASE_URL": running.enter_context(replay_server()),
            "OPENAI_API_KEY": "drill",
            "ASCLEPIUS_MODEL": f"{'kept' if background else 'clinic'}:{WORDS}:{EVERY_MS}",
            "ASCLEPIUS_BACKGROUND": str(background),
        }
        prepare_page_root(folder / "forking")
        _FORKING.set_forkserver_preload(["chat_app.bootstrap", "chat_app.interface.chainlit_setup"])
        replicas = [Replica(folder / name, shared) for name in ("a", "b")]
        (folder / "guidelines").mkdir()
        try:
            for replica in replicas:
                (replica.folder / "data").mkdir(parents=True)
                (replica.folder / "data" / "guidelines").symlink_to(folder / "guidelines")
            loading = asclepius("guidelines", "add", str(GUIDELINE), data_dir=replicas[0].folder / "data", **shared)
            assert loading.returncode == 0, loading.stderr
            for replica in replicas:
                replica.start()
            for replica in replicas:
                await replica.ready()
            addresses = [f"127.0.0.1:{replica.port}" for replica in replicas]
            yield (
                running.enter_context(balancer(addresses, folder / "nginx", user="$http_x_drill_user")),
                database,
                replicas,
            )
        finally:
            for replica in replicas:
                await replica.end(signal.SIGKILL)


async def kill(replicas: Sequence[Replica], times: int, until: float) -> int:
    """Return how many were killed by ``until``, a time of the monotonic clock."""
    for number in range(times):
        if time.monotonic() > until:
            return number
        await asyncio.sleep(random.uniform(3, 9))
        replica = random.choice(replicas)
        await replica.end(signal.SIGKILL)
        replica.start()
        killed = time.monotonic()
        await replica.ready()
        print(f"  {replica.folder.name} is ready again {time.monotonic() - killed:.0f} s after kill -9", flush=True)
    return times


async def restart(replicas: Sequence[Replica], times: int, until: float) -> int:
    """Return how many times both were restarted by ``until``."""
    for number in range(times):
        if time.monotonic() > until:
            return number
        for replica in replicas:
            await asyncio.sleep(3)
            await replica.end(signal.SIGTERM)
            replica.start()
            await replica.ready()
    return times


async def drill(how: str, times: int, seconds: float, users: int, *, background: bool) -> bool:
    seen: list[Shown] = []
    with tempfile.TemporaryDirectory(prefix="asc-drill-") as name:
        async with cluster(Path(name), background=background) as (url, database, replicas):
            over = asyncio.Event()
            asking = [asyncio.create_task(User(url, f"user{n}", seen).run(over)) for n in range(users)]
            await asyncio.sleep(5)
            times = await (kill if how == "kill" else restart)(replicas, times, time.monotonic() + seconds)
            over.set()
            await asyncio.gather(*asking)
            await asyncio.sleep(_SETTLED_SECONDS)
            stored = await _stored(database)
            if (keep := os.environ.get("DRILL_LOGS")) is not None:
                for replica in replicas:
                    Path(keep, f"{replica.folder.name}.log").write_bytes((replica.folder / "serve.log").read_bytes())
    return _report(f"{how} x {times}, {users} users", seen, stored, all_must_complete=how == "restart")


async def _stored(database: str) -> dict[str, dict[str, Any]]:
    """Return the metadata of each answer in the history, by turn."""
    connection = await asyncpg.connect(host=database.partition("host=")[2], user="asclepius", database="postgres")
    try:
        rows = [json.loads(row["metadata"]) for row in await connection.fetch(_TURNS)]
    finally:
        await connection.close()
    return {row["turn"]: row for row in rows if "outcome" in row or row.get("unfinished")}


def _report(what: str, seen: Sequence[Shown], stored: dict[str, dict[str, Any]], *, all_must_complete: bool) -> bool:
    asked = [shown for shown in seen if shown.turn_id]
    lost = [shown for shown in asked if (stored.get(shown.turn_id) or {}).get("answer", "") != shown.text]
    unmarked = [turn for turn, row in stored.items() if row.get("unfinished") or not row.get("outcome")]
    unended = [shown for shown in asked if not shown.outcome]
    refused = Counter(reason for shown in seen for reason in shown.refused)
    recoveries = sorted(second for shown in asked for second in shown.recoveries)
    outcomes = Counter(shown.outcome for shown in asked)
    print(f"{what}: {len(seen)} questions, outcomes {dict(outcomes)}, not taken {dict(refused)}")
    print(f"  answers that differ from what was shown: {len(lost)}; without an end: {len(unended)}, {len(unmarked)}")
    print(f"  answers of which text was taken back: {sum(shown.replaced for shown in asked)}")
    if recoveries:
        middle, late = recoveries[len(recoveries) // 2], recoveries[int(len(recoveries) * 0.95)]
        print(
            f"  {len(recoveries)} readers resumed; seconds: median {middle:.1f}, p95 {late:.1f}, {recoveries[-1]:.1f}"
        )
    for shown in lost[:3]:
        print(
            "  shown:",
            shown.turn_id,
            len(shown.text),
            "stored:",
            len((stored.get(shown.turn_id) or {}).get("answer", "")),
        )
    whole = not refused and set(outcomes) <= {"completed"} if all_must_complete else True
    return whole and not (lost or unmarked or unended)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("how", choices=("kill", "restart"))
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=600, help="begin none later than this")
    parser.add_argument("--users", type=int, default=12)
    parser.add_argument("--background", action="store_true", help="ask for background responses")
    given = parser.parse_args()
    drilled = drill(given.how, given.times, given.seconds, given.users, background=given.background)
    sys.exit(not asyncio.run(drilled))


if __name__ == "__main__":
    main()
