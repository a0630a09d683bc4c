"""Wait for a condition in asynchronous tests, and watch whether the event loop keeps running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(condition: Callable[[], bool], *, what: str, seconds: float = 60.0) -> None:
    """Return when ``condition`` is true; fail with a sentence after ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {seconds:.0f} s") from None


async def loop_turns(work: Awaitable[T]) -> tuple[T | BaseException, int]:
    """Await ``work``; return its result or exception, and how often the event loop ran another task meanwhile."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        await asyncio.sleep(0.005)
        turns += 1
    error = task.exception()
    return (error if error is not None else task.result()), turns
