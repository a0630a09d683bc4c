"""A Redis client that sends the commands which wait together in one write.

A command alone costs a connection from the pool, a write, a read and a task; in a burst of questions hundreds wait. The
client's own pipelines take twice the time of such a write and read.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from hiredis import pack_command
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import DataError, ResponseError

from chat_app.batches import Batches

Command = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The words of a command and the options of its reply, as the client's pipelines keep them."""


class BatchedRedis(Redis):
    """Sends commands in the order in which they were given.

    A command that was given is sent, and its reply is read, even when its caller is cancelled. Transactions have a
    connection of their own.
    """

    def __init__(self, pool: ConnectionPool, seconds: float) -> None:
        super().__init__(connection_pool=pool)
        self._line = _KeptConnection(self, seconds)
        # These are raised before anything is sent.
        self.batches = Batches(_KeptConnection(self, seconds).send, apart=(DataError, UnicodeError))

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the reply to a command."""
        return _checked(await self.batches.do([(args, options)]))[0]

    async def execute_together(self, pipeline: Pipeline) -> list[Any]:
        """Return the replies to the commands of ``pipeline``, which are sent one after the other."""
        return _checked(await self.batches.do(pipeline.command_stack))

    async def execute_at_once(self, *args: Any) -> Any:
        """Return the reply to a command of the one caller that sends batches itself, one after the other."""
        return _checked((await self._line.send([[(args, {})]]))[0])[0]


class _KeptConnection:
    """Sends batches, one after the other, on a connection that it keeps: to take one from the pool costs more."""

    def __init__(self, redis: BatchedRedis, seconds: float) -> None:
        self._redis, self._seconds = redis, seconds
        self._connection: Any = None

    async def send(self, given: Sequence[Sequence[Command]]) -> Sequence[list[Any]]:
        packed = [_packed(*args) for commands in given for args, _ in commands]
        pool = self._redis.connection_pool
        if self._connection is None:
            self._connection = await pool.get_connection()  # type: ignore[no-untyped-call]
            # One limit holds for the batch. For one of its own the client starts a task with every write.
            self._connection.socket_timeout = None
        try:
            async with asyncio.timeout(self._seconds):
                # Connects again when the server has closed the connection meanwhile.
                await pool.ensure_connection(self._connection)
                await self._connection.send_packed_command(packed)
                return [[await self._reply(*command) for command in commands] for commands in given]
        except BaseException:
            # A reply that was not read must not be taken for that of the next command.
            await self._connection.disconnect(nowait=True)
            raise

    async def _reply(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        try:
            return await self._redis.parse_response(self._connection, args[0], **options)
        except ResponseError as error:
            return error


def _packed(name: str, *arguments: Any) -> bytes:
    # The asynchronous client packs in Python, which takes six times as long. Some names are two words.
    words: Any = (*name.split(), *arguments)
    try:
        packed: bytes = pack_command(words)
    except TypeError as error:
        raise DataError(*error.args) from None
    return packed


def _checked(replies: list[Any]) -> list[Any]:
    """Return the replies; raise the first error in them."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies
