"""Work in batches: what arrives while one batch is being done goes into the next one, together.

A single item is done at once. Under load one round trip to Redis or one transaction serves everything that waits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batches(Generic[T, R]):
    """Does items with ``work``, which returns the result of each, or the exception that its caller gets.

    An item is done even when its caller is cancelled.

    Args:
        work: Does a batch. What it raises, all callers of the batch get.
        apart: Exceptions that one item may cause for a whole batch; after them each item is done apart.
    """

    def __init__(
        self,
        work: Callable[[Sequence[T]], Awaitable[Sequence[R | Exception]]],
        apart: tuple[type[Exception], ...] = (),
    ) -> None:
        self._work, self._apart = work, apart
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._working: asyncio.Task[None] | None = None

    async def do(self, item: T) -> R:
        """Return the result of ``item``."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, result))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._until_none_waits())
        return await result

    async def settle(self, seconds: float) -> None:
        """Wait up to ``seconds`` until nothing is being done."""
        if self._working is not None:
            await asyncio.wait({self._working}, timeout=seconds)

    async def _until_none_waits(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            for (_, result), found in zip(batch, await self._done([item for item, _ in batch]), strict=True):
                if result.done():
                    # Its caller was cancelled.
                    continue
                if isinstance(found, Exception):
                    result.set_exception(found)
                else:
                    result.set_result(found)

    async def _done(self, items: Sequence[T]) -> Sequence[R | Exception]:
        try:
            return await self._work(items)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it
            if isinstance(error, self._apart) and len(items) > 1:
                return [found for item in items for found in await self._done([item])]
            return [error] * len(items)
