"""How fast text goes to a browser: in windows, and no faster than the browser takes it.

One message per token makes a page lag seconds behind, for it reads a message anew with every piece. And what a busy
browser has received but not yet shown lies where the server does not see it. So every window ends with a mark, which
Chainlit's page hands back (``window_message``) once it has worked off what came before, and the next window but one
waits for it. A client that hands nothing back is waited for once, and then gets its windows by the clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from chat_app.interface.rendering.sockets import emit, waiting

WINDOW: Final = 0.045
LONG_WINDOW: Final = 0.1
LONGEST_WINDOW: Final = 1.0
LONG_PART: Final = 8_000
PATIENCE: Final = 2.0
MARK: Final = "asclepius_mark"
_MOST_WAITING: Final = 64
_BACKLOG_PAUSE: Final = 0.05


@dataclass
class _Marks:
    """The marks that one browser was sent and has handed back, counted."""

    sent: int = 0
    back: int = 0
    silent: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Pace:
    """The pace of every browser that is being shown an answer."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._marks: WeakKeyDictionary[WebsocketSession, _Marks] = WeakKeyDictionary()

    def begin(self, session: WebsocketSession) -> None:
        """``session`` has a new socket: marks that were under way to the old one do not come back."""
        self._marks[session] = _Marks()

    async def after_text(self, session: WebsocketSession, growing: int, spent: float) -> None:
        """Returns when the next text may go. ``growing``: characters that the page reads anew; ``spent``: seconds."""
        # A table or a list of any length is read again with each row: the longer it is, the rarer they come.
        window = min(LONGEST_WINDOW, LONG_WINDOW * growing / LONG_PART) if growing > LONG_PART else WINDOW
        marks = self._marks.setdefault(session, _Marks())
        marks.sent += 1
        await emit(session, "window_message", {MARK: marks.sent})
        await asyncio.sleep(max(0.0, window - spent))
        await self._taken(marks, marks.sent - 1)
        while waiting(session) > _MOST_WAITING:  # noqa: ASYNC110 - the socket's queue tells nobody that it shrank
            await asyncio.sleep(_BACKLOG_PAUSE)

    def handed_back(self, session: WebsocketSession, payload: object) -> None:
        """A browser sent a ``window_message``: one of its marks, or something that is not meant for this."""
        marks = self._marks.get(session)
        number = payload.get(MARK) if isinstance(payload, dict) else None
        if marks is not None and isinstance(number, int):
            marks.back = max(marks.back, min(number, marks.sent))
            marks.silent = False
            marks.changed.set()

    async def _taken(self, marks: _Marks, number: int) -> None:
        try:
            async with asyncio.timeout(self._patience):
                while marks.back < number and not marks.silent:
                    marks.changed.clear()
                    await marks.changed.wait()
        except TimeoutError:
            marks.silent = marks.back == 0
