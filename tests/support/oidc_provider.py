"""An OpenID Connect provider in a process of its own: ``oidc-provider-mock``, which also checks PKCE.

``ana`` is in the group *auditors*, ``bert`` in *staff*, ``carl`` in none. Users whose names end in a fault's name get a
token with that fault. ``provider`` starts and ends the process.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT = "asclepius"
GROUPS = {"ana": ["auditors"], "bert": ["staff"], "carl": []}
FAULTS: dict[str, dict[str, Any]] = {
    "issuer": {"iss": "http://127.0.0.1:1"},
    "audience": {"aud": "another-client"},
    "nonce": {"nonce": "replayed"},
    "expired": {"exp": int(time.time()) - 3600},
    "party": {"azp": "another-client"},
    "forged": {},
    "unsigned": {},
    "symmetric": {},
}
Environ = dict[str, Any]
App = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class Checked:
    """WSGI middleware: requires PKCE, and gives faulty tokens to the users who are named after a fault."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._challenges: dict[str, str] = {}
        self._users: dict[str, str] = {}

    def __call__(self, environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if method != "POST" or path not in ("/oauth2/authorize", "/oauth2/token"):
            return self._app(environ, start)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if path == "/oauth2/authorize":
            return self._authorize(environ, start, form)
        return self._token(environ, start, form)

    def _authorize(self, environ: Environ, start: Callable[..., Any], form: dict[str, str]) -> Iterable[bytes]:
        asked = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}

        def started(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            place = dict(headers).get("Location", "")
            code = parse_qs(urlsplit(place).query).get("code", [""])[0]
            if asked.get("code_challenge_method") == "S256":
                self._challenges[code] = asked["code_challenge"]
            self._users[code] = form.get("sub", "")
            return start(status, headers, *more)

        return self._app(environ, started)

    def _token(self, environ: Environ, start: Callable[..., Any], form: dict[str, str]) -> Iterable[bytes]:
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if self._challenges.pop(form.get("code", ""), None) != challenge:
            start("400 Bad Request", [("Content-Type", "application/json")])
            return [b'{"error": "invalid_grant"}']
        kept: list[Any] = []
        body = b"".join(self._app(environ, lambda *given: kept.extend(given)))
        fault = self._users.get(form.get("code", ""), "").partition("-")[2]
        if fault:
            answer = json.loads(body)
            answer["id_token"] = faulty(answer["id_token"], fault)
            body = json.dumps(answer).encode()
        start(kept[0], [(name, value) for name, value in kept[1] if name.lower() != "content-length"])
        return [body]


def faulty(token: str, fault: str) -> str:
    """Return the token with a fault; claims are signed again with a key of the same name, which is not published."""
    claims = jwt.decode(token, options={"verify_signature": False}) | FAULTS[fault]
    header = jwt.get_unverified_header(token)
    names = {"kid": header["kid"]} if "kid" in header else None
    if fault == "unsigned":
        return jwt.encode(claims, None, algorithm="none", headers=names)
    if fault == "symmetric":
        return jwt.encode(claims, "k" * 32, algorithm="HS256", headers=names)
    key = signing_key() if fault != "forged" else rsa.generate_private_key(65_537, 2048)
    return jwt.encode(claims, key, algorithm="RS256", headers=names)


def signing_key() -> Any:
    return jwt.PyJWK(KEYS[0].as_dict(is_private=True)).key


KEYS: list[Any] = []


@contextmanager
def provider() -> Iterator[str]:
    """Yield the issuer of a running provider."""
    with subprocess.Popen([sys.executable, "-m", __name__], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def approve(client: httpx.Client, address: str, user: str) -> str:
    """Sign ``user`` in at the provider's page, and return the address to which it sends the browser."""
    answer = client.post(address, data={"sub": user})
    assert answer.status_code == 302, answer.text[:300]
    return str(answer.headers["location"])


def main() -> None:
    import flask
    from oidc_provider_mock import User, app
    from werkzeug.serving import make_server

    users = [User(sub=name, claims={"groups": groups}) for name, groups in GROUPS.items()]
    users += [User(sub=f"ana-{fault}", claims={"groups": ["auditors"]}) for fault in FAULTS]
    made = app(require_nonce=True, user_claims=users)

    @made.before_request
    def remember_key() -> None:
        KEYS[:] = [flask.g.oidc_provider_mock_storage.jwk]

    server = make_server("127.0.0.1", 0, Checked(made.wsgi_app), threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
