"""The routes to an OpenID Connect provider and back.

A signed cookie of the browser holds the secrets of a sign-in while the user is at the provider; then the browser gets
the app's own login cookie. After a log-out the browser's next page is the provider's, which ends the session there and
leads back.
"""

import logging
import secrets
import time
from collections.abc import Mapping
from typing import Final

import jwt
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.requests import cookie_parser

from chat_app.audit import AuditLog
from chat_app.interface.security.identity import LOGIN_LASTS, Identity
from chat_app.interface.security.oidc import OidcLogin, Pending, SignInFailed
from chat_app.settings import Settings

logger = logging.getLogger(__name__)

PROVIDER: Final = "oidc"
"""Name of the provider in Chainlit's sign-in page, which leads to the first of these paths."""
_BEGIN: Final = f"/auth/oauth/{PROVIDER}"
_CALLBACK: Final = f"{_BEGIN}/callback"
LEAVE: Final = f"{_BEGIN}/leave"
SIGN_IN_PATHS: Final = frozenset({_BEGIN, _CALLBACK, LEAVE})
_COOKIE: Final = "asclepius_sign_in"
_HINT_COOKIE: Final = "asclepius_id_token"
"""The ID token, which only names the session to end to the provider."""
_LONGEST_COOKIE: Final = 3800
_LEAVING: Final = "asclepius_leaving"
"""The cookie of a browser that has logged out here and not yet at the provider."""
_LEAVING_SECONDS: Final = 60
_SIGN_IN_SECONDS: Final = 600


def oidc_router(settings: Settings, identity: Identity, audit: AuditLog) -> APIRouter:
    """Return the routes that lead to the provider and back."""
    router = APIRouter(include_in_schema=False)
    login = OidcLogin(settings)
    root, path = settings.server.root_path, settings.server.root_path + _BEGIN

    @router.get(_BEGIN)
    async def begin(request: Request) -> RedirectResponse:
        pending = Pending(**{field: secrets.token_urlsafe(32) for field in Pending.model_fields})
        try:
            address = await login.address(pending, identity.base_address(request) + _CALLBACK)
        except SignInFailed as error:
            return _refused(error, root)
        claims = {**pending.model_dump(), "aud": PROVIDER, "exp": int(time.time()) + _SIGN_IN_SECONDS}
        response = RedirectResponse(address, 302)
        cookie = jwt.encode(claims, identity.secret, algorithm="HS256")
        response.set_cookie(_COOKIE, cookie, _SIGN_IN_SECONDS, path=path, httponly=True, samesite="lax")
        return response

    @router.get(_CALLBACK)
    async def finish(request: Request) -> RedirectResponse:
        try:
            code, pending = _returned(request, identity.secret)
            signed_in = await login.finish(code, pending, identity.base_address(request) + _CALLBACK)
        except SignInFailed as error:
            await audit.record("login_failed", "unknown", detail=PROVIDER)
            return _refused(error, root)
        await audit.record("login", signed_in.user, detail=PROVIDER)
        response = RedirectResponse(f"{root}/", 302)
        login_cookie = identity.cookie_of(identity.issue_login(signed_in.user, signed_in.roles))
        response.headers.append("set-cookie", login_cookie)
        response.delete_cookie(_COOKIE, path=path)
        if settings.oidc.oidc_logout and len(signed_in.token) < _LONGEST_COOKIE:
            lasts = int(LOGIN_LASTS.total_seconds())
            response.set_cookie(_HINT_COOKIE, signed_in.token, lasts, path=path, httponly=True, samesite="lax")
        return response

    @router.get(LEAVE)
    async def leave(request: Request) -> RedirectResponse:
        """Lead a browser that has logged out here to the provider, which leads it back."""
        address = f"{identity.base_address(request)}/login"
        if _LEAVING in request.cookies:
            address = await login.leaving_address(request.cookies.get(_HINT_COOKIE, ""), address)
        response = RedirectResponse(address, 302)
        response.delete_cookie(_LEAVING, path=root or "/")
        response.delete_cookie(_HINT_COOKIE, path=path)
        return response

    return router


def _refused(error: SignInFailed, root: str) -> RedirectResponse:
    """Lead the browser back to the sign-in page, which says that the provider did not sign the user in."""
    logger.warning("A sign-in at the provider failed: %s", error)
    response = RedirectResponse(f"{root}/login?error=oauthSignin", 302)
    response.delete_cookie(_COOKIE, path=root + _BEGIN)
    return response


def begin_leaving(response: Response, settings: Settings) -> None:
    """Make the browser's next page that of the provider, which ends the session there."""
    if settings.server.auth == "oidc" and settings.oidc.oidc_logout:
        path = settings.server.root_path or "/"
        response.set_cookie(_LEAVING, "1", _LEAVING_SECONDS, path=path, httponly=True, samesite="lax")


def is_leaving(path: str, headers: Mapping[str, str]) -> bool:
    """Return whether a browser that has logged out here asks for a page."""
    loads_page = "text/html" in headers.get("accept", "") and path not in SIGN_IN_PATHS
    return loads_page and _LEAVING in cookie_parser(headers.get("cookie", ""))


def _returned(request: Request, secret: str) -> tuple[str, Pending]:
    """Return the provider's code and the sign-in that it belongs to. Raises ``SignInFailed``."""
    cookie = request.cookies.get(_COOKIE, "")
    try:
        claims = jwt.decode(
            cookie, secret, algorithms=["HS256"], audience=PROVIDER, options={"require": ["exp", "aud"]}
        )
    except jwt.InvalidTokenError:
        raise SignInFailed("the browser did not begin this sign-in, or it took too long") from None
    pending = Pending(**{field: claims[field] for field in Pending.model_fields})
    if not secrets.compare_digest(request.query_params.get("state", "").encode(), pending.state.encode()):
        raise SignInFailed("the answer is for another sign-in")
    if not (code := request.query_params.get("code")):
        raise SignInFailed("the provider refused")
    return code, pending
