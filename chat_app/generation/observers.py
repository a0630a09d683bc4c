"""What a generator tells those who observe its calls, such as the trace loggers."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chat_app.generation.output import GeneratorOutput
    from chat_app.generation.prompt import Prompt

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class GeneratorCall:
    """One call of a generator: its arguments, and how it went as far as it has come."""

    prompt: Prompt
    items: tuple[Mapping[str, Any], ...]
    prompt_kwargs: Mapping[str, Any]
    model_kwargs: Mapping[str, Any]
    """Fields of the request: those of the generator and those of the call."""
    time_stamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    error_type: str | None = None
    """Type of the exception that ended the call."""
    stopped: bool = False
    """Whether the caller left before the end."""
    seconds_to_first_event: float | None = None
    seconds: float = 0.0
    _began: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        """Return the seconds since the call began."""
        return time.perf_counter() - self._began


class GeneratorObserver:
    """Observes calls. Neither method may block; an observer that raises is logged and otherwise ignored."""

    def call_started(self, call: GeneratorCall) -> None:
        """Handle the start of ``call``, before its prompt is rendered."""

    def call_ended(self, call: GeneratorCall, output: GeneratorOutput[Any] | None) -> None:
        """Handle the end of ``call``; ``output`` is None when it could not start."""


def notify(observers: Sequence[GeneratorObserver], tell: Callable[[GeneratorObserver], None]) -> None:
    """Call ``tell`` with each observer."""
    for observer in observers:
        try:
            tell(observer)
        except Exception as error:  # noqa: BLE001 - an observer must not break what it observes
            # Without the message, which may quote what the observer was told.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.filename}:{frame.lineno}"
            logger.warning("A call could not be traced: %s at %s", type(error).__name__, place)
