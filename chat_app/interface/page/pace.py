"""Pace of the text sent to a browser: in windows, no faster than the browser renders them.

One message per token makes a page lag seconds behind, because it renders the whole message with every piece, and the
server cannot see the browser's backlog. So windows end with a mark, which Chainlit's page returns
(``window_message``) after rendering what came before; the next mark but one waits for it. Every window of a browser
that is behind is marked, and every fourth one otherwise. A client that returns nothing is waited for once and then
paced by the clock.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from chat_app.interface.rendering.sockets import drained, emit

WINDOW: Final = 0.045
LONG_WINDOW: Final = 0.1
LONGEST_WINDOW: Final = 1.0
LONG_PART: Final = 8_000
PATIENCE: Final = 2.0
MARK: Final = "asclepius_mark"
_MARK_EVERY: Final = 4
Sleep = Callable[[float], Awaitable[None]]


@dataclass
class _Marks:
    """Marks sent to and returned by one browser, windows since the last one, and when the last window ends."""

    sent: int = 0
    back: int = 0
    windows: int = 0
    window_ends: float = 0.0
    silent: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Pace:
    """Pace of every browser that is shown an answer. ``sleep`` waits for the given seconds."""

    def __init__(self, *, patience: float = PATIENCE, sleep: Sleep = asyncio.sleep) -> None:
        self._patience = patience
        self._sleep = sleep
        self._marks: WeakKeyDictionary[WebsocketSession, _Marks] = WeakKeyDictionary()

    def begin(self, session: WebsocketSession) -> None:
        """Start over for a new socket of ``session``; the old one's marks do not come back."""
        self._marks[session] = _Marks()

    async def after_text(self, session: WebsocketSession, growing: int, began: float) -> None:
        """Begin the window of a text that was rendered at ``began`` on the event loop's clock, and sent.

        ``growing`` is the number of characters that the page renders again with every piece.
        """
        # A table or list is rendered again with each row: the longer it is, the longer the window.
        window = min(LONGEST_WINDOW, LONG_WINDOW * growing / LONG_PART) if growing > LONG_PART else WINDOW
        marks = self._marks.setdefault(session, _Marks())
        marks.windows, marks.window_ends = marks.windows + 1, began + window
        if marks.sent <= 1 or marks.back < marks.sent or marks.windows >= _MARK_EVERY:
            marks.sent, marks.windows = marks.sent + 1, 0
            await emit(session, "window_message", {MARK: marks.sent})

    async def ready(self, session: WebsocketSession) -> None:
        if (marks := self._marks.get(session)) is None:
            return
        if (left := marks.window_ends - asyncio.get_running_loop().time()) > 0:
            await self._sleep(left)
        awaited = marks.sent - 1
        try:
            async with asyncio.timeout(self._patience):
                while marks.back < awaited and not marks.silent:
                    marks.changed.clear()
                    await marks.changed.wait()
        except TimeoutError:
            marks.silent = marks.back == 0
        await drained(session)

    def handed_back(self, session: WebsocketSession, payload: object) -> None:
        """Handle a ``window_message``, which may be one of the browser's marks."""
        marks = self._marks.get(session)
        number = payload.get(MARK) if isinstance(payload, dict) else None
        if marks is not None and isinstance(number, int):
            marks.back = max(marks.back, min(number, marks.sent))
            marks.silent = False
            marks.changed.set()
