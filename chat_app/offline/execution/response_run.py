"""Run one response: call the model, stream the events, store the result.

A response is stored before its final event is sent. Exactly one final event ends a stream; only the stream of a
cancelled response ends without one.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict

import orjson

from chat_app.offline.extractive import respond
from chat_app.offline.state.response_store import ResponseStore
from chat_app.offline.wire import event_encoding, objects
from chat_app.offline.wire.errors import ApiError, Json
from chat_app.offline.wire.model import (
    Answer,
    Call,
    FileSearch,
    ModelInput,
    ModelStep,
    Searched,
    Searching,
    Thought,
    prompt_of,
)
from chat_app.offline.wire.requests import CreateResponse
from chat_app.tracing.redaction import describe_error

logger = logging.getLogger(__name__)

_LONGEST_PAUSES = 6.0
"""Maximum total duration of the pauses of one answer, in seconds."""


class ResponseTurn:
    """A response in progress: its state, and its events for any number of readers.

    ``read`` has all items for the model; ``input_items`` has those that the request added.
    """

    def __init__(self, request: CreateResponse, response: Json, input_items: list[Json], read: list[Json]) -> None:
        self.request = request
        self.response = response
        self.input_items = input_items
        self.read = read
        self.cancelled = False
        self.ended = False
        self._frames: list[bytes] = []
        self._news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def publish(self, event: Json) -> None:
        """Send an event to all readers, with the next number."""
        self._frames.append(event_encoding.encode({**event, "sequence_number": len(self._frames)}))
        self._wake()

    def end(self) -> None:
        """Tell all readers that no event follows."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def frames(self, start: int, keep_alive: float | None) -> AsyncIterator[bytes]:
        """Yield encoded events from number ``start``, and a comment after ``keep_alive`` seconds without an event."""
        number = start
        while True:
            news = self._news
            while number < len(self._frames):
                yield self._frames[number]
                number += 1
            if self.ended:
                return
            try:
                async with asyncio.timeout(keep_alive):
                    await news.wait()
            except TimeoutError:
                yield event_encoding.KEEP_ALIVE

    async def frames_of_client(self, keep_alive: float | None) -> AsyncGenerator[bytes]:
        """Yield all ``frames`` for the client that asked; a foreground turn is cancelled if the client disconnects."""
        try:
            async for frame in self.frames(0, keep_alive):
                yield frame
        finally:
            if not self.response["background"] and self.task is not None:
                self.task.cancel()

    async def wait(self) -> None:
        """Wait until the turn has ended."""
        if self.task is not None:
            await asyncio.wait([self.task])

    async def cancel(self) -> None:
        """Cancel the turn and wait for its final state; do nothing if it has ended."""
        self.cancelled = True
        if self.task is not None and not self.ended:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)


async def run(turn: ResponseTurn, store: ResponseStore, search: FileSearch, *, delta_seconds: float) -> None:
    """Run ``turn`` to its end. An error of the model or the store ends it as failed and is not raised.

    ``delta_seconds`` is the pause between the words of a streamed answer. The pauses of long answers are shorter, so
    that they add up to at most ``_LONGEST_PAUSES``.
    """
    response = turn.response
    try:
        prompt = prompt_of(turn.request, turn.read)
        response["usage"] = objects.usage(objects.read_tokens(prompt.items, prompt.instructions), [])
        response["status"] = "in_progress"
        turn.publish({"type": "response.created", "response": response})
        turn.publish({"type": "response.in_progress", "response": response})
        await _answer(turn, prompt, search, delta_seconds)
        _finish(response)
    except asyncio.CancelledError:
        response["status"] = "cancelled"
        if turn.cancelled and response["store"]:
            await store.save(response, turn.input_items)
        raise
    except ApiError as error:
        fail(response, error.detail)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the client gets a terminal event
        logger.error("A response failed: %s", describe_error(error))  # noqa: TRY400
        fail(response, "The server had an error while processing your request.")
    try:
        if response["store"]:
            await store.save(response, turn.input_items)
    except sqlite3.Error as error:
        logger.error("A response could not be stored: %s", type(error).__name__)  # noqa: TRY400
        fail(response, "The server could not store the response. Tell its administrator to check its disk.")
    turn.publish({"type": f"response.{response['status']}", "response": response})


async def _answer(turn: ResponseTurn, prompt: ModelInput, search: FileSearch, delta_seconds: float) -> None:
    """Add the steps of the model to the output, and cut the last item at the limit of output tokens."""
    response = turn.response
    left: int | None = turn.request.max_output_tokens
    pending: Json | None = None
    async for step in respond(prompt, search):
        item = _item(step, turn, pending)
        index = len(response["output"])
        if isinstance(step, Searching):
            pending = item
            for event in event_encoding.opening(item, index):
                turn.publish(event)
            continue
        if left is not None:
            left = _fit(item, left)
        is_cut = left is not None and left < 0
        if not (is_cut and item["type"] == "function_call"):
            await _stream(turn, item, index, delta_seconds)
            response["output"] = [*response["output"], item]
        if is_cut:
            response["status"] = "incomplete"
            break


def _item(step: ModelStep, turn: ResponseTurn, pending: Json | None) -> Json:
    include = turn.request.include or ()
    match step:
        case Thought(text):
            return objects.reasoning_item(text, sealed="reasoning.encrypted_content" in include)
        case Call(name, arguments):
            return objects.function_call_item(name, orjson.dumps(arguments).decode())
        case Searching(queries):
            return objects.file_search_item(list(queries))
        case Searched(results):
            wanted = "file_search_call.results" in include
            shown = [asdict(found) | {"score": round(found.score, 4)} for found in results]
            return (pending or {}) | {"results": shown if wanted else None}
        case Answer(text, citations):
            return objects.message_item(text, [{"type": "file_citation", **asdict(mark)} for mark in citations])


async def _stream(turn: ResponseTurn, item: Json, index: int, delta_seconds: float) -> None:
    events = list(event_encoding.contents(item, index))
    deltas = sum(event["type"] == "response.output_text.delta" for event in events)
    pause = min(delta_seconds, _LONGEST_PAUSES / deltas) if turn.request.stream and deltas else 0.0
    for event in events:
        turn.publish(event)
        if event["type"] == "response.output_text.delta":
            # Yield after each word, also without a pause, so that other streams advance.
            await asyncio.sleep(pause)


def _finish(response: Json) -> None:
    if response["status"] == "in_progress":
        response["status"] = "completed"
        response["completed_at"] = objects.now()
    elif response["status"] == "incomplete":
        response["incomplete_details"] = {"reason": "max_output_tokens"}
    response["usage"] = objects.usage(response["usage"]["input_tokens"], response["output"])


def fail(response: Json, message: str) -> None:
    """End ``response`` as failed."""
    response["status"] = "failed"
    response["completed_at"] = None
    response["error"] = {"code": "server_error", "message": message}


def _fit(item: Json, left: int) -> int:
    """Cut ``item`` to ``left`` tokens; return the number of tokens left, or -1 if it was cut."""
    for part in item.get("summary", []):
        left -= objects.count_tokens(part["text"])
    if item["type"] == "function_call":
        return left - objects.count_tokens(objects.text_of(item)) if left >= 0 else -1
    for part in item.get("content", []):
        text = objects.cut_to_tokens(part["text"], max(left, 0))
        if text != part["text"]:
            part["text"] = text
            part["annotations"] = [a for a in part["annotations"] if a["index"] <= len(text)]
            item["status"] = "incomplete"
            return -1
        left -= objects.count_tokens(text)
    return left
