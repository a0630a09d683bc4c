"""Drives ONE response: its events in, what became known out, and one outcome at the end.

``updates()`` never raises for a stream that breaks: the text so far is kept and the break is the outcome. It raises
only what can be answered by asking differently, before anything was said (``PreviousResponseNotFound``).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from chat_app.errors import PreviousResponseNotFound, ProviderError
from chat_app.events import Notice, Outcome, RawResponsesStreamEvent
from chat_app.generation.outcomes import exception_outcome
from chat_app.generation.output import GeneratorOutput
from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.updates import Update

logger = logging.getLogger(__name__)


class StreamManager:
    """Folds one generation; ``fold`` and ``outcome`` are final when ``updates()`` has ended."""

    def __init__(self, output: GeneratorOutput[Any]) -> None:
        self.output = output
        self.fold = ResponseFold()

    @property
    def outcome(self) -> Outcome:
        return self.output.outcome

    async def updates(self) -> AsyncGenerator[Update | RawResponsesStreamEvent | Notice, None]:
        """Every raw event followed by the updates it caused, and notices of waiting."""
        outcome: Outcome | None = None
        try:
            async with aclosing(self.output.stream_events()) as events:
                async for event in events:
                    if isinstance(event, Notice):
                        yield event
                        continue
                    updates = self.fold.apply(cast("Any", event.data))
                    yield event
                    for update in updates:
                        yield update
        except PreviousResponseNotFound:
            raise
        except ProviderError as error:
            logger.warning("A response ended early: %s", type(error).__name__)
            outcome = exception_outcome(error, any_text=bool(self.fold.text))
        finally:
            self.output.settle(self.fold, outcome or self.fold.outcome)
            if self.fold.unknown_events:
                logger.info("The model server sent %d events of unknown types.", self.fold.unknown_events)
