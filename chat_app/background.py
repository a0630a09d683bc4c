"""Tasks that run beside what started them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 60.0

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


class UntilDone:
    """Repeats ``step`` in the background, at growing intervals, until it returns True."""

    def __init__(self, step: Callable[[], Awaitable[bool]]) -> None:
        self._step = step
        self._task: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Begin, unless the steps go on already."""
        if self._task is None or self._task.done():
            self._task = in_background(self._run())

    async def wait(self, seconds: float) -> None:
        """Wait until it is done, at most ``seconds``."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    async def end(self, seconds: float = 0.0) -> None:
        """Wait at most ``seconds``, then cancel the remaining steps."""
        await self.wait(seconds)
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not await self._step():
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
