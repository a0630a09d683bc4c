"""The sequence numbers of one response's events: which events came twice, and whether any are missing."""

import logging

from chat_app.response_events import ResponseEvent, ResponseLifecycleEvent

logger = logging.getLogger(__name__)


class EventNumbers:
    """Follows the numbers; some servers number nothing, only a few events, or repeat their numbers."""

    def __init__(self) -> None:
        self.gap = False
        """Whether a number was skipped, as far as the numbers can be relied on."""
        self._useful = True
        self._last_number: int | None = None
        self._last_event: ResponseEvent | None = None

    def repeats(self, event: ResponseEvent, response_id: str | None) -> bool:
        """Return whether ``event`` was delivered before; ``response_id`` is that of the events so far."""
        number, last = event.sequence_number, self._last_number
        previous, self._last_event = self._last_event, event
        if self._useful and number is not None and last is not None and number == last + 1:
            self._last_number = number
            return False
        if isinstance(event, ResponseLifecycleEvent) and response_id not in {None, event.response_id}:
            # A response that broke off before its first word was requested again: its numbers restart.
            last = None
        if number is None:
            # Some servers number only a few of their events, which makes the numbers useless.
            self._useful = self.gap = False
        if number is None or not self._useful:
            return False
        self._last_number = number
        if last is None:
            return False
        if number > last:
            logger.warning("The model server skipped %d sequence numbers.", number - last - 1)
            self.gap = True
            return False
        if number == last and event == previous:
            return True
        # Numbers that repeat or decrease are useless; the finished texts still show whether text is lost.
        self._useful = False
        return False
