"""The turns of a question, streamed as server-sent events."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final

from fastapi.responses import StreamingResponse

from chat_app.events import AgentEvent, ModelEvent, event_json
from chat_app.interface.turns.asked_questions import AskedQuestion, Cursors
from chat_app.interface.turns.live_turn import news_of

KEEP_ALIVE_SECONDS: Final = 15.0
_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}


def event_stream(question: AskedQuestion, cursors: Cursors) -> StreamingResponse:
    """Stream the question's events after ``cursors`` as ``text/event-stream``."""
    headers = {**_HEADERS, "x-turn-id": question.id}
    return StreamingResponse(frames_of(question, cursors), media_type="text/event-stream", headers=headers)


async def frames_of(
    question: AskedQuestion, cursors: Cursors, *, keep_alive: float = KEEP_ALIVE_SECONDS
) -> AsyncGenerator[bytes, None]:
    """Yield the frames after ``cursors``, those that are ready together at once, and comments while there are none."""
    async with aclosing(news_of([*question.turns.values()], lambda: question.has_more(cursors), keep_alive)) as news:
        async for _ in news:
            yield b"".join(_new_frames(question, cursors)) or b": still working\n\n"


def _new_frames(question: AskedQuestion, cursors: Cursors) -> Iterator[bytes]:
    """Yield the frames that are ready, and move ``cursors`` behind them."""
    for model, turn in question.turns.items():
        for event, cursor in turn.log.read_each(cursors[model]):
            cursors[model] = cursor
            yield _frame(question, model, event, question.event_id(cursors))


def _frame(question: AskedQuestion, model: str, event: AgentEvent, event_id: str) -> bytes:
    if question.compared:
        kind, data = "model_event", ModelEvent(model=model, event=event).model_dump_json().encode()
    else:
        kind, data = event.type, event_json(event)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event_id.encode(), kind.encode(), data)
