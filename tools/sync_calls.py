"""Asynchronous work for code that has no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs ``call()`` to its end in a loop of its own. Raises ``RuntimeError`` where a loop runs already."""
    refuse_running_loop()
    return asyncio.run(call())


def refuse_running_loop() -> None:
    """Raises ``RuntimeError`` inside an event loop, which a synchronous call would hold up."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("An event loop runs here already: use the asynchronous form of this call.")
