"""A Redis client that sends the commands which wait together in one pipeline.

A command alone costs a connection from the pool, a write, a read and a task; in a burst of questions hundreds wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import DataError

from chat_app.batches import Batches

Command = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The words of a command and the options of its reply, as the client's pipelines keep them."""


class BatchedRedis(Redis):
    """Sends commands in the order in which they were given.

    A command that was given is sent, and its reply is read, even when its caller is cancelled. Transactions have a
    connection of their own.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        # These are raised before anything is sent.
        self.batches: Batches[Sequence[Command], list[Any]] = Batches(self._send, apart=(DataError, UnicodeError))

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the reply to a command."""
        return (await self._replies([(args, options)]))[0]

    async def execute_together(self, pipeline: Pipeline) -> list[Any]:
        """Return the replies to the commands of ``pipeline``, which are sent one after the other."""
        return await self._replies(pipeline.command_stack)

    async def _replies(self, commands: Sequence[Command]) -> list[Any]:
        replies = await self.batches.do(commands)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    async def _send(self, given: Sequence[Sequence[Command]]) -> Sequence[list[Any]]:
        async with self.pipeline(transaction=False) as pipeline:
            pipeline.command_stack = [command for commands in given for command in commands]
            replies = iter(await pipeline.execute(raise_on_error=False))
        return [[next(replies) for _ in commands] for commands in given]
