"""Many turns of every kind through one agent: nothing may grow.

``python -m tests.benchmarks.soak REDIS_URL TURNS`` prints the growth as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.events import TextDelta
from tests.support.engine import chained, clinic, consult, guideline_tool
from tests.support.scripted_server import (
    Disconnect,
    ScriptedServer,
    ScriptedTurn,
    Status,
    WaitFor,
    calls_reply,
    text_reply,
)

_ASK = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
_WHOLE = text_reply("Start metformin ", "at 500 mg. [1]", response_id="resp_2")
_WARM_UP = 50


@dataclass(frozen=True)
class Growth:
    """What there was more of after the turns than after the first of them."""

    memory_kb: int
    tasks: int
    open_files: int

    def __str__(self) -> str:
        return f"memory {self.memory_kb:+} kB, tasks {self.tasks:+}, connections and files {self.open_files:+}"


def resident_kb() -> int:
    """Resident memory of this process in kB (Linux)."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _turns(number: int) -> list[ScriptedTurn]:
    """The server's side of turn ``number``: whole, cut, refused, broken, or endless and then stopped."""
    match number % 5:
        case 0:
            return [calls_reply(_ASK, response_id="resp_1"), chained(_WHOLE)]
        case 1:
            return [[*_WHOLE[:5], Disconnect()]]
        case 2:
            return [[Status(400, body={"error": {"message": "no"}})]]
        case 3:
            return [calls_reply(_ASK)[:-1]]
        case _:
            return [[*_WHOLE[:5], WaitFor(asyncio.Event())]]


async def _one(agent: AsclepiusHealthcareAgent, server: ScriptedServer, number: int) -> None:
    server.add(*_turns(number))
    if number % 5 != 4:
        await consult(agent)
        return
    async with aclosing(agent.consult("How much metformin?")) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break


async def soak(redis_url: str, *, turns: int) -> Growth:
    """Plays ``turns`` turns, one after the other, and compares with what there was after the warm-up."""
    async with ScriptedServer([]) as server, clinic(server, redis_url, [guideline_tool()]) as agent:
        before = (0, 0, 0)
        for number in range(-_WARM_UP, turns):
            await _one(agent, server, number)
            server.requests.clear()
            if number == -1:
                before = await _state()
        after = await _state(least=before)
    return Growth(*(now - then for now, then in zip(after, before, strict=True)))


async def _state(least: tuple[int, int, int] | None = None) -> tuple[int, int, int]:
    """Return the state, once it has come down to ``least``; connections that were just closed need a moment."""
    await asyncio.sleep(0.3)
    waits = 600 if least else 0
    while waits and (len(asyncio.all_tasks()), _open_files()) > least[1:]:
        await asyncio.sleep(0.1)
        waits -= 1
    gc.collect()
    return resident_kb(), len(asyncio.all_tasks()), _open_files()


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(soak(sys.argv[1], turns=int(sys.argv[2]))))))
