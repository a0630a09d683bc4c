"""Who sends a request: one decision, made before anything else reads the request.

``SignIn.admit`` leaves at most one way to be signed in: a valid login cookie. A trusted proxy's header replaces a
cookie of another user, and is removed when another peer sends it. A login that was ended, came from an untrusted
address or is not valid is removed.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser

from chat_app.interface.security.accounts import KEY_PREFIX, ApiKeys, FollowedFile, find_key, key_id
from chat_app.interface.security.identity import COOKIE, Identity, Login, clean_name, token_of
from chat_app.sessions.ended_logins import EndedLogins

_MCP: Final = "/mcp"
_BY_KEY: Final = ("/api/", "/v1/", "/infobutton", _MCP)
"""Paths that take an API key."""
_SIGNED: Final = "/cds-services"
"""Below it, requests carry a token that only their route can check, and no login."""
_FORWARDED: Final = ("x-forwarded-", "forwarded", "x-real-ip")


@dataclass(frozen=True, slots=True)
class Admission:
    """The result: headers to pass on, the login if there is one, whether it is new to the browser, and its key's id."""

    headers: list[tuple[bytes, bytes]]
    login: Login | None = None
    is_new: bool = False
    key: str = ""


class Refused(Exception):
    """The request must not be served. Its arguments are the HTTP status and the reason."""


@dataclass(frozen=True)
class SignIn:
    """Decides for each request who is signed in. ``ended`` waits for the store of ended logins to open."""

    identity: Identity
    keys: FollowedFile[ApiKeys]
    ended: Callable[[], Awaitable[EndedLogins | None]]

    async def admit(self, scope: Mapping[str, Any], peer: str | None) -> Admission:
        """Return who sends the request, with the headers that the app may see. Raises ``Refused``."""
        # The WebSocket server leaves the names as the client wrote them.
        headers = MutableHeaders(raw=[(name.lower(), value) for name, value in scope["headers"]])
        mode, proxys_header = self.identity.server.auth, self.identity.server.auth_header
        if mode == "demo" and any(name.startswith(_FORWARDED) for name in headers):
            raise Refused(403, "The demo user is for this machine alone, not behind a proxy. Set ASCLEPIUS_AUTH.")
        named = headers.getlist(proxys_header)
        if mode == "header" and len(named) > 1:
            raise Refused(400, "The request names its user more than once.")
        trusted = mode != "header" or self.identity.is_trusted(peer)
        login = await self._from_cookie(headers) if trusted else None
        is_new = False
        if mode == "header" and trusted:
            login, is_new = self._from_proxy(next(iter(named), None), login)
        if (key := _key_of(headers)) is not None and str(scope["path"]).startswith(_BY_KEY):
            # Nothing behind /mcp changes anything, though each of its requests is a POST.
            reads = scope.get("method") in ("GET", "HEAD") or scope["path"] == _MCP
            login, is_new = self._from_key(key, reads=reads), False
        else:
            key = None
        if mode != "header" or not trusted:
            del headers[proxys_header]
        if str(scope["path"]).startswith(_SIGNED):
            return Admission(headers.raw)
        _replace_login(headers, login)
        return Admission(headers.raw, login, is_new, key=key_id(key) if key else "")

    async def end(self, login: Login) -> None:
        """End a login. Raises ``SessionStoreUnavailable``."""
        if (ended := await self.ended()) is not None:
            await ended.end(login.token)

    async def end_all(self, user: str) -> None:
        """End all logins of ``user``. Raises ``SessionStoreUnavailable``."""
        if (ended := await self.ended()) is not None:
            await ended.end_all(user)

    async def is_valid(self, token: str | None) -> bool:
        login = self.identity.login(token)
        return login is not None and not await self._was_ended(login)

    async def _from_cookie(self, headers: Headers) -> Login | None:
        cookies: dict[str, str] = {}
        for value in headers.getlist("cookie"):
            cookies |= cookie_parser(value)
        login = self.identity.login(token_of(cookies))
        if login is None or await self._was_ended(login):
            return None
        # Chainlit's own check knows no leeway for the clock of another replica.
        return self.identity.issue_login(login.user, login.roles) if login.issued > time.time() else login

    def _from_key(self, given: str, *, reads: bool) -> Login:
        """Return a login of the key's user. Raises ``Refused``."""
        key = find_key(self.keys, given)
        if key is None or not self.identity.may_use(key.user):
            raise Refused(401, "This API key is not valid, or has expired.")
        if key.scope == "read" and not reads:
            raise Refused(403, "This API key may only read.")
        return self.identity.issue_login(key.user)

    async def _was_ended(self, login: Login) -> bool:
        ended = await self.ended()
        return ended is not None and await ended.has_ended(login.token, login.user, login.issued)

    def _from_proxy(self, given: str | None, login: Login | None) -> tuple[Login | None, bool]:
        """Return the login of the user whom the proxy names, and whether it replaces the browser's."""
        if given is None:
            return login, False
        named = clean_name(given)
        if named is None:
            return None, False
        if login is not None and login.user == named:
            return login, False
        return self.identity.issue_login(named), True


def _replace_login(headers: MutableHeaders, login: Login | None) -> None:
    """Make ``login`` the only credential of a request."""
    given = (part for value in headers.getlist("cookie") for part in value.split(";"))
    cookies = [part.strip() for part in given if not _signs_in(part)]
    if login is not None:
        cookies.append(f"{COOKIE}={login.token}")
    del headers["authorization"], headers["cookie"]
    if cookies:
        headers["cookie"] = "; ".join(cookies)


def _key_of(headers: Headers) -> str | None:
    for value in headers.getlist("authorization"):
        scheme, _, given = value.partition(" ")
        if scheme.lower() == "bearer" and given.startswith(KEY_PREFIX):
            return given.strip()
    return None


def _signs_in(cookie: str) -> bool:
    name = cookie.partition("=")[0].strip()
    return name == COOKIE or name.startswith(f"{COOKIE}_")
