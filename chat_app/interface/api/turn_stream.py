"""The turns of a question, streamed as server-sent events."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final

from fastapi.responses import StreamingResponse

from chat_app.events import AgentEvent, ModelEvent, event_json
from chat_app.interface.api.dependencies import NO_STORE
from chat_app.interface.turns.asked_questions import AskedQuestion, Cursors
from chat_app.interface.turns.live_turn import news_of

KEEP_ALIVE_SECONDS: Final = 15.0
STILL_WORKING: Final = b": still working\n\n"


def event_stream(question: AskedQuestion, cursors: Cursors) -> StreamingResponse:
    """Stream the question's events after ``cursors`` as ``text/event-stream``."""
    return streamed(frames_of(question, cursors), {"x-turn-id": question.id})


def streamed(frames: AsyncIterator[bytes], headers: Mapping[str, str] | None = None) -> StreamingResponse:
    """Return ``frames`` as ``text/event-stream``, which no proxy may hold back."""
    unheld = {**NO_STORE, "x-accel-buffering": "no", **(headers or {})}
    return StreamingResponse(frames, media_type="text/event-stream", headers=unheld)


async def frames_of(
    question: AskedQuestion, cursors: Cursors, *, keep_alive: float = KEEP_ALIVE_SECONDS
) -> AsyncGenerator[bytes, None]:
    """Yield the frames after ``cursors``, those that are ready together at once, and comments while there are none."""
    async with aclosing(news_of([*question.turns.values()], lambda: question.has_more(cursors), keep_alive)) as news:
        async for _ in news:
            frames = (_frame(question, cursors, *found) for found in question.unread(cursors))
            yield b"".join(frames) or STILL_WORKING


def _frame(question: AskedQuestion, read: Cursors, model: str, event: AgentEvent) -> bytes:
    if question.compared:
        kind, data = "model_event", ModelEvent(model=model, event=event).model_dump_json().encode()
    else:
        kind, data = event.type, event_json(event)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (question.event_id(read).encode(), kind.encode(), data)
