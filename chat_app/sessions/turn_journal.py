"""The journal of running turns in Redis: what a reader was shown outlives the process that shows it.

A process writes the events of a turn here before it shows them, and closes the journal once the history has the turn.
Other processes can follow the turn meanwhile and for ``KEPT_SECONDS`` after, and ask its writer to stop it. A turn
whose writer has died, or has released it, is *abandoned*: any process may claim it and write it to the history.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from chat_app.batches import Batches
from chat_app.errors import SessionStoreUnavailable, TurnTakenOver
from chat_app.sessions.batched_redis import BatchedRedis
from chat_app.sessions.redis_scripts import script
from tools.types import Frozen

LEASE_SECONDS: Final = 10
"""Seconds after which a process that renews nothing counts as dead."""
KEPT_SECONDS: Final = 300
"""Seconds for which an ended turn can still be read here."""
_CLAIM_SECONDS: Final = 30
_ANSWERED_SECONDS: Final = 86_400
"""Seconds within which all turns of a question have ended."""
_OPEN: Final = "asclepius:journals"
_STOPS: Final = "asclepius:stops"
_RELEASED: Final = "-"
_thread: Final = "asclepius:thread-journals:{}".format
_question: Final = "asclepius:question-journals:{}".format
_lease: Final = "asclepius:writer:{}".format
_APPEND: Final = script("append_to_journals")


class OpenTurn(Frozen):
    """A turn that the history does not have yet."""

    thread_id: str
    writer: str
    question_id: str = ""
    owner: str = ""
    taken_over: bool = False
    """Whether the writer goes on with the turn of a process that died."""

    @property
    def released(self) -> bool:
        """Whether the turn has ended and waits for the history."""
        return self.writer == _RELEASED


class TurnJournal:
    """The journals of all processes that share this Redis. Every call raises ``SessionStoreUnavailable``."""

    def __init__(self, redis: BatchedRedis, ttl: int) -> None:
        self._redis, self._ttl = redis, ttl
        self.writer = f"{_host()}|{os.getpid()}|{_started_at(os.getpid())}"
        self.appends: Batches[tuple[str, Sequence[bytes]], bool] = Batches(self._append)

    async def begin(self, turn_id: str, thread_id: str, question_id: str, header: str, *, owner: str) -> None:
        """Open the journal of a turn that answers the question, beside those of other models."""
        opened = OpenTurn(thread_id=thread_id, writer=self.writer, question_id=question_id, owner=owner)
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.set(_lease(self.writer), "1", ex=LEASE_SECONDS)
        pipeline.hset(_OPEN, turn_id, opened.model_dump_json())
        pipeline.sadd(_thread(thread_id), turn_id)
        pipeline.expire(_thread(thread_id), self._ttl)
        pipeline.sadd(_question(question_id), turn_id)
        pipeline.expire(_question(question_id), _ANSWERED_SECONDS)
        pipeline.rpush(_key(turn_id), header)
        pipeline.expire(_key(turn_id), self._ttl)
        await self._redis.execute_together(pipeline)

    async def append(self, turn_id: str, events: Sequence[bytes]) -> bool:
        """Append events; return False when the journal no longer exists.

        Raises ``TurnTakenOver`` when another process writes the turn now.
        """
        return await self.appends.do((turn_id, events))

    async def _append(self, appends: Sequence[tuple[str, Sequence[bytes]]]) -> list[bool | Exception]:
        keys = [_key(turn_id, part) for turn_id, _ in appends for part in ("", ":writer")]
        lines = [part for _, events in appends for part in (b"%d" % len(events), *events)]
        lengths = await self._redis.execute_at_once("EVAL", _APPEND, len(keys), *keys, self.writer, *lines)
        return list(map(_appended, lengths))

    async def read(self, turn_id: str) -> list[str]:
        """Return a turn's header and its events, as its writer encoded them; nothing for one that was dropped."""
        return _texts(await self._redis.lrange(_key(turn_id), 0, -1))

    async def read_after(self, turn_id: str, seen: int) -> list[str] | None:
        """Return the events after the first ``seen``; None when the journal no longer has those."""
        lines = await self._redis.lrange(_key(turn_id), seen, -1)
        return _texts(lines[1:]) if lines else None

    async def close(self, turn_id: str) -> None:
        """End the journal of a turn that the history has; it can be read for ``KEPT_SECONDS``."""
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.expire(_key(turn_id), KEPT_SECONDS)
        pipeline.hdel(_OPEN, turn_id)
        pipeline.srem(_STOPS, turn_id)
        pipeline.delete(_key(turn_id, ":claim"))
        await self._redis.execute_together(pipeline)

    async def erase(self, thread_id: str) -> None:
        """Delete the journals of a conversation."""
        turns = _texts(await self._redis.smembers(_thread(thread_id)))
        for turn_id in turns:
            await self.close(turn_id)
        await self._redis.delete(_thread(thread_id), *map(_key, turns))

    async def ask_to_stop(self, turn_id: str) -> None:
        """Ask the process that writes the turn to stop it."""
        await self._redis.sadd(_STOPS, turn_id)
        await self._redis.expire(_STOPS, self._ttl)

    async def to_stop(self) -> set[str]:
        """Return the turns that are to be stopped by the processes that write them."""
        return set(_texts(await self._redis.smembers(_STOPS)))

    async def release(self, turn_id: str, thread_id: str) -> None:
        """Leave an ended turn, which could not be written to the history, to whoever can."""
        opened = OpenTurn(thread_id=thread_id, writer=_RELEASED).model_dump_json()
        await self._redis.hset(_OPEN, turn_id, opened)

    async def open_turns(self) -> dict[str, OpenTurn]:
        """Return the turns that the history does not have yet, by id, without those of a newer version."""
        found, records = dict[str, OpenTurn](), await self._redis.hgetall(_OPEN)
        for turn_id, record in zip(_texts(records), records.values(), strict=True):
            with suppress(ValidationError):
                found[turn_id] = OpenTurn.model_validate_json(record)
        return found

    async def turns_of(self, question_id: str) -> list[str]:
        """Return the ids of the turns that answer the question or have answered it."""
        return _texts(await self._redis.smembers(_question(question_id)))

    async def written_elsewhere(self) -> dict[str, OpenTurn]:
        """Return the open turns that have not ended and that other processes have begun, by id."""
        opened = (await self.open_turns()).items()
        return {
            name: turn for name, turn in opened if (turn.writer != self.writer or turn.taken_over) and not turn.released
        }

    async def is_abandoned(self, opened: OpenTurn) -> bool:
        """Return whether nobody writes that turn any more."""
        if opened.released or opened.writer == self.writer:
            return opened.released
        host, pid, started = opened.writer.rsplit("|", 2)
        if started and host == _host():
            return _started_at(int(pid)) != started
        return not await self._redis.exists(_lease(opened.writer))

    async def claim(self, turn_id: str, *, seconds: int = _CLAIM_SECONDS) -> bool:
        """Return whether this process is to write the abandoned turn; the claim ends with ``close`` or in seconds."""
        if not await self._redis.set(_key(turn_id, ":claim"), self.writer, nx=True, ex=seconds):
            return False
        # The one that took the turn over before has died, too.
        await self._redis.set(_key(turn_id, ":writer"), self.writer, xx=True, ex=self._ttl)
        return True

    async def take_over(self, turn_id: str, thread_id: str, question_id: str, *, owner: str) -> None:
        """Make this process the writer of an abandoned turn that it has claimed."""
        opened = OpenTurn(
            thread_id=thread_id, writer=self.writer, question_id=question_id, owner=owner, taken_over=True
        )
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.set(_key(turn_id, ":writer"), self.writer, ex=self._ttl)
        pipeline.hset(_OPEN, turn_id, opened.model_dump_json())
        pipeline.delete(_key(turn_id, ":claim"))
        await self._redis.execute_together(pipeline)

    async def unclaim(self, turn_id: str) -> None:
        """Give back a claim."""
        await self._redis.delete(_key(turn_id, ":claim"))

    async def keep_alive(self) -> None:
        """Show other processes that this one still runs."""
        await self._redis.set(_lease(self.writer), "1", ex=LEASE_SECONDS)


def _appended(length: int | Exception) -> bool | Exception:
    """Return whether a journal exists, by its length after an attempt to append."""
    if isinstance(length, Exception):
        return SessionStoreUnavailable("Redis does not keep a running answer.")
    return TurnTakenOver("Another server goes on with this answer.") if length < 0 else bool(length)


def _texts(found: Iterable[bytes | str]) -> list[str]:
    return [text.decode() if isinstance(text, bytes) else text for text in found]


def _key(turn_id: str, part: str = "") -> str:
    """Return the key of a turn's events, or of its ``:writer`` or ``:claim``."""
    return f"asclepius:{{turn:{turn_id}}}{part}"


def _host() -> str:
    """Return the name of this machine or container, and of its process numbers where the system tells."""
    space = ""
    with suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()}{space}"


def _started_at(pid: int) -> str:
    """Return when the process began, in the system's ticks; empty when it has ended or the system does not tell."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state in {"Z", "X"} else fields[18]
    except (OSError, ValueError, IndexError):
        return ""
