"""Sign-in and the ownership check.

Signing in gives a signed cookie, which the page, its socket and the HTTP API read. ``ASCLEPIUS_AUTH`` selects how
to get one: as the demo user (on loopback only), with a password (``accounts``, ``ASCLEPIUS_USERS``), from a trusted
proxy that names the user in a header, or from an OpenID Connect provider (``oidc``).
"""

import asyncio
import ipaddress
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, takewhile
from typing import Any

import jwt
from starlette.requests import Request

from chat_app.data_protection import kept_secret
from chat_app.interface.security.accounts import accounts_at, decoy, no_user, parse_users, verify_password
from chat_app.roles import RIGHTS, Right, Role
from chat_app.settings import ServerSettings, Settings

logger = logging.getLogger(__name__)

DEMO_USER = "demo"
COOKIE = "access_token"
SECRET_VARIABLE = "CHAINLIT_AUTH_SECRET"  # noqa: S105 - the name of a variable
LOGIN_LASTS = timedelta(hours=12)
"""One working day; ``user_session_timeout`` in ``.chainlit/config.toml`` says the same to Chainlit."""
_LEEWAY = timedelta(seconds=60)
"""How far the clocks of two replicas may differ."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Login:
    """A valid login: its user, its token, when it was issued (Unix time), and the roles that came with it."""

    user: str
    token: str
    issued: float
    roles: tuple[Role, ...] = ()


class Unauthenticated(Exception):
    """The request carries no valid login."""


class NotOwner(Exception):
    """The object belongs to another user or does not exist; both get the same response."""


class NotAllowed(Exception):
    """The user's roles do not include the right."""


def login_metadata(roles: Sequence[Role] = ()) -> dict[str, Any]:
    """Return the metadata of a new login's token.

    A random mark makes each token different, so that one login can be ended. The exact time of issue tells a login
    from one that was ended in the same second; a token's ``iat`` is in whole seconds.
    """
    return {"login": secrets.token_hex(8), "issued": time.time(), "roles": list(roles)}


def owns(user: str | None, owner: str | None) -> bool:
    """Return whether ``user`` is the owner; every route, socket event and element uses this check."""
    return bool(user) and user == owner


def require_owner(user: str | None, owner: str | None) -> None:
    """Raise ``NotOwner`` unless ``user`` is the owner."""
    if not owns(user, owner):
        raise NotOwner


class Identity:
    """Signs people in according to the settings."""

    def __init__(self, settings: Settings) -> None:
        self.server: ServerSettings = settings.server
        self._users = parse_users(settings.server.users.get_secret_value()) if settings.server.users else {}
        self._accounts = accounts_at(settings.storage.data_dir)
        self._empty = False
        """Whether the last password was given while there was no user."""
        configured, path = settings.server.auth_secret, settings.storage.data_dir / "auth_secret"
        self.secret = (
            configured.get_secret_value() if configured else kept_secret(path, partial(secrets.token_urlsafe, 48))
        )
        self._trusted = [ipaddress.ip_network(one, strict=False) for one in settings.server.trusted_proxies]

    async def check(self) -> None:
        """Raise ``SignInUnavailable`` while nobody can sign in because the file of users cannot be read."""
        if self.server.auth == "password":
            self._accounts.current()

    def from_headers(self, headers: Mapping[str, str]) -> str | None:
        """Return the user that a request's headers name: the demo user or the trusted proxy's user."""
        if self.server.auth == "demo":
            return DEMO_USER
        if self.server.auth == "header":
            return clean_name(headers.get(self.server.auth_header.lower()))
        return None

    async def from_password(self, name: str, password: str) -> str | None:
        """Return the user if the password is right; an unknown name takes as long."""
        users = self._accounts.current().users
        if not (users or self._users) and not self._empty:
            logger.warning("%s", no_user(self._accounts.path))
        self._empty = not (users or self._users)
        account = users.get(name)
        known = account.password if account else self._users.get(name)
        right = await asyncio.to_thread(verify_password, password, known or decoy())
        return name if known is not None and right else None

    def from_cookies(self, cookies: Mapping[str, str]) -> str:
        """Return the user of a login cookie; raise ``Unauthenticated`` when it is missing, expired or forged."""
        return self.from_token(token_of(cookies))

    def from_token(self, token: str | None) -> str:
        """Return the user of a login token. Raises ``Unauthenticated``."""
        login = self.login(token)
        if login is None:
            raise Unauthenticated
        return login.user

    def login(self, token: str | None) -> Login | None:
        """Return the login of a token, or None when it is forged, has expired or names a user without access."""
        try:
            claims = jwt.decode(
                token or "", self.secret, algorithms=["HS256"], leeway=_LEEWAY, options={"require": ["exp", "iat"]}
            )
        except jwt.InvalidTokenError:
            return None
        name = clean_name(claims.get("identifier"))
        if not token or name is None or not self.may_use(name):
            return None
        account = self._accounts.current().users.get(name) if self.server.auth == "password" else None
        metadata: dict[str, Any] = claims.get("metadata") or {}
        issued = float(metadata.get("issued", claims["iat"]))
        if account is not None and issued <= account.changed:
            return None
        return Login(name, token, issued, tuple(metadata.get("roles", ())))

    def issue_login(self, name: str, roles: Sequence[Role] = ()) -> Login:
        """Return a new login of ``name``, with ``roles`` besides those that the settings give."""
        now = datetime.now(UTC)
        claims: dict[str, Any] = {"identifier": name, "display_name": None, "metadata": login_metadata(roles)}
        claims |= {"iat": now, "exp": now + LOGIN_LASTS}
        # The token is in Chainlit's format.
        return Login(name, jwt.encode(claims, self.secret, algorithm="HS256"), time.time(), tuple(roles))

    def cookie_of(self, login: Login) -> str:
        """Return the value of the ``Set-Cookie`` header that signs a browser in."""
        lasts, path = int(LOGIN_LASTS.total_seconds()), self.server.root_path or "/"
        return f"{COOKIE}={login.token}; HttpOnly; Max-Age={lasts}; Path={path}; SameSite=lax"

    def may_use(self, name: str) -> bool:
        """Return whether that user may use the page under the current settings."""
        if self.server.auth == "demo":
            return name == DEMO_USER
        return self.server.auth != "password" or name in self._users or name in self._accounts.current().users

    def may(self, right: Right, token: str | None) -> bool:
        login = self.login(token)
        return login is not None and right in self._rights(login)

    def require(self, right: Right, token: str | None) -> str:
        """Return the user of a login token. Raises ``Unauthenticated``, and ``NotAllowed`` without the right."""
        name = self.from_token(token)
        if not self.may(right, token):
            raise NotAllowed
        return name

    def _rights(self, login: Login) -> frozenset[Right]:
        roles: list[Role] = [*login.roles, *(role for name, role in self.server.roles if name == login.user)]
        if self.server.auth == "password" and (account := self._accounts.current().users.get(login.user)) is not None:
            roles.append(account.role)
        rights: set[Right] = {right for role in roles for right in RIGHTS.get(role, ())}
        if self.server.auth == "demo":
            rights |= {"audit", "administer"}
        if self.server.may_upload(login.user):
            rights.add("upload")
        return frozenset(rights)

    def client_of(self, headers: Mapping[str, str], peer: str | None) -> str:
        """Return the client's address: the last one in X-Forwarded-For that is no trusted proxy, else the peer."""
        hops = [*(hop.strip() for hop in headers.get("x-forwarded-for", "").split(",")), peer or ""]
        while len(hops) > 1 and (not hops[-1] or self.is_trusted(hops[-1])):
            hops.pop()
        with suppress(ValueError):
            ipaddress.ip_address(hops[-1])
            return hops[-1]
        return peer or ""

    def base_address(self, request: Request) -> str:
        """Return the public address of the app, without a slash at its end."""
        return (self.server.public_url or str(request.base_url).rstrip("/")) + self.server.root_path

    def is_trusted(self, peer: str | None) -> bool:
        with suppress(ValueError):
            address = ipaddress.ip_address(peer or "")
            return any(address in trusted for trusted in self._trusted)
        return False


def clean_name(name: object) -> str | None:
    """Return a user's name without spaces around it; None when it cannot be one."""
    if not isinstance(name, str):
        return None
    name = name.strip()
    return name if 0 < len(name) <= _LONGEST_NAME and name.isprintable() else None


def token_of(cookies: Mapping[str, str]) -> str:
    """Return the login token in a request's cookies; empty when there is none."""
    parts = takewhile(cookies.__contains__, (f"{COOKIE}_{position}" for position in count()))
    return cookies.get(COOKIE) or "".join(cookies[part] for part in parts)
