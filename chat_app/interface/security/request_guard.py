"""Guard of every request: origin, host, size, the proxy's user header and response headers.

It also closes Chainlit features that this app does not use (sharing, actions, editing stored elements, logging in with
a foreign token).
"""

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chat_app.audit import AuditLog, client_address
from chat_app.errors import AuditUnavailable, SessionStoreUnavailable
from chat_app.interface.security.accounts import SignInUnavailable
from chat_app.interface.security.identity import DEMO_USER, Identity, Login
from chat_app.interface.security.oidc_routes import LEAVE, SIGN_IN_PATHS, is_leaving
from chat_app.interface.security.request_body import TOO_LARGE, RequestBody, refuse
from chat_app.interface.security.sign_in import Admission, Refused, SignIn
from chat_app.settings import is_loopback

_CLOSED = re.compile(
    r"^/(?:mcp/|copilot(?:/.*)?|docs(?:/.*)?|redoc|openapi\.json|auth/jwt|auth/oauth/.*|project/share/.*"
    r"|project/thread/share|project/element|project/action)/?$"
)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_COMPRESSED = ("/assets/", "/public/", "/scripts/", "/project/translations")
_UPLOAD = "/project/file"
_LOGOUT = "/logout"
MAX_BODY = 1_000_000
MAX_UPLOAD = 60_000_000
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def content_policy(nonce: str) -> str:
    """Return the page's content security policy. Chainlit evaluates custom elements, hence ``unsafe-eval``."""
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "media-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


@dataclass(eq=False)
class RequestGuard:
    """ASGI middleware around the whole app."""

    app: ASGIApp
    identity: Identity
    sign_in: SignIn
    audit: AuditLog
    own_page: Callable[[str, str, str | None], str]
    """Rewrites the page's HTML, given a nonce that allows its inline scripts and the browser's ``Accept-Language``."""
    on_user: Callable[[str | None], object]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        peer = scope["client"][0] if scope.get("client") else None
        given = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        client_address.set(self.identity.client_of(given, peer))
        try:
            self._check(scope, given)
            admission = await self.sign_in.admit(scope, peer)
            await self._record(admission, logs_out=_logs_out(scope))
        except Refused as error:
            await refuse(scope, receive, send, *error.args)
            return
        except (AuditUnavailable, SignInUnavailable) as error:
            await refuse(scope, receive, send, 503, str(error))
            return
        scope["headers"] = admission.headers
        if not scope["path"].startswith(_COMPRESSED):
            # The page's HTML is rewritten on its way out, so it must come uncompressed.
            scope["headers"] = [(k, v) for k, v in scope["headers"] if k.lower() != b"accept-encoding"]
        self.on_user(admission.login.user if admission.login else None)
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if _logs_out(scope) and admission.login is not None:
            with suppress(SessionStoreUnavailable):
                await self.sign_in.end(admission.login)
        secure = self._is_secure(scope, given, peer)
        body = RequestBody(receive, _largest(scope["path"]))
        page = _PageResponse(
            send,
            lambda html, nonce: self.own_page(html, nonce, given.get("accept-language")),
            self._new_cookie(admission),
            secure,
        )
        app: ASGIApp = self.app
        if admission.login is None and self.identity.server.auth == "oidc" and is_leaving(scope["path"], given):
            app = RedirectResponse(self.identity.server.root_path + LEAVE, 302)
        await app(scope, body.receive, body.unless_refused(page.send))

    async def _record(self, admission: Admission, *, logs_out: bool) -> None:
        """Record a login by the proxy, the use of a key and a logout, which alone is never refused.

        Raises ``AuditUnavailable``.
        """
        if admission.login is None:
            return
        if admission.key:
            await self.audit.record("key", admission.login.user, detail=f"{admission.key} used")
        if admission.is_new:
            await self.audit.record("login", admission.login.user, detail="proxy")
        if logs_out:
            with suppress(AuditUnavailable):
                await self.audit.record("logout", admission.login.user)

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        """Raise ``Refused`` for a request that nobody may send."""
        if not self._host_is_ours(headers.get("host", "")):
            raise Refused(
                421, "This address is not served here. Open the page under the address that the server prints."
            )
        changes = scope["type"] == "websocket" or scope.get("method") not in _SAFE_METHODS
        if changes and not self._origin_is_ours(headers):
            raise Refused(403, "This origin may not use the app. Add it to ASCLEPIUS_ALLOWED_ORIGINS if it should.")
        path = str(scope["path"])
        signs_in = self.identity.server.auth == "oidc" and path in SIGN_IN_PATHS
        if _CLOSED.match(path) and not signs_in:
            raise Refused(404, "Not found.")
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > _largest(path):
            raise Refused(413, TOO_LARGE)

    def _host_is_ours(self, host: str) -> bool:
        """Return whether the host is served: in demo mode only loopback names, against DNS rebinding."""
        if self.identity.server.auth != "demo":
            return True
        name = urlsplit(f"//{host}").hostname
        return name is not None and is_loopback(name)

    def _origin_is_ours(self, headers: dict[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        if origin in self.identity.server.allowed_origins or origin == self.identity.server.public_url:
            return True
        return urlsplit(origin).netloc == headers.get("host", "")

    def _new_cookie(self, admission: Admission) -> str | None:
        """Return the login cookie of a user whom the proxy names, or of the demo user, who need not sign in."""
        login: Login | None = admission.login if admission.is_new else None
        if admission.login is None and self.identity.server.auth == "demo":
            login = self.identity.issue_login(DEMO_USER)
        return self.identity.cookie_of(login) if login is not None else None

    def _is_secure(self, scope: Scope, headers: dict[str, str], peer: str | None) -> bool:
        """Return whether the browser uses https: here, at a trusted proxy, or at the public address."""
        public = self.identity.server.public_url or ""
        forwarded = headers.get("x-forwarded-proto") == "https" and self.identity.is_trusted(peer)
        return scope.get("scheme") == "https" or forwarded or public.startswith("https://")


def _logs_out(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["path"] == _LOGOUT and scope["method"] == "POST")


def _largest(path: str) -> int:
    return MAX_UPLOAD if path == _UPLOAD else MAX_BODY


@dataclass(eq=False)
class _PageResponse:
    """Adds headers and the login cookie, and rewrites the page's HTML."""

    send_on: Send
    own_page: Callable[[str, str], str]
    login: str | None
    secure: bool
    """Whether the browser uses https."""
    _start: Message | None = None
    _body: bytes = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=[(name.lower(), value) for name, value in message["headers"]])
            headers.update(_HEADERS)
            is_page = headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
            if is_page and self.login:
                headers.append("set-cookie", self.login)
            if self.secure:
                headers["strict-transport-security"] = "max-age=31536000"
                headers = MutableHeaders(raw=[(k, _for_https_only(k, v)) for k, v in headers.raw])
            message["headers"] = headers.raw
            if is_page:
                self._start = message
                return
        elif self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._send_page(self._start)
            return
        await self.send_on(message)

    async def _send_page(self, start: Message) -> None:
        nonce = secrets.token_urlsafe(18)
        body = self.own_page(self._body.decode(), nonce).encode()
        headers = MutableHeaders(raw=start["headers"])
        headers["content-length"] = str(len(body))
        headers["cache-control"] = "no-store"
        headers.add_vary_header("accept-language")
        headers["content-security-policy"] = content_policy(nonce)
        await self.send_on(start)
        await self.send_on({"type": "http.response.body", "body": body})


def _for_https_only(name: bytes, value: bytes) -> bytes:
    is_cookie = name == b"set-cookie"
    return value + b"; Secure" if is_cookie and b"; secure" not in value.lower() else value
