"""The subscriber of every turn: it logs how each part of a turn went, and feeds the metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chat_app.events import (
    AgentEvent,
    LLMResponseItem,
    Notice,
    ReferencesReady,
    RunItemStreamEvent,
    StatementsChecked,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.observability.log_ids import LogIds
from chat_app.tracing.redaction import describe_error, tool_name
from chat_app.tracing.timings import TurnClock
from tools.types import FunctionOutput

if TYPE_CHECKING:
    from chat_app.observability.app_metrics import AppMetrics

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TurnWatch:
    """Call it with each event of one turn, in order, as readers get it; it never raises."""

    ids: LogIds
    """The turn's ids, for its lines: readers stop a turn from tasks that are not the turn's."""
    tool_names: Callable[[], Collection[str]]
    """Returns the tools that exist; a call of any other name is logged as ``unknown``."""
    metrics: AppMetrics | None = None
    _clock: TurnClock = field(default_factory=TurnClock, init=False)

    def __call__(self, event: AgentEvent) -> None:
        """Account for ``event``."""
        try:
            self._see(event)
        except Exception as error:  # noqa: BLE001 - a figure that cannot be counted must not cost an answer
            logger.warning("A turn could not be measured: %s", describe_error(error))

    def _see(self, event: AgentEvent) -> None:
        self._clock.see(event)
        match event:
            case TurnStarted():
                self.ids.conversation_id = event.conversation_id
            case RunItemStreamEvent(item=ToolOutputRunItem() as item):
                self._tool_ended(item.function_output)
            case RunItemStreamEvent(item=LLMResponseItem() as item):
                self._log("Model response ended", {"step": item.step})
            case TurnEnded():
                self._turn_ended(event)
            case Notice() | ReferencesReady() | StatementsChecked() if self.metrics is not None:
                self.metrics.count_event(event)
            case _:
                return

    def _tool_ended(self, output: FunctionOutput) -> None:
        tool = tool_name(output.name, self.tool_names())
        outcome = "ok" if output.error is None else output.error_code
        seconds = output.duration_ms / 1000
        self._log("Tool call ended", {"tool": tool, "outcome": outcome, "seconds": round(seconds, 4)})
        if self.metrics is not None:
            self.metrics.count_tool_call(tool, outcome, seconds, output)

    def _turn_ended(self, event: TurnEnded) -> None:
        timings = self._clock.timings()
        fields = {
            "outcome": event.outcome.kind,
            "code": event.outcome.code,
            "seconds": round(timings.total, 4),
            "seconds_to_first_text": None if timings.first_text is None else round(timings.first_text, 4),
            "seconds_in_tools": round(timings.tools, 4),
        }
        self._log("Turn ended", fields)
        if self.metrics is not None:
            self.metrics.count_turn(event, timings)

    def _log(self, what: str, fields: dict[str, Any]) -> None:
        shown = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
        logger.info("%s: %s", what, shown, extra={"fields": self.ids.known() | fields})
