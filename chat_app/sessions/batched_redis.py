"""A Redis client that sends the commands which wait together in one write, within time limits.

A command alone costs a connection from the pool, a write, a read and a task; in a burst of questions hundreds wait. The
client's own pipelines take twice the time of such a write and read. The task of a batch reads all replies, so that a
caller who is cancelled cannot leave a reply to be mistaken for another's.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar, cast

from hiredis import pack_command
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import AuthenticationError, NoScriptError, RedisError, ResponseError

from chat_app.batches import Batches
from chat_app.errors import SessionStoreUnavailable

CONNECT_SECONDS: Final = 1.0
COMMAND_SECONDS: Final = 2.0

_UNREACHABLE: Final = (
    "The session store (Redis) cannot be reached or does not answer: check that it runs and, where REDIS_URL is set, "
    "that it names the right server. Until then conversations are not saved."
)
_LOGIN_REFUSED: Final = "The session store (Redis) refused the login: check the user name and password in REDIS_URL."
_REFUSED: Final = (
    "The session store (Redis) refused a command: check its log, its memory limit and the disk it writes to. "
    "Until then conversations are not saved."
)

_logger = logging.getLogger(__name__)

T = TypeVar("T")
Command = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The words of a command and the options of its reply, as the client's pipelines keep them."""


class BatchedRedis(Redis):
    """Sends commands in the order in which they were given.

    A command that was given is sent, and its reply is read, even when its caller is cancelled. Transactions have a
    connection of their own. Every call raises ``SessionStoreUnavailable`` when Redis refuses it, cannot be reached or
    does not answer within ``CONNECT_SECONDS + COMMAND_SECONDS``.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        self._line = _KeptConnection(self)
        # Raised before anything is sent.
        self._batches = Batches(_KeptConnection(self).send, apart=(UnicodeError,))
        self._transactions: set[asyncio.Task[Any]] = set()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the reply to a command."""
        async with _limits():
            return _checked(await self._batches.do([(args, options)]))[0]

    async def execute_together(self, pipeline: Pipeline) -> list[Any]:
        """Return the replies to the commands of ``pipeline``, which are sent one after the other."""
        async with _limits():
            return _checked(await self._batches.do(pipeline.command_stack))

    async def execute_at_once(self, *args: Any) -> Any:
        """Return the reply to a command of the one caller that sends batches itself, one after the other."""
        async with _limits():
            return _checked((await self._line.send([[(args, {})]]))[0])[0]

    async def transact(self, work: Callable[[Pipeline], Awaitable[T]], *watched: str) -> T:
        """Return what ``work`` returns in a transaction, which is made even when its caller is cancelled."""
        task = asyncio.ensure_future(self._transacted(work, watched))
        self._transactions.add(task)
        task.add_done_callback(self._transactions.discard)
        return await asyncio.shield(task)

    async def _transacted(self, work: Callable[[Pipeline], Awaitable[T]], watched: Sequence[str]) -> T:
        async with _limits():
            return cast("T", await self.transaction(work, *watched, value_from_callable=True))

    async def settle(self) -> None:
        """Wait for the submitted commands, within the time limits."""
        await self._batches.settle(CONNECT_SECONDS + COMMAND_SECONDS)
        if self._transactions:
            await asyncio.wait(set(self._transactions), timeout=CONNECT_SECONDS + COMMAND_SECONDS)


class _KeptConnection:
    """Sends batches, one after the other, on a connection that it keeps: to take one from the pool costs more."""

    def __init__(self, redis: BatchedRedis) -> None:
        self._redis = redis
        self._connection: Any = None

    async def send(self, given: Sequence[Sequence[Command]]) -> Sequence[list[Any]]:
        packed = [_packed(*args) for commands in given for args, _ in commands]
        pool = self._redis.connection_pool
        if self._connection is None:
            self._connection = await pool.get_connection()  # type: ignore[no-untyped-call]
            # One limit holds for the batch. For one of its own the client starts a task with every write.
            self._connection.socket_timeout = None
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
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


@asynccontextmanager
async def _limits() -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(CONNECT_SECONDS + COMMAND_SECONDS):
            yield
    except NoScriptError:
        # The client sends the script and calls it again.
        raise
    except AuthenticationError:
        raise SessionStoreUnavailable(_LOGIN_REFUSED) from None
    except ResponseError as error:
        # The first word is Redis' own code (OOM, MISCONF, READONLY); the rest may repeat an argument.
        _logger.warning("Redis refused a command: %s", str(error).split(" ", 1)[0])
        raise SessionStoreUnavailable(_REFUSED) from None
    except (RedisError, OSError, TimeoutError):
        raise SessionStoreUnavailable(_UNREACHABLE) from None


def _packed(name: str, *arguments: Any) -> bytes:
    # The asynchronous client packs in Python, which takes six times as long. Some names are two words.
    words: Any = (*name.split(), *arguments)
    packed: bytes = pack_command(words)
    return packed


def _checked(replies: list[Any]) -> list[Any]:
    """Return the replies; raise the first error in them."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies
