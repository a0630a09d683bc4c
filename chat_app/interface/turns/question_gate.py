"""Admission of questions: within the limits of their user, and not while the server stops."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from chat_app.errors import AsclepiusError
from chat_app.interface.security.user_limits import UserLimits
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns


class QuestionGate:
    """Admits questions. ``elsewhere`` returns how many answers other processes are writing for a user."""

    def __init__(self, limits: UserLimits, turns: LiveTurns, elsewhere: Callable[[str], Awaitable[int]]) -> None:
        self._limits, self._turns, self._elsewhere = limits, turns, elsewhere
        self._arriving: Counter[str] = Counter()

    async def admit(self, user: str, *, besides: LiveTurn) -> None:
        """Count a question of ``user``, whose turn ``besides`` has been started. Raises ``TooManyQuestions``."""
        await self._admit(user, 1, self._answering(user, besides))

    @asynccontextmanager
    async def admitted(self, user: str, asked: int) -> AsyncGenerator[None]:
        """Count questions whose turns the block starts.

        Raises ``TooManyQuestions``, ``InputRejected`` for too many, or ``AsclepiusError`` while the server stops.
        """
        if self._turns.draining:
            raise AsclepiusError("The server is being stopped. Ask again in a moment.", code="server_stopped")
        answering = self._answering(user)
        # Those that arrive at once see each other before their turns are started.
        self._arriving[user] += asked
        try:
            with self._turns.expected():
                await self._admit(user, asked, answering)
                yield
        finally:
            self._arriving[user] -= asked

    def _answering(self, user: str, besides: LiveTurn | None = None) -> int:
        running = (turn is not besides and turn.log.ended is None for turn in self._turns.of_owner(user))
        return self._arriving[user] + sum(running)

    async def _admit(self, user: str, asked: int, answering: int) -> None:
        with suppress(AsclepiusError):
            answering += await self._elsewhere(user)
        await self._limits.admit(user, running=answering, asked=asked)
