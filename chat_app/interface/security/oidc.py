"""Sign-in at an OpenID Connect provider: authorization code flow with PKCE, state and nonce.

The ID token's signature, issuer, audience, expiry and nonce are checked.
"""

import hashlib
import logging
import secrets
import time
from typing import Any, Final, NamedTuple

import httpx
import jwt
from jwt.utils import base64url_encode
from pydantic import BaseModel, ConfigDict, ValidationError

from chat_app.interface.security.identity import clean_name
from chat_app.roles import Role
from chat_app.settings import Settings
from tools.types import Frozen

logger = logging.getLogger(__name__)

_DISCOVERY_SECONDS: Final = 3600.0
_TIMEOUT: Final = 10.0
_LEEWAY: Final = 60
_ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)


class SignInFailed(Exception):
    """The provider refused the sign-in, or its response is not valid. The message names no user."""


class _Provider(BaseModel):
    """The parts of the discovery document that are used."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)


class Pending(Frozen):
    """The secrets of one sign-in while the user is at the provider."""

    state: str
    nonce: str
    verifier: str


class SignedIn(NamedTuple):
    """The user whom an ID token names."""

    user: str
    roles: tuple[Role, ...]
    token: str


class OidcLogin:
    """Signs users in at the provider of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._oidc = settings.oidc
        self._provider: tuple[float, _Provider] | None = None
        self._keys: jwt.PyJWKSet | None = None

    async def address(self, pending: Pending, redirect_uri: str) -> str:
        """Return the provider's address that asks the user to sign in. Raises ``SignInFailed``."""
        provider = await self._discovered()
        digest = hashlib.sha256(pending.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._oidc.oidc_client_id,
            "redirect_uri": redirect_uri,
            "scope": self._oidc.oidc_scopes,
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": base64url_encode(digest).decode(),
            "code_challenge_method": "S256",
        }
        query |= {"prompt": self._oidc.oidc_prompt} if self._oidc.oidc_prompt else {}
        return str(httpx.URL(provider.authorization_endpoint).copy_merge_params(query))

    async def leaving_address(self, token: str, back: str) -> str:
        """Return the provider's address that ends the session of the ID token; ``back`` if there is none."""
        try:
            provider = await self._discovered()
        except SignInFailed as error:
            logger.warning("A user could not be logged out at the provider: %s", error)
            return back
        if provider.end_session_endpoint is None:
            return back
        query = {"client_id": self._oidc.oidc_client_id, "post_logout_redirect_uri": back}
        query |= {"id_token_hint": token} if token else {}
        return str(httpx.URL(provider.end_session_endpoint).copy_merge_params(query))

    async def finish(self, code: str, pending: Pending, redirect_uri: str) -> SignedIn:
        """Return the user with the roles of the user's groups. Raises ``SignInFailed``."""
        provider = await self._discovered()
        tokens = await self._tokens(provider, code, pending, redirect_uri)
        token = str(tokens.get("id_token") or "")
        claims = await self._verified(provider, token, pending.nonce)
        wanted = {self._oidc.oidc_user_claim, *([self._oidc.oidc_groups_claim] if self._oidc.oidc_roles else ())}
        if not wanted <= claims.keys() and provider.userinfo_endpoint:
            bearer = {"Authorization": f"Bearer {tokens.get('access_token')}"}
            more = await _fetch("GET", provider.userinfo_endpoint, headers=bearer)
            if more.get("sub") != claims["sub"]:
                raise SignInFailed("the user information is of another user")
            claims = {**more, **claims}
        name = clean_name(claims.get(self._oidc.oidc_user_claim))
        if name is None:
            raise SignInFailed(f"the claim {self._oidc.oidc_user_claim} names no user")
        return SignedIn(name, self._roles(claims.get(self._oidc.oidc_groups_claim)), token)

    def _roles(self, groups: object) -> tuple[Role, ...]:
        if not self._oidc.oidc_roles:
            return ()
        held = {groups} if isinstance(groups, str) else set(groups) if isinstance(groups, list) else set()
        roles: tuple[Role, ...] = tuple(role for group, role in self._oidc.oidc_roles if group == "*" or group in held)
        if not roles:
            raise SignInFailed("the user is in no group of ASCLEPIUS_OIDC_ROLES")
        return roles

    async def _discovered(self) -> _Provider:
        if self._provider is None or self._provider[0] < time.monotonic():
            issuer = self._oidc.oidc_issuer or ""
            found = await _fetch("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            try:
                provider = _Provider.model_validate(found)
            except ValidationError:
                raise SignInFailed("the discovery document is not valid") from None
            if provider.issuer != issuer:
                raise SignInFailed("the discovery document names another issuer")
            self._provider, self._keys = (time.monotonic() + _DISCOVERY_SECONDS, provider), None
        return self._provider[1]

    async def _tokens(self, provider: _Provider, code: str, pending: Pending, redirect_uri: str) -> dict[str, Any]:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        form["code_verifier"] = pending.verifier
        client, secret = self._oidc.oidc_client_id, self._oidc.oidc_client_secret
        if secret is not None and "client_secret_basic" in provider.token_endpoint_auth_methods_supported:
            auth = httpx.BasicAuth(client, secret.get_secret_value())
            return await _fetch("POST", provider.token_endpoint, data=form, auth=auth)
        form |= {"client_id": client}
        form |= {"client_secret": secret.get_secret_value()} if secret is not None else {}
        return await _fetch("POST", provider.token_endpoint, data=form)

    async def _verified(self, provider: _Provider, token: str, nonce: str) -> dict[str, Any]:
        algorithms = _ALGORITHMS.intersection(provider.id_token_signing_alg_values_supported)
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                await self._key(provider, jwt.get_unverified_header(token).get("kid")),
                algorithms=sorted(algorithms),
                audience=self._oidc.oidc_client_id,
                issuer=provider.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )
        except jwt.PyJWTError as error:
            raise SignInFailed(f"the ID token is not valid ({type(error).__name__})") from None
        if not secrets.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()):
            raise SignInFailed("the ID token is for another sign-in")
        if claims.get("azp", self._oidc.oidc_client_id) != self._oidc.oidc_client_id:
            raise SignInFailed("the ID token is for another client")
        return claims

    async def _key(self, provider: _Provider, name: str | None) -> jwt.PyJWK:
        """Return the provider's key of that name; keys that it changed meanwhile are fetched."""
        for known in (self._keys, None):
            keys = known or jwt.PyJWKSet.from_dict(await _fetch("GET", provider.jwks_uri))
            self._keys = keys
            for key in keys.keys:
                if key.key_id == name or (name is None and len(keys.keys) == 1):
                    return key
        raise SignInFailed("the ID token is signed with an unknown key")


async def _fetch(method: str, url: str, **more: Any) -> dict[str, Any]:
    """Return the JSON object at ``url``. Raises ``SignInFailed`` without its text."""
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            answer = await client.request(method, url, **more)
            answer.raise_for_status()
            found = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise SignInFailed(f"the provider did not answer as expected ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise SignInFailed("the provider did not answer with an object")
    return found
