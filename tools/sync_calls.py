"""Asynchronous functions and generators for code without an event loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of ``call()`` from a new event loop; raise ``RuntimeError`` where a loop is running."""
    refuse_running_loop()
    return asyncio.run(call())


def refuse_running_loop() -> None:
    """Raise ``RuntimeError`` inside an event loop, which a synchronous call would block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("An event loop is already running here; use the asynchronous form of this call.")


def iterate_sync(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """Iterate ``items`` in a new event loop; raise ``RuntimeError`` where a loop is running."""
    refuse_running_loop()
    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    yield runner.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            runner.run(items.aclose())


async def _next(items: AsyncGenerator[T, None]) -> T:
    return await anext(items)
