"""Sign-in at an OpenID Connect provider, against a provider in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest

from tests.support.oidc_provider import CLIENT, FAULTS, approve, provider
from tests.support.page_server import ServedPage, fake_page
from tests.support.served import asclepius

BEGIN = "/auth/oauth/oidc"
ROLES = {"ASCLEPIUS_OIDC_ROLES": "auditors:auditor, staff:uploader, staff:reader"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider() as address:
        yield address


@pytest.fixture(scope="module")
def page(issuer: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    settings = {"ASCLEPIUS_AUTH": "oidc", "ASCLEPIUS_OIDC_ISSUER": issuer, "ASCLEPIUS_OIDC_CLIENT_ID": CLIENT}
    secret = {"ASCLEPIUS_OIDC_CLIENT_SECRET": "a secret of the client", "REDIS_URL": redis_url}
    with fake_page(tmp_path_factory.mktemp("oidc"), environment={**settings, **secret, **ROLES}) as served:
        yield served


def returned(client: httpx.Client, user: str) -> str:
    """Sign in at the provider, and return the address at the app to which it leads back."""
    begun = client.get(BEGIN)
    assert begun.status_code == 302
    return approve(client, begun.headers["location"], user)


def sign_in(client: httpx.Client, user: str) -> httpx.Response:
    return client.get(returned(client, user))


def is_refused(answer: httpx.Response) -> bool:
    return answer.headers["location"] == "/login?error=oauthSignin" and "access_token" not in answer.cookies


def audited(page: ServedPage) -> list[tuple[str, str]]:
    done = asclepius("audit", "export", data_dir=page.data_dir)
    assert done.returncode == 0, done.stderr
    entries = map(json.loads, done.stdout.splitlines())
    return [(entry["action"], entry["actor"]) for entry in entries if entry["detail"] == "oidc"]


def test_a_user_signs_in_with_the_rights_of_the_groups(page: ServedPage) -> None:
    for user, may_upload in (("ana", False), ("bert", True)):
        with httpx.Client(base_url=page.url, timeout=60) as client:
            answer = sign_in(client, user)
            assert answer.headers["location"] == "/"
            assert "HttpOnly" in answer.headers["set-cookie"]
            assert client.get("/user").json()["identifier"] == user
            status = client.get("/api/v1/status").json()
            assert (status["may_upload"], status["may_administer"]) == (may_upload, False)
            assert client.post("/logout").status_code == 200
        assert ("login", user) in audited(page)


def test_a_user_in_no_listed_group_is_refused(page: ServedPage) -> None:
    with httpx.Client(base_url=page.url, timeout=60) as client:
        assert is_refused(sign_in(client, "carl"))
        assert client.get("/user").status_code == 401
    assert ("login_failed", "unknown") in audited(page)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_token_with_a_fault_is_refused(page: ServedPage, fault: str) -> None:
    with httpx.Client(base_url=page.url, timeout=60) as client:
        assert is_refused(sign_in(client, f"ana-{fault}")), fault


def test_a_code_counts_once_and_only_in_the_browser_that_asked_for_it(page: ServedPage) -> None:
    with httpx.Client(base_url=page.url, timeout=60) as client, httpx.Client(base_url=page.url, timeout=60) as other:
        address = returned(client, "ana")
        assert is_refused(other.get(address)), "a browser that began no sign-in"
        other.get(BEGIN)
        assert is_refused(other.get(address)), "a browser that began another sign-in"
        state = parse_qs(urlsplit(address).query)["state"][0]
        assert is_refused(client.get(f"{BEGIN}/callback", params={"error": "access_denied", "state": state}))
    with httpx.Client(base_url=page.url, timeout=60) as client:
        address = returned(client, "ana")
        cookies = dict(client.cookies)
        assert client.get(address).headers["location"] == "/"
        assert is_refused(httpx.get(address, cookies=cookies, timeout=60)), "a code that was used"


def test_another_browsers_code_cannot_be_injected(page: ServedPage) -> None:
    """PKCE and the nonce bind the code to the browser, also when the state is replaced."""
    with httpx.Client(base_url=page.url, timeout=60) as client, httpx.Client(base_url=page.url, timeout=60) as other:
        code = parse_qs(urlsplit(returned(client, "ana")).query)["code"][0]
        state = parse_qs(urlsplit(other.get(BEGIN).headers["location"]).query)["state"][0]
        assert is_refused(other.get(f"{BEGIN}/callback", params={"code": code, "state": state}))


def test_the_cookie_of_a_begun_sign_in_is_no_login(page: ServedPage) -> None:
    with httpx.Client(base_url=page.url, timeout=60) as client:
        begun = client.get(BEGIN)
        pending = next(cookie for cookie in client.cookies.jar if cookie.name == "asclepius_sign_in")
        assert "nonce" in jwt.decode(pending.value or "", options={"verify_signature": False})
        asked = parse_qs(urlsplit(begun.headers["location"]).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["redirect_uri"] == [f"{page.url}{BEGIN}/callback"]
    answer = httpx.get(f"{page.url}/user", cookies={"access_token": pending.value or ""}, timeout=60)
    assert answer.status_code == 401


@pytest.mark.parametrize(("method", "path"), [("POST", "/logout"), ("DELETE", "/api/v1/logins")])
def test_a_log_out_leads_to_the_provider_which_ends_the_session_there(
    page: ServedPage, issuer: str, method: str, path: str
) -> None:
    html = {"accept": "text/html"}
    with httpx.Client(base_url=page.url, timeout=60) as client:
        sign_in(client, "ana")
        assert client.get(f"{BEGIN}/leave").headers["location"] == f"{page.url}/login", "a link, not a log-out"
        sign_in(client, "ana")
        client.request(method, path).raise_for_status()
        left = client.get(client.get("/", headers=html).headers["location"]).headers["location"]
        query = {name: values[0] for name, values in parse_qs(urlsplit(left).query).items()}
        assert left.startswith(f"{issuer}/oauth2/end_session?")
        assert jwt.decode(query.pop("id_token_hint"), options={"verify_signature": False})["sub"] == "ana"
        assert query == {"client_id": CLIENT, "post_logout_redirect_uri": f"{page.url}/login"}
        assert client.get("/login", headers=html).status_code == 200
        assert not [name for name in client.cookies if name.startswith("asclepius")]


def test_chainlits_own_oauth_and_other_ways_in_stay_closed(page: ServedPage) -> None:
    assert httpx.get(f"{page.url}/auth/oauth/github", timeout=60).status_code == 404
    assert httpx.post(f"{page.url}/auth/header", headers={"X-Forwarded-User": "ana"}, timeout=60).status_code == 400
    assert httpx.get(f"{page.url}/auth/config", timeout=60).json()["oauthProviders"] == ["oidc"]


def test_a_provider_that_is_down_or_another_one_is_a_notice(
    issuer: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = {"ASCLEPIUS_AUTH": "oidc", "ASCLEPIUS_OIDC_CLIENT_ID": CLIENT}
    for wrong in ("http://127.0.0.1:9", f"{issuer}/"):
        folder = tmp_path_factory.mktemp("down")
        with fake_page(folder, environment={**settings, "ASCLEPIUS_OIDC_ISSUER": wrong}) as served:
            assert is_refused(httpx.get(f"{served.url}{BEGIN}", timeout=60)), wrong
            left = httpx.get(f"{served.url}{BEGIN}/leave", cookies={"asclepius_leaving": "1"}, timeout=60)
            assert left.headers["location"] == f"{served.url}/login", wrong
