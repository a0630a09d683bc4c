"""``make screenshots``: the page in its states, as pictures in ``build/screenshots``.

Sixteen states on the stand-in agent, so that each can be held still; those on guidelines and drugs on the whole app.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import Browser, Page

from tests.support.browser import answered, ask, ask_with_file, chromium, recorded
from tests.support.page_server import PROJECT, ServedPage, fake_page
from tests.support.served import Served, serve

DEMO_PDF = PROJECT / "tools" / "guidelines" / "demo" / "hypertension.pdf"
OUT = Path("build") / "screenshots"
ACE = "What are the contraindications for ACE inhibitors?"
METFORMIN = "What formulations of metformin are available in our database?"


async def _shoot(page: Page, name: str) -> None:
    # What fades in has faded in by then.
    await page.wait_for_timeout(700)
    await page.screenshot(path=OUT / f"{name}.png")


async def _open(page: Page, url: str) -> None:
    await page.goto(url)
    await page.locator("#asc-statement").wait_for()


async def _answers(browser: Browser, app: Served) -> None:
    async with recorded(browser, "tour") as context:
        page = await context.new_page()
        await _open(page, app.url)
        await _shoot(page, "01-start")
        await ask(page, ACE)
        await answered(page)
        await page.locator(".ai-message").last.evaluate("node => node.scrollIntoView()")
        await _shoot(page, "02-answer")
        await page.locator(".asc-references").scroll_into_view_if_needed()
        await _shoot(page, "03-references")
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator(".asc-page-box[data-state='shown']").wait_for()
        await _shoot(page, "04-source")
        await page.get_by_role("button", name="Next page").click()
        await page.locator(".asc-page-box[data-state='shown']").wait_for()
        await page.locator(".asc-page-view").evaluate("node => node.scrollIntoView()")
        await _shoot(page, "05-page")
        await page.keyboard.press("Escape")
        await ask(page, METFORMIN)
        await answered(page, count=2)
        await _shoot(page, "06-table")
        await page.locator(".step[data-step-type='tool'] button").last.click()
        await _shoot(page, "07-step")
        await page.reload()
        await answered(page, count=2)
        await page.locator("#header #sidebar-trigger-button").click()
        await _shoot(page, "08-history-resumed")


async def _held_still(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "tour-held") as context:
        page = await context.new_page()
        await _open(page, fake.url)
        await ask(page, "gated 0 of 30 waiting")
        await _shoot(page, "09-waiting")
        fake.open_gate("waiting")
        await answered(page)
        await ask(page, "gated 80 of 160 streaming")
        await page.get_by_text("n80 ").wait_for()
        await _shoot(page, "10-streaming")
        await page.locator("#stop-button").click()
        await answered(page, count=2)
        await _shoot(page, "11-stopped")
        await ask(page, "fail")
        await answered(page, count=3)
        await _shoot(page, "12-failed")
        await page.locator("#chat-settings-open-modal").click()
        await _shoot(page, "13-settings")
        await page.keyboard.press("Escape")
        await ask_with_file(page, "say: thank you", "Sepsis bundle.pdf", DEMO_PDF.read_bytes())
        await answered(page, count=4)
        await _shoot(page, "14-upload")


async def _dark_and_phone(browser: Browser, app: Served) -> None:
    async with recorded(browser, "tour-dark", dark=True) as context:
        page = await context.new_page()
        await _open(page, app.url)
        await ask(page, METFORMIN)
        await answered(page)
        await _shoot(page, "15-dark")
    async with recorded(browser, "tour-phone", phone=True) as context:
        page = await context.new_page()
        await _open(page, app.url)
        await ask(page, ACE)
        await answered(page)
        await page.locator(".asc-references").scroll_into_view_if_needed()
        await _shoot(page, "16-phone")
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator(".asc-page-box[data-state='shown']").wait_for()
        await _shoot(page, "16-phone-source")


async def _tour(app: Served, fake: ServedPage) -> None:
    async with chromium() as browser:
        await _answers(browser, app)
        await _held_still(browser, fake)
        await _dark_and_phone(browser, app)


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder) / "data") as app,
        fake_page(Path(folder) / "fake") as fake,
    ):
        asyncio.run(_tour(app, fake))
    print(f"{len(list(OUT.glob('*.png')))} pictures in {OUT}")


if __name__ == "__main__":
    main()
