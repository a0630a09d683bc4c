"""Durations of the phases of a turn, computed from its events."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from chat_app.events import Notice, RunItemStreamEvent, TextDelta, ToolCallRunItem, ToolOutputRunItem, TurnStarted


@dataclass(frozen=True, slots=True)
class TurnTimings:
    """Seconds since the turn began; None for what did not happen."""

    first_event: float | None
    """Until the first event from the model server: neither the turn's start nor a notice."""
    first_text: float | None
    tools: float
    """During which at least one tool ran; two tools in parallel count once."""
    total: float


class TurnClock:
    """Folds events, in order, into ``TurnTimings``. ``now`` is a monotonic clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._began = now()
        self._first_event: float | None = None
        self._first_text: float | None = None
        self._tools = 0.0
        self._running: set[str] = set()
        self._tools_since = 0.0

    def see(self, event: object) -> None:
        """Account for ``event``, which happens now."""
        if isinstance(event, TurnStarted | Notice):
            return
        now = self._now()
        if self._first_event is None:
            self._first_event = now - self._began
        if isinstance(event, TextDelta) and self._first_text is None:
            self._first_text = now - self._began
        elif isinstance(event, RunItemStreamEvent):
            self._see_tool(event, now)

    def timings(self) -> TurnTimings:
        """Return the timings up to now."""
        now = self._now()
        running = now - self._tools_since if self._running else 0.0
        return TurnTimings(self._first_event, self._first_text, self._tools + running, now - self._began)

    def _see_tool(self, event: RunItemStreamEvent, now: float) -> None:
        item = event.item
        if isinstance(item, ToolCallRunItem):
            if not self._running:
                self._tools_since = now
            self._running.add(item.function.call_id)
        elif isinstance(item, ToolOutputRunItem) and item.function_output.input.call_id in self._running:
            self._running.remove(item.function_output.input.call_id)
            if not self._running:
                self._tools += now - self._tools_since
