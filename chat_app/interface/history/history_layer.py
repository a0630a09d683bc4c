"""Conversations, answers, references and feedback in SQLite or PostgreSQL.

Extends Chainlit's SQL layer: complete tables, decoded JSON, a list of conversations that does not load every step,
ownership of feedback and threads, and errors without questions. ``save_turn`` writes a whole turn in one transaction.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import product
from typing import Any, cast
from uuid import uuid4

from chainlit.data.sql_alchemy import SQLAlchemyDataLayer
from chainlit.element import ElementDict
from chainlit.step import StepDict
from chainlit.types import Feedback, PageInfo, PaginatedResponse, Pagination, ThreadDict, ThreadFilter
from fastapi import HTTPException
from sqlalchemy import URL, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from chat_app.batches import Batches
from chat_app.database.database_engine import DATABASE_ERRORS, database_engine, database_url, in_transaction, rows_of
from chat_app.database.migrations import migrate
from chat_app.database.write_ahead_log import WriteAheadLog
from chat_app.interface.history import history_statements as sql
from chat_app.interface.history.branches import conversations_of, is_conversation_key
from chat_app.interface.history.history_rows import Row, decoded_value, element_of, hit, kept, step_of, thread_of
from chat_app.interface.security.identity import NotOwner, owns

logger = logging.getLogger(__name__)

asking_user: ContextVar[str | None] = ContextVar("asking_user", default=None)
"""Whose request is being answered; set by the guard in front of the page."""

without_messages: ContextVar[bool] = ContextVar("without_messages", default=False)
"""Whether a conversation is read without its messages, to see whose it is."""

_MOST_THREADS = 100
_WRITE_SECONDS = 5.0

BeforeDeletion = Callable[[str, str], Awaitable[None]]
"""Called with a thread and its owner before the thread is deleted."""

ReadThread = Callable[[], Awaitable[ThreadDict | None]]
BeforeReading = Callable[[ThreadDict, ReadThread], Awaitable[ThreadDict]]
"""Called with a conversation and a function that reads it again; returns it with its unfinished turns brought up to
date."""


class History(SQLAlchemyDataLayer):
    """The data layer of the page."""

    def __init__(self, url: str | URL) -> None:
        address, chainlit_logger = database_url(url), logging.getLogger("chainlit")
        # Prevents a warning about the file store, which is not used.
        chainlit_logger.disabled = True
        super().__init__(address.render_as_string(hide_password=False))
        chainlit_logger.disabled = False
        self.engine: AsyncEngine = database_engine(address)
        self.async_session.configure(bind=self.engine)
        self._turns: Batches[sql.TurnRows, None] = Batches(self._write, apart=(SQLAlchemyError,))
        # An id that cannot be encoded is its caller's fault alone.
        self._values: Batches[tuple[str, str], Any] = Batches(self._look_up, apart=(SQLAlchemyError, ValueError))
        self._log = WriteAheadLog(self.engine)
        self._warned = False
        self.before_deletion: BeforeDeletion | None = None
        self.before_reading: BeforeReading | None = None

    async def setup(self) -> None:
        await migrate(self.engine)

    async def close(self) -> None:
        await self._log.end()
        await super().close()

    async def get_current_timestamp(self) -> str:
        return sql.now()

    # -- conversations -------------------------------------------------------------------------------------------

    async def update_thread(
        self,
        thread_id: str,
        name: str | None = None,
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        tags: list[str] | None = None,
    ) -> None:
        # A closing socket writes back the metadata it read on opening; the agent conversation may have changed since.
        kept = {key: value for key, value in (metadata or {}).items() if not is_conversation_key(key)}
        values = sql.thread_values(sql.TurnRows(thread_id, (), (), kept), name=name, user=user_id, tags=tags)
        await in_transaction(self.engine, partial(sql.upsert_threads, rows=[values]))

    async def get_thread(self, thread_id: str) -> ThreadDict | None:
        found = await self._thread(thread_id)
        if found is None or self.before_reading is None:
            return found
        return await self.before_reading(found, partial(self._thread, thread_id))

    async def _thread(self, thread_id: str) -> ThreadDict | None:
        async with self.engine.connect() as connection:
            threads = await rows_of(connection, 'SELECT * FROM threads WHERE "id" = :id', id=thread_id)
            if not threads:
                return None
            if without_messages.get():
                return thread_of(threads[0])
            steps = await rows_of(connection, sql.STEPS, id=thread_id)
            elements = await rows_of(connection, 'SELECT * FROM elements WHERE "threadId" = :id', id=thread_id)
        found = thread_of(threads[0])
        found["steps"] = [step_of(row) for row in steps]
        found["elements"] = [element_of(row) for row in elements]
        return found

    async def get_thread_author(self, thread_id: str) -> str:
        """Return the conversation's owner; another user's conversation and a missing one are both a 404."""
        owner = await self.owner_of("thread", thread_id)
        asking = asking_user.get()
        if not owns(asking if asking is not None else owner, owner):
            raise HTTPException(status_code=404, detail="Thread not found")
        return owner or ""

    async def owner_of(self, kind: str, identifier: str) -> str | None:
        """Return the owner of a ``thread``, ``step``, ``element`` or ``feedback``; None when it does not exist."""
        owner: str | None = await self._values.do((kind, identifier))
        return owner

    async def _look_up(self, wanted: Sequence[tuple[str, str]]) -> Sequence[Any]:
        """Return a value for each kind and id, with one statement for each kind."""
        found: dict[tuple[str, str], Any] = {}
        async with self.engine.connect() as connection:
            for kind in sorted({kind for kind, _ in wanted}):
                ids = sorted({identifier for of, identifier in wanted if of == kind})
                rows = await connection.execute(sql.VALUES_OF[kind], {"ids": ids})
                found |= {(kind, row.id): row.value for row in rows}
        return list(map(found.get, wanted))

    async def list_threads(self, pagination: Pagination, filters: ThreadFilter) -> PaginatedResponse[ThreadDict]:
        if not filters.userId:
            raise ValueError("userId is required")
        first = min(pagination.first, _MOST_THREADS)
        parameters: dict[str, Any] = {"user": filters.userId, "limit": first + 1}
        where, found = ['t."userId" = :user'], ""
        if filters.search:
            found = f', {sql.FOUND} AS "found"'
            where.append(sql.SEARCH)
            parameters["search"] = f"%{sql.like(filters.search.lower())}%"
        if pagination.cursor:
            where.append(sql.AFTER_CURSOR)
            parameters["cursor"] = pagination.cursor
        query = f"SELECT t.*{found} FROM threads t WHERE {' AND '.join(where)} {sql.NEWEST_FIRST}"  # noqa: S608 - constants
        rows = await self._rows(query, **parameters)
        page = [thread_of(row) for row in rows[:first]]
        if filters.search:
            # Chainlit's search shows nothing but the name.
            for thread, row in zip(page, rows, strict=False):
                thread["name"] = hit(row, filters.search)
        info = PageInfo(
            hasNextPage=len(rows) > first,
            startCursor=page[0]["id"] if page else None,
            endCursor=page[-1]["id"] if page else None,
        )
        return PaginatedResponse(pageInfo=info, data=page)

    async def metadata_of(self, thread_id: str) -> dict[str, Any]:
        """Return a conversation's metadata; empty for one that does not exist."""
        return dict(decoded_value(await self._values.do(("metadata", thread_id)), {}))

    async def delete_thread(self, thread_id: str) -> None:
        if self.before_deletion is not None and (owner := await self.owner_of("thread", thread_id)):
            await self.before_deletion(thread_id, owner)
        await self._run(sql.DELETE_THREAD, thread_id)
        await self._log.truncate()

    async def _rows(self, query: str, **values: Any) -> list[Row]:
        async with self.engine.connect() as connection:
            return await rows_of(connection, query, **values)

    async def _run(self, queries: Sequence[str], *ids: str) -> None:
        """Run each of ``queries`` for each of ``ids``, in one transaction."""
        async with self.engine.begin() as connection:
            for query, identifier in product(queries, ids):
                await connection.execute(text(query), {"id": identifier})

    async def threads_of(self, owner: str) -> list[str]:
        query = 'SELECT "id" FROM threads WHERE "userIdentifier" = :owner ORDER BY "createdAt"'
        return [row["id"] for row in await self._rows(query, owner=owner)]

    async def threads_before(self, time: str) -> list[str]:
        """Return the conversations that were last used before ``time``, as ``sql.now()`` writes it."""
        query = 'SELECT "id" FROM threads WHERE "updatedAt" < :time ORDER BY "updatedAt"'
        return [row["id"] for row in await self._rows(query, time=time)]

    async def delete_user(self, owner: str) -> None:
        """Delete the user, once their conversations are deleted."""
        await self._run(['DELETE FROM users WHERE "identifier" = :id'], owner)
        await self._log.truncate()

    async def threads_with(self, conversation_id: str, owner: str) -> list[str]:
        """Return the threads of ``owner`` that continue the session store's conversation of this id."""
        query = 'SELECT "id", "metadata" FROM threads WHERE "userIdentifier" = :owner AND "metadata" LIKE :id'
        rows = await self._rows(query, owner=owner, id=f"%{conversation_id}%")
        return [row["id"] for row in rows if conversation_id in conversations_of(decoded_value(row["metadata"], {}))]

    # -- steps and elements --------------------------------------------------------------------------------------

    async def save_turn(
        self,
        thread_id: str,
        steps: Sequence[Mapping[str, Any]] = (),
        elements: Sequence[Mapping[str, Any]] = (),
        metadata: Mapping[str, Any] | None = None,
        *,
        owner: str | None = None,
        name: str | None = None,
    ) -> None:
        """Write what there is of a turn, with others that wait to be written, in one transaction.

        With ``owner`` the conversation becomes theirs if it is nobody's yet, and with ``name`` it gets that name if it
        has none.

        Raises ``NotOwner`` for another user's conversation, ``SQLAlchemyError`` or ``OSError``.
        """
        await self._turns.do(sql.TurnRows(thread_id, steps, elements, metadata, owner, name))

    async def _write(self, turns: Sequence[sql.TurnRows]) -> Sequence[Exception | None]:
        async with asyncio.timeout(_WRITE_SECONDS):
            return await in_transaction(self.engine, partial(sql.write_turns, turns=turns))

    async def create_step(self, step_dict: StepDict) -> None:
        """Write a step; log a failure once, because Chainlit calls this in the background."""
        try:
            await self.save_turn(step_dict.get("threadId", ""), [cast("Mapping[str, Any]", step_dict)])
        except DATABASE_ERRORS as error:
            if not self._warned:
                name = type(error).__name__
                logger.warning("The history cannot be written (%s). Check the disk and DATABASE_URL.", name)
            self._warned = True

    async def update_step(self, step_dict: StepDict) -> None:
        await self.create_step(step_dict)

    async def delete_step(self, step_id: str) -> None:
        await self.delete_steps([step_id])

    async def delete_steps(self, step_ids: Sequence[str]) -> None:
        await self._run(sql.DELETE_STEP, *step_ids)

    async def create_element(self, element: Any) -> None:
        """Do nothing: uploaded files are not kept, and references are written with their turn."""

    async def get_element(self, thread_id: str, element_id: str) -> ElementDict | None:
        query = 'SELECT * FROM elements WHERE "threadId" = :thread AND "id" = :id'
        rows = await self._rows(query, thread=thread_id, id=element_id)
        return element_of(rows[0]) if rows else None

    async def delete_element(self, element_id: str, thread_id: str | None = None) -> None:
        """Do nothing: elements are deleted with their conversation only."""

    # -- feedback ------------------------------------------------------------------------------------------------

    async def upsert_feedback(self, feedback: Feedback) -> str:
        async with self.engine.begin() as connection:
            steps = await rows_of(connection, 'SELECT "threadId" FROM steps WHERE "id" = :id', id=feedback.forId)
            if not steps:
                raise NotOwner
            values = {
                "id": str(uuid4()),
                "for": feedback.forId,
                "thread": steps[0]["threadId"],
                "at": sql.now(),
                "value": int(feedback.value),
                "comment": kept(feedback.comment),
            }
            rows = await rows_of(connection, sql.UPSERT_FEEDBACK, **values)
        return str(rows[0]["id"])

    async def delete_feedback(self, feedback_id: str) -> bool:
        await self._run(['DELETE FROM feedbacks WHERE "id" = :id'], feedback_id)
        return True
