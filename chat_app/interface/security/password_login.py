"""Logins by password: slowed down for whoever guesses, with a bound on the memory that hashing takes.

After ``FREE_TRIES`` wrong passwords for one user from one address, or ``FREE_TRIES_OF_ADDRESS`` from one address, the
next try has to wait: a second at first, twice as long after each further one, up to ``LONGEST_PAUSE``. Others are not
slowed down. All processes count together.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from chat_app.audit import AuditLog, client_address
from chat_app.errors import AsclepiusError
from chat_app.interface.security.identity import Identity
from chat_app.sessions.tallies import Tallies, Tally

logger = logging.getLogger(__name__)

FREE_TRIES: Final = 5
FREE_TRIES_OF_ADDRESS: Final = 50
LONGEST_PAUSE: Final = 900.0
HASHED_AT_ONCE: Final = 2
"""Checking one password takes 128 MiB."""
MOST_WAITING: Final = 32
_REMEMBERED_SECONDS: Final = 86_400


class TooManyLogins(AsclepiusError):
    """The user has to wait before the next try. ``retry_after``: whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"There were too many tries to log in. Try again in {retry_after} seconds.")
        self.retry_after = retry_after


@dataclass(frozen=True)
class LoginThrottle:
    """Counts tries since the last right password; ``clock`` returns Unix time."""

    tallies: Tallies
    clock: Callable[[], float] = time.time

    async def begin(self, user: str, address: str) -> None:
        """Count a try before its password is checked, so that tries at once count too. Raises ``TooManyLogins``."""
        await self.tallies.change(_names(user, address), self._counted, _REMEMBERED_SECONDS)

    async def succeeded(self, user: str, address: str) -> None:
        await self.tallies.change(_names(user, address), _forgotten, _REMEMBERED_SECONDS)

    def _counted(self, found: Sequence[Tally]) -> list[Tally]:
        now = self.clock()
        wait = max(tries.at for tries in found) - now
        if wait > 0:
            raise TooManyLogins(math.ceil(wait))
        return [
            Tally(tries.amount + 1, now + _pause(tries.amount + 1 - free))
            for tries, free in zip(found, (FREE_TRIES, FREE_TRIES_OF_ADDRESS), strict=True)
        ]


def _names(user: str, address: str) -> list[str]:
    return [f"logins of {user} from {address}", f"logins from {address}"]


def _pause(beyond: float) -> float:
    return min(LONGEST_PAUSE, 2.0 ** min(beyond, 30)) if beyond >= 0 else 0.0


def _forgotten(found: Sequence[Tally]) -> list[Tally]:
    return [Tally(), Tally(max(0.0, found[1].amount - 1))]


class PasswordLogin:
    """Checks passwords, and records in log and audit log who logged in and who failed to."""

    def __init__(self, identity: Identity, audit: AuditLog, tallies: Tallies) -> None:
        self._identity = identity
        self._audit = audit
        self._throttle = LoginThrottle(tallies)
        self._hashing = asyncio.Semaphore(HASHED_AT_ONCE)
        self._waiting = 0

    async def log_in(self, user: str, password: str) -> str | None:
        """Return the user, or None for a wrong name or password. Raises ``TooManyLogins``."""
        address = client_address.get()
        if self._waiting >= MOST_WAITING:
            raise TooManyLogins(5)
        self._waiting += 1
        try:
            await self._throttle.begin(user, address)
            async with self._hashing:
                name = await self._identity.from_password(user, password)
        finally:
            self._waiting -= 1
        if name is None:
            # The name may be a password that was typed into the wrong field.
            logger.warning("A login from %s failed.", address)
            await self._audit.record("login_failed", user if self._identity.may_use(user) else "unknown")
            return None
        await self._throttle.succeeded(user, address)
        await self._audit.record("login", name)
        return name
