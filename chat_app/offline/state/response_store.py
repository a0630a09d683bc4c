"""Stored responses: save, chain, list, delete, expire."""

import sqlite3
from collections.abc import Sequence
from typing import Final

import orjson

from chat_app.offline.state.state_database import Database
from chat_app.offline.wire.errors import Json, invalid, not_found
from chat_app.offline.wire.objects import now

RETENTION: Final = 30 * 24 * 3600
"""Seconds that a response is kept, as at OpenAI."""
MOST_RESPONSES: Final = 20_000
"""Responses beyond this number displace the oldest."""
LONGEST_CHAIN: Final = 500
"""Maximum responses followed through ``previous_response_id``; older ones are not read."""

_CHAIN: Final = """
WITH RECURSIVE chain (id, previous_id, depth) AS (
    SELECT id, previous_id, 0 FROM responses WHERE id = :id
    UNION ALL
    SELECT r.id, r.previous_id, depth + 1 FROM responses r JOIN chain c ON r.id = c.previous_id
    WHERE depth < :longest
)
SELECT r.input, r.body FROM chain c JOIN responses r USING (id) ORDER BY c.depth DESC
"""


# Not INSERT OR REPLACE: it deletes the old row and its items first.
_SAVE: Final = """
INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body, request = excluded.request
"""


class ResponseStore:
    """Responses in the database. A write survives the process once its call has returned."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, response: Json, input_items: Sequence[Json], *, request: bytes | None = None) -> None:
        """Store a response and the items of its request.

        ``request`` is kept only until the response has ended, so that a restart can resume it.
        """
        finished = response["status"] not in {"queued", "in_progress"}

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                _SAVE,
                (
                    response["id"],
                    response["created_at"],
                    response["created_at"] + RETENTION,
                    response["status"],
                    response["previous_response_id"],
                    orjson.dumps(response),
                    orjson.dumps(list(input_items)),
                    None if finished else request,
                ),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO items VALUES (?, ?)",
                [(item["id"], response["id"]) for item in [*input_items, *response["output"]]],
            )

        await self._database.run(write)

    async def get(self, response_id: str) -> Json:
        """Return a response. Raises ``ApiError`` 404 for an unknown or expired one."""
        return (await self._row(response_id))[0]

    async def input_items(self, response_id: str) -> list[Json]:
        """Return the items of a response's request."""
        return (await self._row(response_id))[1]

    async def _row(self, response_id: str) -> tuple[Json, list[Json]]:
        row = await self._database.row(
            "SELECT body, input FROM responses WHERE id = ? AND expires_at > ?", (response_id, now())
        )
        if row is None:
            raise not_found("Response", response_id)
        return orjson.loads(row["body"]), orjson.loads(row["input"])

    async def history(self, response_id: str) -> list[Json]:
        """Return all items of the chain that ends with ``response_id``, including its output.

        Raises ``ApiError`` 400 ``previous_response_not_found`` for an unknown response.
        """
        rows = await self._database.rows(_CHAIN, {"id": response_id, "longest": LONGEST_CHAIN})
        if not rows:
            message = f"Previous response with id '{response_id[:80]}' not found."
            raise invalid(message, "previous_response_id", "previous_response_not_found")
        items: list[Json] = []
        for row in rows:
            items += orjson.loads(row["input"])
            items += orjson.loads(row["body"])["output"]
        return items

    async def item(self, item_id: str) -> Json | None:
        """Return an input or output item of any stored response, or None."""
        row = await self._database.row(
            "SELECT r.body, r.input FROM items i JOIN responses r ON r.id = i.response_id WHERE i.id = ?", (item_id,)
        )
        if row is None:
            return None
        items = [*orjson.loads(row["input"]), *orjson.loads(row["body"])["output"]]
        return next((item for item in items if item["id"] == item_id), None)

    async def delete(self, response_id: str) -> None:
        """Delete a response. Raises ``ApiError`` 404 for an unknown one."""
        if not await self._database.erase("DELETE FROM responses WHERE id = ?", (response_id,)):
            raise not_found("Response", response_id)

    async def unfinished(self) -> list[tuple[Json, list[Json], bytes]]:
        """Return the body, input items and request of the background responses that the last run left unfinished."""
        rows = await self._database.rows(
            "SELECT body, input, request FROM responses "
            "WHERE status IN ('queued', 'in_progress') AND request IS NOT NULL ORDER BY created_at"
        )
        return [(orjson.loads(row["body"]), orjson.loads(row["input"]), row["request"]) for row in rows]

    async def expire(self) -> int:
        """Delete expired and surplus responses; return their number."""
        return await self._database.erase(
            "DELETE FROM responses WHERE expires_at <= ? "
            "OR id IN (SELECT id FROM responses ORDER BY created_at DESC LIMIT -1 OFFSET ?)",
            (now(), MOST_RESPONSES),
        )
