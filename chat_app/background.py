"""Tasks that run beside what started them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

_tasks: Final = set[asyncio.Future[Any]]()
"""The running tasks, because the event loop keeps only weak references to them."""


def in_background(work: Awaitable[T]) -> asyncio.Future[T]:
    """Start ``work`` in a task that is kept until it has ended."""
    task = asyncio.ensure_future(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


async def repeat(
    work: Callable[[], Awaitable[object]], seconds: float, *, quiet: tuple[type[Exception], ...] = ()
) -> None:
    """Do ``work`` every ``seconds`` until cancelled, whatever it raises. The first failure in a row is logged.

    ``quiet`` are errors that are not logged.
    """
    failing = False
    while True:
        try:
            await work()
            failing = False
        except quiet:
            pass
        except Exception as error:  # noqa: BLE001 - nobody would notice that it has ended
            if not failing:
                logger.warning("%s failed and is tried again: %s", work.__qualname__, type(error).__name__)
            failing = True
        await asyncio.sleep(seconds)
