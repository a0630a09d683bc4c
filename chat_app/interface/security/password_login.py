"""Logins by password: slowed down for whoever guesses, with a bound on the memory that hashing takes.

After ``FREE_TRIES`` wrong passwords for one user from one address, or ``FREE_TRIES_OF_ADDRESS`` from one address, the
next try has to wait: a second at first, twice as long after each further one, up to ``LONGEST_PAUSE``. Others are not
slowed down. Each process counts separately.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from chat_app.audit import AuditLog, client_address
from chat_app.errors import AsclepiusError
from chat_app.interface.security.identity import Identity

logger = logging.getLogger(__name__)

FREE_TRIES: Final = 5
FREE_TRIES_OF_ADDRESS: Final = 50
LONGEST_PAUSE: Final = 900.0
HASHED_AT_ONCE: Final = 2
"""Checking one password takes 128 MiB."""
MOST_WAITING: Final = 32
_FORGET_BEYOND: Final = 10_000


class TooManyLogins(AsclepiusError):
    """The user has to wait before the next try. ``retry_after``: whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"There were too many tries to log in. Try again in {retry_after} seconds.")
        self.retry_after = retry_after


@dataclass(slots=True)
class _Tries:
    count: int = 0
    next_at: float = 0.0


class LoginThrottle:
    """Counts tries since the last right password; ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: dict[tuple[str, str], _Tries] = {}

    def begin(self, user: str, address: str) -> None:
        """Count a try before its password is checked, so that tries at once count too. Raises ``TooManyLogins``."""
        now = self._clock()
        keys = (((user, address), FREE_TRIES), (("", address), FREE_TRIES_OF_ADDRESS))
        wait = max(self._tries[key].next_at - now if key in self._tries else 0 for key, _ in keys)
        if wait > 0:
            raise TooManyLogins(math.ceil(wait))
        self._forget(now)
        for key, free in keys:
            tries = self._tries.setdefault(key, _Tries())
            tries.count += 1
            beyond = tries.count - free
            tries.next_at = now + min(LONGEST_PAUSE, 2.0 ** min(beyond, 30)) if beyond >= 0 else now

    def succeeded(self, user: str, address: str) -> None:
        """Forget the tries of a user who knew the password."""
        self._tries.pop((user, address), None)
        if (whole := self._tries.get(("", address))) is not None:
            whole.count, whole.next_at = max(0, whole.count - 1), 0.0

    def _forget(self, now: float) -> None:
        if len(self._tries) > _FORGET_BEYOND:
            self._tries = {key: tries for key, tries in self._tries.items() if now - tries.next_at < LONGEST_PAUSE}


class PasswordLogin:
    """Checks passwords, and records in log and audit log who logged in and who failed to."""

    def __init__(self, identity: Identity, audit: AuditLog) -> None:
        self._identity = identity
        self._audit = audit
        self._throttle = LoginThrottle()
        self._hashing = asyncio.Semaphore(HASHED_AT_ONCE)
        self._waiting = 0

    async def log_in(self, user: str, password: str) -> str | None:
        """Return the user, or None for a wrong name or password. Raises ``TooManyLogins``."""
        address = client_address.get()
        if self._waiting >= MOST_WAITING:
            raise TooManyLogins(5)
        self._throttle.begin(user, address)
        self._waiting += 1
        try:
            async with self._hashing:
                name = await self._identity.from_password(user, password)
        finally:
            self._waiting -= 1
        if name is None:
            # The name may be a password that was typed into the wrong field.
            logger.warning("A login from %s failed.", address)
            await self._audit.record("login_failed", user if self._identity.may_use(user) else "unknown")
            return None
        self._throttle.succeeded(user, address)
        await self._audit.record("login", name)
        return name
