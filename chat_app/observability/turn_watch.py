"""The subscriber of every turn: it logs how each part of a turn went, and feeds the metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
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
from chat_app.tracing.redaction import describe_error
from chat_app.tracing.timings import TurnClock
from tools.types import FunctionOutput

if TYPE_CHECKING:
    from chat_app.observability.app_metrics import AppMetrics

logger = logging.getLogger(__name__)

HOSTED_SEARCH = "file_search"
UNKNOWN_TOOL = "unknown"


class TurnWatch:
    """Call it with each event of one turn, in order, as readers get it; it never raises.

    Args:
        ids: The turn's ids, for its lines: readers stop a turn from tasks that are not the turn's.
        tool_names: Return the tools that exist; a call of any other name is logged as ``unknown``, because the model
            made that name up and it may contain anything.
        metrics: Gets the figures of the turn.
    """

    def __init__(
        self, ids: LogIds, tool_names: Callable[[], Collection[str]], metrics: AppMetrics | None = None
    ) -> None:
        self._ids = ids
        self._tool_names = tool_names
        self._metrics = metrics
        self._clock = TurnClock()

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
                self._ids.conversation_id = event.conversation_id
            case RunItemStreamEvent(item=ToolOutputRunItem() as item):
                self._tool_ended(item.function_output)
            case RunItemStreamEvent(item=LLMResponseItem() as item):
                self._log("Model response ended", {"step": item.step})
            case TurnEnded():
                self._turn_ended(event)
            case Notice() | ReferencesReady() | StatementsChecked() if self._metrics is not None:
                self._metrics.count_event(event)
            case _:
                return

    def _tool_ended(self, output: FunctionOutput) -> None:
        known = output.name == HOSTED_SEARCH or output.name in self._tool_names()
        tool = output.name if known else UNKNOWN_TOOL
        outcome = "ok" if output.error is None else output.error_code
        seconds = output.duration_ms / 1000
        self._log("Tool call ended", {"tool": tool, "outcome": outcome, "seconds": round(seconds, 4)})
        if self._metrics is not None:
            self._metrics.count_tool_call(tool, outcome, seconds, output)

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
        if self._metrics is not None:
            self._metrics.count_turn(event, timings)

    def _log(self, what: str, fields: dict[str, Any]) -> None:
        shown = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
        logger.info("%s: %s", what, shown, extra={"fields": self._ids.known() | fields})
