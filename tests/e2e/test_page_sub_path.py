"""The page below a path of a host that has other apps, too, behind a real nginx."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.support.browser import answered, ask, recorded
from tests.support.nginx import balancer
from tests.support.page_server import fake_page

ROOT = "/asclepius"
QUESTION = "What are the contraindications for ACE inhibitors?"
BEHIND = {"ASCLEPIUS_ROOT_PATH": ROOT, "ASCLEPIUS_AUTH": "header"}


@pytest.mark.parametrize("strips", [False, True], ids=["passes the path on", "strips the path"])
async def test_page_sockets_sources_and_api_work_below_a_path(browser: Browser, tmp_path: Path, strips: bool) -> None:
    with (
        fake_page(tmp_path / "page", environment=BEHIND) as served,
        balancer(
            [urlsplit(served.url).netloc], tmp_path / "nginx", prefix=f"{ROOT}/", strips=strips, user="ana"
        ) as url,
    ):
        async with recorded(browser, "sub-path") as context:
            page = await context.new_page()
            elsewhere: list[str] = []
            failed: list[str] = []
            page.on("request", lambda sent: None if f"{ROOT}/" in sent.url else elsewhere.append(sent.url))
            page.on("response", lambda got: failed.append(f"{got.status} {got.url}") if got.status >= 400 else None)
            await page.goto(f"{url}{ROOT}/")
            await expect(page.locator("#asc-statement")).to_contain_text("2 guidelines and 150 drugs loaded.")
            await ask(page, QUESTION)
            await answered(page)
            await page.locator("a[href^='#cite-']").first.click()
            await page.locator("#asc-panel img").wait_for()
            await page.wait_for_url(f"{url}{ROOT}/thread/*")
            await page.reload()
            await answered(page)
            cookies = {cookie["name"]: cookie["path"] for cookie in await context.cookies()}
        assert cookies["access_token"] == ROOT
        assert [address for address in elsewhere if not address.startswith(("data:", "blob:"))] == []
        assert failed == []
        async with httpx.AsyncClient(base_url=f"{url}{ROOT}", timeout=60) as client:
            await client.post("/auth/header")
            answer = await client.post("/api/v1/consult", json={"message": QUESTION, "stream": False})
            assert answer.json()["outcome"]["kind"] == "completed"
            document = await client.get("/api/v1/openapi.json")
            assert document.json()["servers"] == [{"url": ROOT}]
