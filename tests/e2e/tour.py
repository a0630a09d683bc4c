"""``make screenshots``: the page in 24 states, light, dark and on a phone, as pictures in ``build/screenshots``.

Those on guidelines and drugs on the whole app; the others on the stand-in agent, so that each can be held still.
``--readme`` also writes the pictures of the README, compressed, into ``docs/images``.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.async_api import Page

from tests.support.browser import answered, ask, ask_with_file, chromium, recorded
from tests.support.page_server import PROJECT, ServedPage, fake_page
from tests.support.served import Served, serve

DEMO_PDF = PROJECT / "tools" / "guidelines" / "demo" / "hypertension.pdf"
OUT = Path("build") / "screenshots"
IMAGES = PROJECT / "docs" / "images"
PATIENCE = 120_000
ACE = "What are the contraindications for ACE inhibitors?"
OTHER_MODEL = "ada-large"
METFORMIN = "What formulations of metformin are available in our database?"
STROKE_RISK = "CHA2DS2-VASc of a 76-year-old woman with hypertension and diabetes?"
IN_GERMAN = "Was sind die Kontraindikationen von ACE-Hemmern?"
NOT_LOADED = "Wann wird ein Bandscheibenvorfall operiert?"


README = {
    "start": "light/01-start",
    "answer": "light/02-answer",
    "source": "light/05-source",
    "step": "light/07-step",
    "dark": "dark/04-table",
    "phone": "phone/03-references",
}


@dataclass(frozen=True)
class _Look:
    """How the page is looked at, and the folder of its pictures."""

    name: str
    dark: bool = False
    phone: bool = False

    async def shoot(self, page: Page, name: str) -> None:
        # What fades in has faded in by then.
        await page.wait_for_timeout(700)
        await page.screenshot(path=OUT / self.name / f"{name}.png")


LOOKS = (_Look("light"), _Look("dark", dark=True), _Look("phone", phone=True))


async def _open(page: Page, url: str) -> None:
    await page.goto(url)
    await page.locator("#asc-statement").wait_for()


async def _answers(page: Page, look: _Look, app: Served) -> None:
    await _open(page, app.url)
    await look.shoot(page, "01-start")
    await ask(page, ACE)
    await answered(page)
    await page.locator("[data-step-type='user_message']").last.evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "02-answer")
    await page.locator(".asc-references").evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "03-references")
    await ask(page, METFORMIN)
    await answered(page, count=2)
    await page.locator("[data-step-type='user_message']").last.evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "04-table")


async def _sources(page: Page, look: _Look) -> None:
    await page.locator("a[href^='#cite-']").first.click()
    await page.locator(".asc-page-box[data-state='shown']").wait_for()
    await look.shoot(page, "05-source")
    await page.get_by_role("button", name="Next page").click()
    await page.locator(".asc-page-box[data-state='shown']").wait_for()
    await page.locator(".asc-page-view").evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "06-page")
    await page.keyboard.press("Escape")
    step = page.locator(".step[data-step-type='tool']").last
    await step.get_by_role("button").first.click()
    await step.evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "07-step")
    await page.reload()
    await answered(page, count=2)
    await page.locator("#header #sidebar-trigger-button").click()
    await page.locator("#thread-history a").first.wait_for()
    await look.shoot(page, "08-history-resumed")


async def _held_still(page: Page, look: _Look, fake: ServedPage) -> None:
    await _open(page, fake.url)
    await ask(page, f"gated 0 of 30 waiting{look.name}")
    await look.shoot(page, "09-waiting")
    fake.open_gate(f"waiting{look.name}")
    await answered(page)
    await ask(page, f"gated 80 of 160 streaming{look.name}")
    await page.get_by_text("n80 ").wait_for()
    await look.shoot(page, "10-streaming")
    await page.locator("#stop-button").click()
    await answered(page, count=2)
    await look.shoot(page, "11-stopped")
    await ask(page, "fail")
    await answered(page, count=3)
    await look.shoot(page, "12-failed")
    await page.locator("#chat-settings-open-modal").click()
    await look.shoot(page, "13-settings")
    await page.keyboard.press("Escape")
    await ask_with_file(page, "say: thank you", "Sepsis bundle.pdf", DEMO_PDF.read_bytes())
    await answered(page, count=4)
    await page.locator(".inline-pdf canvas").wait_for()
    await look.shoot(page, "14-upload")
    await _open(page, fake.url)
    await page.locator("a[href='#loaded']").click()
    await page.locator("#asc-panel [data-guideline]").first.wait_for()
    await look.shoot(page, "15-loaded")
    await page.keyboard.press("Escape")
    await page.locator("#readme-button").click()
    await look.shoot(page, "16-about")


async def _nothing_answers(page: Page, look: _Look, fake: ServedPage) -> None:
    await _open(page, fake.url)
    await ask(page, "nothing on metfromin")
    await answered(page)
    await look.shoot(page, "17-abstained")


async def _compared(page: Page, look: _Look, app: Served) -> None:
    await _open(page, app.url)
    await page.locator("#chat-settings-open-modal").click()
    dialog = page.get_by_role("dialog")
    await dialog.locator("[cmdk-input]").last.click()
    await dialog.get_by_role("option", name=OTHER_MODEL).click()
    await look.shoot(page, "18-models")
    await dialog.get_by_role("button", name="Confirm").click()
    await ask(page, ACE)
    await answered(page, count=2)
    await page.locator("[data-step-type='user_message']").last.evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "19-compared")
    rating = page.get_by_role("group", name=f"Rate the answer of {OTHER_MODEL}")
    await rating.get_by_role("button", name="Not helpful").click()
    await page.get_by_role("dialog").get_by_role("button", name="Submit feedback").click()
    await rating.get_by_role("button", pressed=True).wait_for()
    await rating.evaluate("node => node.scrollIntoView({block: 'center'})")
    await look.shoot(page, "20-compared-ends")


async def _calculated(page: Page, look: _Look, app: Served) -> None:
    await _open(page, app.url)
    await ask(page, STROKE_RISK)
    await answered(page)
    await page.locator(".step[data-step-type='tool']").first.get_by_role("button").first.click()
    await page.locator("[data-step-type='user_message']").last.evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "21-calculator")


async def _german(page: Page, look: _Look, app: Served) -> None:
    await _open(page, app.url)
    await ask(page, IN_GERMAN)
    await answered(page)
    await page.locator("[data-step-type='user_message']").last.evaluate("node => node.scrollIntoView()")
    await look.shoot(page, "22-german")
    await ask(page, NOT_LOADED)
    await answered(page, count=2)
    await look.shoot(page, "23-german-abstained")
    await page.locator("#header #sidebar-trigger-button").click()
    await page.locator("#search-chats-button").first.click()
    await page.get_by_role("dialog").locator("input").fill("ACE")
    await page.locator("[role='option']").first.wait_for()
    await look.shoot(page, "24-search")


async def _tour(app: Served, fake: ServedPage) -> None:
    async with chromium(for_pictures=True) as browser:
        for look in LOOKS:
            (OUT / look.name).mkdir(parents=True, exist_ok=True)
            async with recorded(browser, f"tour-{look.name}", dark=look.dark, phone=look.phone) as context:
                # A picture may take its time on a busy machine.
                context.set_default_timeout(PATIENCE)
                page = await context.new_page()
                await _answers(page, look, app)
                await _sources(page, look)
                await _compared(page, look, app)
                await _calculated(page, look, app)
            async with recorded(
                browser, f"tour-german-{look.name}", dark=look.dark, phone=look.phone, locale="de-DE"
            ) as context:
                context.set_default_timeout(PATIENCE)
                await _german(await context.new_page(), look, app)
            async with recorded(browser, f"tour-held-{look.name}", dark=look.dark, phone=look.phone) as context:
                context.set_default_timeout(PATIENCE)
                page = await context.new_page()
                await _held_still(page, look, fake)
                await _nothing_answers(page, look, fake)


def _compress() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, picture in README.items():
        Image.open(OUT / f"{picture}.png").convert("RGB").save(IMAGES / f"{name}.webp", quality=82, method=6)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder) / "data", ASCLEPIUS_MODELS=OTHER_MODEL) as app,
        fake_page(Path(folder) / "fake") as fake,
    ):
        asyncio.run(_tour(app, fake))
    if "--readme" in sys.argv[1:]:
        _compress()
    print(f"{len(list(OUT.rglob('*.png')))} pictures in {OUT}")


if __name__ == "__main__":
    main()
