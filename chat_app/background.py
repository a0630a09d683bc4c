"""Tasks that run beside what started them."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_tasks: Final = set[asyncio.Future[Any]]()
"""The running tasks, because the event loop keeps only weak references to them."""


def in_background(work: Awaitable[T]) -> asyncio.Future[T]:
    """Start ``work`` in a task that is kept until it has ended."""
    task = asyncio.ensure_future(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task
