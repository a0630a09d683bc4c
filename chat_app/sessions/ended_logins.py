"""Tokens that are refused before they expire: ended logins, and tokens for one use that were used.

One login is ended by a log-out, all of a user's by "log out everywhere". A token is named by a hash, so that nobody who
reads the keys can use it. While Redis cannot be reached, this process knows the tokens that it ended itself.
"""

import hashlib
import logging
import time
from typing import Final

from chat_app.errors import SessionStoreUnavailable
from chat_app.sessions.batched_redis import BatchedRedis

_RETRY_SECONDS: Final = 5.0
"""Seconds without a question to Redis after one that failed, so that its absence does not slow down every request."""
_FORGET_BEYOND: Final = 10_000
_LOGIN, _ALL_LOGINS = "login-ended", "logins-ended"

_logger = logging.getLogger(__name__)


class EndedLogins:
    """The ended logins. ``lasts`` is the longest life of a login in seconds."""

    def __init__(self, redis: BatchedRedis, lasts: int) -> None:
        self._redis, self._lasts = redis, lasts
        self._known: dict[str, float] = {}
        self._ask_again = 0.0

    async def end(self, token: str) -> None:
        """End one login. Raises ``SessionStoreUnavailable`` when only this process can know."""
        await self._keep(_key(_LOGIN, token))

    async def end_all(self, user: str) -> None:
        """End all logins that ``user`` has now. Raises ``SessionStoreUnavailable`` like ``end``."""
        await self._keep(_key(_ALL_LOGINS, user))

    async def has_ended(self, token: str, user: str, issued: float) -> bool:
        """Return whether the login was ended; ``issued`` is the Unix time of its start."""
        keys = (_key(_LOGIN, token), _key(_ALL_LOGINS, user))
        if self._known.get(keys[0]) or issued <= self._known.get(keys[1], -1):
            return True
        if time.monotonic() < self._ask_again:
            return False
        try:
            one, everywhere = await self._redis.mget(keys)
        except SessionStoreUnavailable:
            self._ask_again = time.monotonic() + _RETRY_SECONDS
            _logger.warning("Logins that other processes ended are not known while Redis cannot be reached.")
            return False
        return one is not None or (everywhere is not None and issued <= float(everywhere))

    async def first_use(self, name: str, expires: int) -> bool:
        """Return whether the token of that name was never used before; it counts as used until ``expires``."""
        key, now = _key("token-used", name), int(time.time())
        if key in self._known:
            return False
        self._remember(key, now)
        try:
            return bool(await self._redis.set(key, now, ex=max(1, expires - now), nx=True))
        except SessionStoreUnavailable:
            _logger.warning("Tokens that other processes accepted are not known while Redis cannot be reached.")
            return True

    async def _keep(self, key: str) -> None:
        now = time.time()
        self._remember(key, now)
        await self._redis.set(key, now, ex=self._lasts)

    def _remember(self, key: str, now: float) -> None:
        if len(self._known) >= _FORGET_BEYOND:
            self._known = {known: at for known, at in self._known.items() if now - at <= self._lasts}
        self._known[key] = now


def _key(kind: str, name: str) -> str:
    return f"asclepius:{kind}:{hashlib.sha256(name.encode()).hexdigest()}"
