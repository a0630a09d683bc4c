"""The session store in Redis.

Every command is one atomic script on the keys of one conversation. Nothing is retried, because a command that was sent
may have succeeded.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache, partial
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript

from chat_app.errors import ChainConflict, ConfigurationError
from chat_app.sessions import redis_scripts
from chat_app.sessions.batched_redis import COMMAND_SECONDS, CONNECT_SECONDS, BatchedRedis
from chat_app.sessions.compaction import Compaction
from chat_app.sessions.ended_logins import EndedLogins
from chat_app.sessions.held_files import HeldFiles
from chat_app.sessions.left_responses import LeftResponses
from chat_app.sessions.session_index import UserIndex
from chat_app.sessions.session_lock import session_lock
from chat_app.sessions.session_store import (
    Message,
    Session,
    SessionSummary,
    StreamingState,
    is_session_id,
    new_session_id,
)
from chat_app.sessions.tallies import change_in_redis
from chat_app.sessions.turn_journal import TurnJournal
from tools.types import Frozen, Passage

KEPT_MESSAGES: Final = 1000
_COMPACTION_SECONDS: Final = 5.0
_JOURNAL_SECONDS: Final = 604_800
"""A turn waits a week for a history that is down."""
_LOGIN_SECONDS: Final = 86_400

_WRONG_URL: Final = "REDIS_URL must be a URL that begins with redis://, rediss:// or unix://."
_GONE: Final = "This conversation was deleted or has expired; a new question starts a new one."
_MOVED_ON: Final = "This conversation went on elsewhere while the question was being answered; ask again."

_logger = logging.getLogger(__name__)

M = TypeVar("M", bound=Frozen)


class RedisSessionStore:
    """Conversations, shared by all processes that use the same Redis; connects at the first call.

    Every call raises ``SessionStoreUnavailable`` when Redis cannot be reached or does not answer in time. Writing to a
    conversation that was deleted or has expired raises ``ChainConflict`` and leaves nothing behind. A record that
    cannot be read is moved aside, counted in ``corrupt_records`` and treated as missing. A conversation is kept for
    ``ttl`` seconds after its last use. Raises ``ConfigurationError`` for a URL of another kind.
    """

    def __init__(self, url: str, ttl: int = 86_400) -> None:
        try:
            self._pool = BlockingConnectionPool.from_url(
                url,
                max_connections=64,
                timeout=COMMAND_SECONDS,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=COMMAND_SECONDS,
                retry=Retry(NoBackoff(), 0),
                decode_responses=False,
            )
        except ValueError:
            raise ConfigurationError(_WRONG_URL) from None
        self._redis = BatchedRedis(self._pool)
        self._script = cache(self._registered)
        self._ttl = ttl
        self._index = UserIndex(self._redis, ttl)
        self._compaction = Compaction(self._redis)
        self.journal = TurnJournal(self._redis, max(ttl, _JOURNAL_SECONDS))
        self.ended_logins = EndedLogins(self._redis, _LOGIN_SECONDS)
        self.tallies = partial(change_in_redis, self._redis)
        self.held_files = HeldFiles(self._redis, self.journal.writer)
        self.left_responses = LeftResponses(self._redis)
        self.corrupt_records = 0
        """Number of records that this process found unreadable and moved aside."""

    async def create(
        self, user_id: str, *, session_id: str | None = None, vector_store_id: str | None = None, model_key: str = ""
    ) -> Session:
        """Create an empty conversation.

        ``session_id`` keeps an id from ``new_session_id`` that was assigned while the store was unavailable. Raises
        ``ChainConflict`` when that id is taken.
        """
        session = Session(
            session_id=session_id or new_session_id(),
            user_id=user_id,
            last_active_at=int(time.time()),
            vector_store_id=vector_store_id,
            model_key=model_key,
        )
        # The index first: an entry may lack its conversation, but no conversation may lack its entry.
        remembering = self._index.remember(user_id, session.session_id)
        await asyncio.gather(remembering, self._write("create", session.session_id, *_flat(session)))
        return session

    async def get(self, session_id: str, user_id: str) -> Session | None:
        """Return the conversation and renew its expiry; None when it does not exist or is another user's."""
        if not is_session_id(session_id):
            return None
        status, *reply = await self._run("get", session_id, user_id)
        if status == b"gone":
            return None
        try:
            session = Session.model_validate_strings(_text_fields(reply[0]))
        except ValueError:
            session = None
        if session is not None and (session.session_id, session.user_id) == (session_id, user_id):
            await self._index.remember(user_id, session_id)
            return session
        await self._run("put_session_aside", session_id)
        return None

    async def summaries(self, user_id: str, limit: int = 100) -> tuple[SessionSummary, ...]:
        """Return at most ``limit`` of the user's conversations, last used first; renews no expiry."""
        found: list[SessionSummary] = []
        for record, opening in await self._index.newest(user_id, limit):
            try:
                session = Session.model_validate_strings(_text_fields(record))
                message = Message.model_validate_json(opening) if opening else None
            except ValueError:
                # A list omits the conversation; opening it reports that it is unreadable.
                continue
            found.append(SessionSummary(session=session, opening=message))
        return tuple(sorted(found, key=lambda summary: summary.session.last_active_at, reverse=True))

    async def update(self, session: Session, *, expected_last_response_id: str | None) -> Session:
        """Store ``session`` and return it with the store's ``message_count`` and ``last_active_at``.

        Raises ``ChainConflict`` when the stored chain does not end at ``expected_last_response_id``.
        """
        session = session.model_copy(update={"last_active_at": int(time.time())})
        expected = ("0", "") if expected_last_response_id is None else ("1", expected_last_response_id)
        reply = await self._write("update", session.session_id, session.user_id, *expected, *_flat(session))
        return session.model_copy(update={"message_count": int(reply[0])})

    async def append_messages(self, session_id: str, messages: Sequence[Message]) -> None:
        """Append messages in this order, all or none; the newest 1,000 are kept."""
        lines = [message.model_dump_json() for message in messages]
        await self._write("append", session_id, int(time.time()), KEPT_MESSAGES, *lines)

    async def messages(self, session_id: str, limit: int = KEPT_MESSAGES) -> tuple[Message, ...]:
        """Return the newest ``limit`` messages, oldest first."""
        _, lines = await self._run("messages", session_id, limit)
        found = [await self._parsed(Message, session_id, "messages", b"", line) for line in lines]
        return tuple(message for message in found if message is not None)

    async def add_retrieved(self, session_id: str, passages: Sequence[Passage]) -> tuple[int, ...]:
        """Return the number of each passage, counted from 1 within the conversation.

        A passage id keeps its number and the content of its first retrieval; no two ids share a number.
        """
        # json, because pydantic writes a score that is infinite as null, which it then refuses to read.
        pairs = [text for passage in passages for text in (passage.id, json.dumps(passage.model_dump()))]
        reply = await self._write("add_retrieved", session_id, *pairs)
        return tuple(int(number) for number in reply[0])

    async def retrieved(self, session_id: str) -> dict[int, Passage]:
        """Return all passages that the conversation has retrieved by their numbers, which the model's markers have."""
        _, flat_numbers, flat_passages = await self._run("retrieved", session_id)
        numbers = _pairs(flat_numbers)
        found: dict[int, Passage] = {}
        for name, text in _pairs(flat_passages).items():
            passage = await self._parsed(Passage, session_id, "passages", name, text)
            number = numbers.get(name, b"")
            if passage is None:
                continue
            if number.isdigit() and int(number) > 0:
                found[int(number)] = passage
            else:
                await self._put_aside(session_id, "numbers", name, number)
        return dict(sorted(found.items()))

    async def set_streaming_state(self, session_id: str, request_id: str, state: StreamingState) -> None:
        """Store the progress of the answer to ``request_id``."""
        await self._write("set_streaming", session_id, request_id, state.model_dump_json())

    async def streaming_state(self, session_id: str, request_id: str) -> StreamingState | None:
        """Return the latest stored state of ``request_id``."""
        _, text = await self._run("get_streaming", session_id, request_id)
        if text is None:
            return None
        return await self._parsed(StreamingState, session_id, "streaming", request_id.encode(), text)

    async def keep_response(self, session_id: str, turn_id: str, body: str) -> None:
        """Store the answer to a turn as a client of the model API got it."""
        await self._write("set_streaming", session_id, f"response:{turn_id}", body)

    async def kept_response(self, session_id: str, turn_id: str) -> str | None:
        """Return the answer that is stored for ``turn_id``."""
        _, text = await self._run("get_streaming", session_id, f"response:{turn_id}")
        return text.decode() if text is not None else None

    def lock(self, session_id: str, *, wait: float) -> AbstractAsyncContextManager[None]:
        """Lock the conversation for one turn, in all processes; raise ``SessionBusy`` after ``wait`` seconds.

        The lock is renewed while held and expires within seconds when its holder dies. When the store fails meanwhile,
        the turn continues: ``update`` still refuses to fork the chain.
        """
        return session_lock(self._redis, redis_scripts.session_key(session_id, "lock"), wait=wait)

    async def delete(self, session_id: str, user_id: str) -> bool:
        """Erase the conversation with its records that were moved aside; return False when it is not the user's."""
        if not is_session_id(session_id):
            return False
        status, *_ = await self._run("delete", session_id, user_id)
        if status == b"ok":
            await self._index.forget(user_id, session_id)
        return bool(status == b"ok")

    def compact(self) -> None:
        """Rewrite the store's files without deleted data, in the background."""
        self._compaction.request()

    async def ping(self) -> None:
        """Return when the store answers."""
        await self._redis.ping()

    async def version(self) -> str:
        """Return the version of its server."""
        info = await self._redis.info("server")
        # Valkey also reports the version of Redis with which it is compatible.
        valkey = info.get("valkey_version")
        return f"Valkey {valkey}" if valkey else f"Redis {info['redis_version']}"

    async def aclose(self) -> None:
        """Close all connections; the store cannot be used afterwards."""
        # A Redis that ends with this process ends a rewrite, too.
        await self._compaction.end(_COMPACTION_SECONDS)
        await self.journal.appends.settle(CONNECT_SECONDS + COMMAND_SECONDS)
        await self._redis.settle()
        await self._redis.aclose(close_connection_pool=True)

    async def _write(self, script: str, session_id: str, *arguments: str | int) -> list[Any]:
        """Run a script that writes to a conversation; return its reply after the status."""
        status, *reply = await self._run(script, session_id, *arguments)
        if status == b"ok":
            return reply
        raise ChainConflict(_MOVED_ON if status == b"conflict" else _GONE)

    async def _run(self, script: str, session_id: str, *arguments: str | bytes | int) -> list[Any]:
        keys = [redis_scripts.session_key(session_id, part) for part in redis_scripts.PARTS]
        keys += [f"{key}:aside" for key in keys]
        moved, *reply = await self._script(script)(keys=keys, args=[self._ttl, *arguments])
        if moved:
            self.corrupt_records += int(moved)
            _logger.warning("%d session record(s) could not be read; they were moved aside", moved)
        return list(reply)

    def _registered(self, name: str) -> AsyncScript:
        return self._redis.register_script(redis_scripts.script("prelude") + redis_scripts.script(name))

    async def _parsed(self, kind: type[M], session_id: str, part: str, field: bytes, text: bytes) -> M | None:
        try:
            return kind.model_validate_json(text)
        except ValidationError:
            await self._put_aside(session_id, part, field, text)
            return None

    async def _put_aside(self, session_id: str, part: str, field: bytes, value: bytes) -> None:
        await self._run("put_entry_aside", session_id, redis_scripts.PARTS.index(part) + 1, field, value)


def _flat(session: Session) -> list[str]:
    """Return the fields and values as Redis hashes take them, without fields that are None."""
    values = session.model_dump(mode="json", exclude_none=True)
    return [text for name, value in values.items() for text in (name, str(value))]


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _text_fields(flat: Sequence[bytes]) -> Mapping[str, str]:
    return {name.decode(): value.decode() for name, value in _pairs(flat).items()}
