"""When the server searches for garbage: new objects rarely, and all objects between answers."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from chat_app.events import AgentEvent
from chat_app.interface.runtime import Runtime
from chat_app.interface.serving import PageServer
from chat_app.interface.turns.live_turn import LiveTurn
from tests.support.api_server import api
from tests.support.fake_agent import FakeAgent


class Knot:
    """An object that only a search for garbage can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def searched() -> Iterator[list[int]]:
    """The generation of each search that Python begins."""
    found: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            found.append(info["generation"])

    before = gc.get_threshold()
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    gc.set_threshold(*before)


async def test_growth_makes_the_server_search_new_objects_alone(tmp_path: Path, searched: list[int]) -> None:
    async with api(FakeAgent(), tmp_path):
        searched.clear()
        kept = [[number] for number in range(1_000_000)]
    assert len(kept) // 20_000 <= len(searched) <= len(kept) // 5_000
    assert set(searched) == {0, 1}


async def test_all_objects_are_searched_between_answers_or_at_the_latest_in_two_minutes(tmp_path: Path) -> None:
    end = asyncio.Event()

    async def events() -> AsyncIterator[AgentEvent]:
        await end.wait()
        return
        yield

    async with api(FakeAgent(), tmp_path) as running:
        assert await _ticks_to_free_a_knot(running.runtime) == 600
        turn = LiveTurn("ana", "thread", "question")
        running.runtime.turns.start(turn, turn.run(events()))
        assert await _ticks_to_free_a_knot(running.runtime) == 1_200
        end.set()
        await turn.saved.wait()


async def _ticks_to_free_a_knot(runtime: Runtime) -> int:
    server = PageServer(uvicorn.Config(FastAPI()), runtime, None)
    knot = Knot()
    gc.collect()
    left = weakref.ref(knot)
    del knot
    for ticks in range(1, 2_000):
        assert not await server.on_tick(1)
        if left() is None:
            return ticks
    return 0
