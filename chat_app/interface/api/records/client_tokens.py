"""Tokens by which record systems sign their CDS Hooks requests (CDS Hooks 2.0, "Trusting CDS Clients").

A token is a JSON web token, signed with a private key of its issuer and made out to one address. The operator names the
trusted issuers and where their public keys are; an address of keys inside a token (``jku``) is never opened. A token is
accepted once: its id (``jti``) is remembered until it expires.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import jwt

from chat_app.interface.security.identity import Unauthenticated

logger = logging.getLogger(__name__)

_ALGORITHMS: Final = [f"{family}{bits}" for family in ("ES", "RS", "PS") for bits in (256, 384, 512)]
"""Asymmetric ones alone, as the specification demands."""
_CLAIMS: Final = ["iss", "aud", "exp", "iat", "jti"]
_LEEWAY: Final = 60
FirstUse = Callable[[str, int], Awaitable[bool]]
_FRESH_SECONDS: Final = 3_600.0
_PAUSE_SECONDS: Final = 30.0
"""Between two readings of the keys, so that tokens with made-up key ids cause no traffic."""
_READ_SECONDS: Final = 5.0


class TrustedIssuers:
    """The issuers whose tokens are accepted: their names with the https address or the file of their keys.

    ``first_use`` returns whether a name was never used before the Unix time at which it expires.
    """

    def __init__(self, issuers: Mapping[str, str], first_use: FirstUse) -> None:
        self._keys = {issuer: _KeySet(place) for issuer, place in issuers.items()}
        self._first_use = first_use

    async def issuer_of(self, authorization: str, audience: Sequence[str]) -> str:
        """Return the issuer of the token in an ``Authorization`` header, which must name one address of ``audience``.

        Raises ``Unauthenticated``.
        """
        scheme, _, token = authorization.partition(" ")
        try:
            # What the token claims, before its signature is checked.
            claimed = jwt.decode_complete(token.strip(), options={"verify_signature": False})
            issuer = str(claimed["payload"].get("iss", "")) if scheme.lower() == "bearer" else ""
            keys = self._keys.get(issuer)
            key = await keys.find(str(claimed["header"].get("kid", ""))) if keys else None
            if key is None:
                raise Unauthenticated
            claims = jwt.decode(
                token.strip(),
                key,
                algorithms=_ALGORITHMS,
                audience=audience,
                issuer=issuer,
                leeway=_LEEWAY,
                options={"require": _CLAIMS},
            )
        except (jwt.PyJWTError, TypeError, ValueError):
            raise Unauthenticated from None
        if not await self._first_use(f"{issuer} {claims['jti']}", int(claims["exp"]) + _LEEWAY):
            raise Unauthenticated
        return issuer


class _KeySet:
    """The public keys of one issuer, read again when they are old or a key is missing."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._keys: dict[str, Any] = {}
        self._tried = self._read_at = float("-inf")
        self._lock = asyncio.Lock()

    async def find(self, kid: str) -> Any:
        async with self._lock:
            now = time.monotonic()
            old = kid not in self._keys or now - self._read_at > _FRESH_SECONDS
            if old and now - self._tried > _PAUSE_SECONDS:
                self._tried = now
                await self._refresh()
        return self._keys.get(kid)

    async def _refresh(self) -> None:
        try:
            found = jwt.PyJWKSet.from_json(await self._read())
        except (httpx.HTTPError, jwt.PyJWTError, OSError, ValueError, TypeError, AttributeError) as error:
            logger.warning("The keys of a CDS client cannot be read: %s", type(error).__name__)
            return
        # A shared secret is no public key.
        self._keys = {key.key_id or "": key.key for key in found.keys if key.key_type != "oct"}
        self._read_at = self._tried

    async def _read(self) -> str:
        if not self._place.startswith(("https://", "http://")):
            return await asyncio.to_thread(Path(self._place).read_text, "utf-8")
        async with httpx.AsyncClient(timeout=_READ_SECONDS) as client:
            return (await client.get(self._place)).raise_for_status().text
