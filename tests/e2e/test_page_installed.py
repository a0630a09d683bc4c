"""The page as an installed app and as the target of links: its manifest, its offline page, and links to passages."""

from __future__ import annotations

from pathlib import Path

import httpx
from playwright.async_api import Browser, expect

from tests.support.browser import answered, ask, recorded
from tests.support.page_server import ServedPage, fake_page

CACHED = (
    "async () => (await Promise.all((await caches.keys()).map(async (name) => (await (await caches.open(name)).keys())"
    ".map((request) => new URL(request.url).pathname)))).flat()"
)


async def test_the_page_can_be_installed_and_says_when_the_app_is_gone(browser: Browser, tmp_path: Path) -> None:
    async with recorded(browser, "installed", service_workers="allow") as context:
        with fake_page(tmp_path / "page") as served:
            page = await context.new_page()
            await page.goto(served.url)
            manifest = await page.evaluate("document.querySelector('link[rel=manifest]').href")
            described = await (await context.request.get(manifest)).json()
            root = httpx.URL(manifest)
            assert root.join(described["start_url"]).path == "/"
            for icon in described["icons"]:
                answer = await context.request.get(str(root.join(icon["src"])))
                assert answer.headers["content-type"] == icon["type"]
            await page.evaluate("navigator.serviceWorker.ready.then(() => true)")
            await page.reload()
            await ask(page, "say: Jane Roe takes warfarin")
            await answered(page)
            assert await page.evaluate(CACHED) == ["/offline"], "nothing of a patient is stored"
        await page.reload()
        await expect(page.get_by_role("heading", name="Asclepius can't be reached")).to_be_visible()
        await expect(page.get_by_role("link", name="Try again")).to_be_visible()
        other = await context.new_page()
        await other.goto(f"{served.url}/passages/guideline:x@1:1")
        await expect(other.get_by_role("heading", name="Asclepius can't be reached")).to_be_visible()


async def test_the_copied_link_of_a_passage_opens_it_at_the_quoted_words(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "passage-link") as context:
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "What are the contraindications for ACE inhibitors?")
        await answered(page)
        await page.locator("a[href^='#cite-']").first.click()
        await page.get_by_role("button", name="Copy link to this passage").click()
        await page.get_by_role("button", name="Copied").wait_for()
        reference, address = (await page.evaluate("navigator.clipboard.readText()")).split("\n")
        assert reference.startswith("Demonstration. Hypertension in adults. 2024.")
        await page.goto(address)
        await expect(page.locator("mark")).to_have_text("ACE inhibitors are contraindicated in pregnancy.")
        await expect(page.get_by_role("heading", name="Hypertension in adults")).to_be_visible()
