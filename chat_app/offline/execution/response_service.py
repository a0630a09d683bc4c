"""The service behind ``/v1/responses``, which turns validated requests into running turns."""

import asyncio
from collections.abc import Mapping
from typing import Final

from chat_app.offline.config import OfflineConfig
from chat_app.offline.execution.input_items import check_calls, compacted, fit_window, opened, resolve_references
from chat_app.offline.execution.response_run import ResponseTurn, fail, run
from chat_app.offline.schema_filling.arguments import check_fillable
from chat_app.offline.state.response_store import ResponseStore
from chat_app.offline.state.vector_search import VectorSearch
from chat_app.offline.wire import objects
from chat_app.offline.wire.errors import ApiError, Json, invalid
from chat_app.offline.wire.requests import (
    Compact,
    CreateResponse,
    FileSearchToolIn,
    FunctionToolIn,
    SchemaFormat,
    named_tools,
)
from chat_app.offline.wire.schema_limits import SchemaLimit, check_schema

Known = Mapping[str, list[Json]]
"""Conversations by the id of their last response, which a connection has in addition to the store."""
_NONE: Final[Known] = {}


class ResponseService:
    """Create, find, cancel and delete responses, whether in progress or stored."""

    def __init__(self, config: OfflineConfig, store: ResponseStore, search: VectorSearch) -> None:
        self._config = config
        self._store = store
        self._search = search
        self._live: dict[str, ResponseTurn] = {}

    async def start(self, request: CreateResponse, *, known: Known = _NONE) -> ResponseTurn:
        """Start the response to ``request``. Raises ``ApiError`` if it cannot be answered."""
        _check(request)
        self._check_limit()
        searched = [tool for tool in request.tools or () if isinstance(tool, FileSearchToolIn)]
        await self._search.check([store_id for tool in searched for store_id in tool.vector_store_ids])
        history = await self._history(request.previous_response_id, known)
        given = await resolve_references(request.input, history, self._store.item)
        items = check_calls(opened([*history, *given]))
        items = fit_window(items, self._config.context_window, truncate=request.truncation == "auto")
        turn = ResponseTurn(request, objects.response_object(request), given, items)
        # Again, since others began in the meantime. From here the turn has its place.
        self._check_limit()
        self._live[turn.response["id"]] = turn
        try:
            if request.background:
                await self._store.save(turn.response, given, request=request.model_dump_json(by_alias=True).encode())
        except BaseException:
            del self._live[turn.response["id"]]
            raise
        self._run(turn)
        return turn

    def _check_limit(self) -> None:
        if len(self._live) >= self._config.max_live:
            raise ApiError(
                429,
                "The server is at its limit of concurrent requests.",
                kind="rate_limit_error",
                code="rate_limit_exceeded",
                headers={"Retry-After": "1"},
            )

    async def compact(self, request: Compact) -> Json:
        """Return the compaction of a conversation, without storing it."""
        _check_given(request.input, request.previous_response_id)
        history = await self._history(request.previous_response_id)
        items = opened([*history, *await resolve_references(request.input, history, self._store.item)])
        output, kept = compacted(items)
        read = objects.read_tokens(items, request.instructions or "")
        return {
            "id": objects.new_id("resp"),
            "object": "response.compaction",
            "created_at": objects.now(),
            "output": output,
            "usage": objects.usage(read, kept),
        }

    def _run(self, turn: ResponseTurn) -> None:
        """Run a turn that is in ``_live``, and remove it from there at its end."""
        if turn.request.background:
            turn.publish({"type": "response.queued", "response": turn.response})
        work = run(turn, self._store, self._search.search, delta_seconds=self._config.delta_ms / 1000)
        turn.task = asyncio.create_task(work, name=f"turn {turn.response['id']}")
        turn.task.add_done_callback(lambda _: self._end(turn))

    def _end(self, turn: ResponseTurn) -> None:
        del self._live[turn.response["id"]]
        turn.end()

    async def _history(self, response_id: str | None, known: Known = _NONE) -> list[Json]:
        if response_id is None:
            return []
        return known[response_id] if response_id in known else await self._store.history(response_id)

    def live(self, response_id: str) -> ResponseTurn | None:
        """Return the turn of a background response in progress, if any."""
        turn = self._live.get(response_id)
        return turn if turn is not None and turn.response["background"] else None

    async def cancel(self, response_id: str) -> Json:
        """Cancel a background response; return a finished one unchanged."""
        if (turn := self.live(response_id)) is not None:
            await turn.cancel()
            return turn.response
        response = await self._store.get(response_id)
        if not response["background"]:
            raise ApiError(400, "Only responses created with background=true can be cancelled.", param="id")
        return response

    async def delete(self, response_id: str) -> None:
        """Delete a response, and cancel it if it is in progress."""
        if (turn := self.live(response_id)) is not None:
            await turn.cancel()
        await self._store.delete(response_id)

    async def take_up(self) -> None:
        """Restart the background responses that the last run of the server left unfinished."""
        for body, given, stored in await self._store.unfinished():
            request = CreateResponse.model_validate_json(stored)
            body["output"] = []
            try:
                history = await self._history(request.previous_response_id)
                items = check_calls(opened([*history, *given]))
            except ApiError as error:
                fail(body, error.detail)
                await self._store.save(body, given)
            else:
                self._live[body["id"]] = turn = ResponseTurn(request, body, given, items)
                self._run(turn)

    async def aclose(self) -> None:
        """Cancel the turns in progress; background ones resume at the next start."""
        tasks = [turn.task for turn in self._live.values() if turn.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_given(*given: object) -> None:
    if all(value is None for value in given):
        raise invalid("Missing required parameter: 'input'.", "input", "missing_required_parameter")


def _check(request: CreateResponse) -> None:
    if request.background and request.store is False:
        raise invalid("Background responses need 'store' to be true.", "store")
    if request.stream_options is not None and not request.stream:
        raise invalid("'stream_options' needs 'stream' to be true.", "stream_options")
    if request.tool_choice == "required" and not request.tools:
        raise invalid("A tool is required, but 'tools' is empty.", "tool_choice")
    declared = {(tool.type, str(getattr(tool, "name", None) or "")) for tool in request.tools or ()}
    if not named_tools(request.tool_choice) <= declared:
        raise invalid("The tool to choose is not among 'tools'.", "tool_choice")
    _check_given(request.input, request.previous_response_id)
    _check_schemas(request)


def _check_schemas(request: CreateResponse) -> None:
    """Check that each schema of the request is valid and can be filled; all share the two limits."""
    tools = enumerate(request.tools or ())
    schemas = [(f"tools[{at}].parameters", tool.parameters) for at, tool in tools if isinstance(tool, FunctionToolIn)]
    if request.text is not None and isinstance(request.text.format, SchemaFormat):
        schemas.append(("text.format.schema", request.text.format.schema_))
    read, filled = SchemaLimit(), SchemaLimit()
    for param, schema in schemas:
        try:
            check_schema(schema or {}, read)
            check_fillable(schema or {}, filled)
        except ValueError as error:
            raise invalid(f"Invalid value for '{param}': {error}.", param) from None
