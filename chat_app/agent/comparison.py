"""One question to several models side by side, as one stream of events that name their model.

The models answer in parallel, each in its own conversation. A model that fails ends in its own outcome and does not
delay the others; closing the stream stops all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol, TypeVar
from uuid import uuid4

from chat_app.answer_options import ConsultOptions
from chat_app.errors import AsclepiusError
from chat_app.events import AgentEvent, Outcome, TextDelta, TextReplaced, TurnEnded
from chat_app.generation.outcomes import failed
from tools.types import Frozen

logger = logging.getLogger(__name__)

K = TypeVar("K")
T = TypeVar("T")

BROKEN = Outcome(
    kind="failed",
    code="internal",
    message="Something went wrong while this model was asked. Ask again; if it happens again, the log says more.",
    retryable=True,
)


class ModelEvent(Frozen):
    """An event of the turn of ``model``."""

    model: str
    event: AgentEvent


class Consulting(Protocol):
    """The part of ``AsclepiusHealthcareAgent`` that a comparison needs."""

    def check_message(self, message: str) -> None:
        """Raise ``InputRejected`` for a message that cannot be accepted."""
        ...

    def consult(self, message: str, options: ConsultOptions) -> AsyncGenerator[AgentEvent, None]:
        """Return the events of one turn."""
        ...


async def compare(
    agent: Consulting, message: str, models: Sequence[str], options: ConsultOptions
) -> AsyncGenerator[ModelEvent, None]:
    """Ask each of ``models`` once, with ``options`` apart from the model.

    Per model the events are those of one turn, in its order, ending with ``TurnEnded``; between models any order.

    Raises:
        InputRejected: The message cannot be accepted; raised before the first event.
    """
    agent.check_message(message)
    turns = {
        model: _whole_turn(agent.consult(message, replace(options, model=model, turn_id=uuid4().hex)))
        for model in dict.fromkeys(models)
    }
    async with aclosing(interleave(turns)) as events:
        async for model, event in events:
            yield ModelEvent(model=model, event=event)


async def interleave(streams: Mapping[K, AsyncGenerator[T, None]]) -> AsyncGenerator[tuple[K, T], None]:
    """Yield the items of all ``streams`` as they arrive, each with its key; the order within a stream is kept.

    At most as many items are queued as there are streams, so that a slow reader slows the streams instead of filling
    memory. Closing the iteration closes all streams; an exception of a stream is raised here and closes the others.
    """
    waiting: asyncio.Queue[tuple[K, T] | Exception | None] = asyncio.Queue(maxsize=max(1, len(streams)))

    async def read(key: K, stream: AsyncGenerator[T, None]) -> None:
        # One task reads a stream from start to end, because its time limits belong to the task that reads it.
        try:
            async with aclosing(stream):
                async for item in stream:
                    await waiting.put((key, item))
                    # A stream that always has an item ready would otherwise never yield to the others.
                    await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - passed on, and raised where the streams are read
            await waiting.put(error)
        else:
            await waiting.put(None)

    tasks = [asyncio.create_task(read(key, stream)) for key, stream in streams.items()]
    try:
        running = len(tasks)
        while running:
            item = await waiting.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _whole_turn(events: AsyncGenerator[AgentEvent, None]) -> AsyncGenerator[AgentEvent, None]:
    """Yield ``events``; end them with an outcome when they fail."""
    answer: list[str] = []
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    answer.append(event.text)
                elif isinstance(event, TextReplaced):
                    answer.clear()
                yield event
    except AsclepiusError as error:
        yield TurnEnded(outcome=failed(error), answer="".join(answer))
    except Exception as error:  # noqa: BLE001 - the boundary of one model's turn, which ends in an outcome
        # Its message may quote the question.
        logger.error("One of several models broke off with %s", type(error).__name__)  # noqa: TRY400
        yield TurnEnded(outcome=BROKEN, answer="".join(answer))
