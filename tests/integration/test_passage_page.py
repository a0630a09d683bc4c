"""The page of a passage: who may open it, and what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_app.events import Reference
from chat_app.interface.api.passages.passage_links import PassageLinks
from tests.support.api_server import Api, api
from tests.support.fake_agent import GUIDELINE, SUPERSEDED, FakeAgent
from tools.guidelines.storage.scopes import Scope, own_id

QUOTE = "ACE inhibitors are contraindicated in pregnancy."
OWN = f"guideline:{own_id(Scope('0' * 32), 'x')}@1:1"


def link(running: Api, *, secret: str | None = None) -> str:
    reference = Reference(number=1, passage=GUIDELINE, quotes=(QUOTE,))
    return PassageLinks(secret or running.runtime.identity.secret).of(reference, running.url) or ""


async def test_a_signed_link_opens_without_a_login(tmp_path: Path) -> None:
    async with api(FakeAgent(), tmp_path) as running, running.client(None) as client:
        address = link(running)
        page = await client.get(address)
        assert page.status_code == 200
        assert f"<mark>{QUOTE}</mark>" in page.text
        for part in (GUIDELINE.title, "page 5 (PDF page 3)", GUIDELINE.issuer):
            assert part in page.text
        assert "original.pdf" not in page.text, "the file needs a login"
        assert "default-src 'self'" in page.headers["content-security-policy"]
        path, _, query = address.partition("?")
        image = await client.get(f"{path}/page.png?{query}")
        assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
        for wrong in (path, link(running, secret="another secret"), address.replace("until=1", "until=2")):
            refused = await client.get(wrong)
            assert refused.status_code == 401
            assert "Sign in" in refused.text and GUIDELINE.text[:20] not in refused.text
            assert (await client.get(wrong.replace("?", "/page.png?"))).status_code == 401 or wrong == path


async def test_a_login_opens_what_its_user_may_read(tmp_path: Path) -> None:
    async with api(FakeAgent(), tmp_path) as running, running.client("ana") as client:
        page = await client.get(f"/passages/{GUIDELINE.id}", headers={"accept-language": "de"})
        assert page.status_code == 200
        assert "/api/v1/guidelines/hypertension/original.pdf#page=3" in page.text
        assert "PDF auf dieser Seite" in page.text or 'lang="de"' in page.text
        old = await client.get(f"/passages/{SUPERSEDED.id}")
        assert "A newer version of this document is loaded." in old.text
        assert "Is &lt;b&gt;5&lt;/b&gt; &gt; 3?" in old.text
        for missing in ("htn:1:8", OWN):
            answer = await client.get(f"/passages/{missing}")
            assert answer.status_code == 404 and "no longer stored here" in answer.text
            assert (await client.get(f"/passages/{missing}/page.png")).status_code == 404


@pytest.mark.parametrize("root", ["", "/asclepius"])
async def test_the_demo_user_needs_no_login(root: str, tmp_path: Path) -> None:
    demo = api(FakeAgent(), tmp_path, auth="demo", root_path=root)
    async with demo as running, running.client(None) as client:
        page = await client.get(f"/passages/{GUIDELINE.id}")
        assert page.status_code == 200
        assert f'src="{root}/passages/{GUIDELINE.id}/page.png' in page.text
