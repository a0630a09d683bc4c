"""Real Chromium for tests, driven by Playwright; each failure leaves a screenshot and a trace."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # A stock page asks other hosts for its fonts, and waits long where no network answers.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
SHELL = "chromium-headless-shell"
"""Chromium without its window: it renders the same in two thirds of the processor time."""
WHOLE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RESULTS = Path("test-results")
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}


def chromium_path(*, for_pictures: bool = False) -> str | None:
    """Return the Chromium to use: ``ASCLEPIUS_CHROMIUM``, or the first installed one, or None.

    For pictures the full browser comes first, because the shell leaves a strip of the closed sidebar in them.
    """
    given = os.environ.get("ASCLEPIUS_CHROMIUM")
    installed = (*WHOLE, SHELL) if for_pictures else (SHELL, *WHOLE)
    return given or next(filter(None, map(shutil.which, installed)), None)


@asynccontextmanager
async def chromium(*, for_pictures: bool = False) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        path = chromium_path(for_pictures=for_pictures)
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def recorded(
    browser: Browser,
    name: str,
    *,
    phone: bool = False,
    dark: bool = False,
    locale: str = "en-US",
    service_workers: Literal["allow", "block"] = "block",
) -> AsyncIterator[BrowserContext]:
    """A fresh browser profile; when the block fails, its trace and each page as it was are kept in ``test-results``."""
    context = await browser.new_context(
        viewport=PHONE if phone else DESKTOP,
        has_touch=phone,
        is_mobile=phone,
        color_scheme="dark" if dark else "light",
        locale=locale,
        # A click on what an animation moves between press and release opens nothing.
        reduced_motion="reduce",
        # What passes through one, a test cannot intercept.
        service_workers=service_workers,
    )
    context.set_default_timeout(60_000)
    # A trace's own pictures and copies of each state would be a third of the processor time of all these tests.
    await context.tracing.start()
    try:
        yield context
    except BaseException:
        RESULTS.mkdir(exist_ok=True)
        slug = re.sub(r"\W+", "-", name)
        for number, page in enumerate(context.pages):
            await page.screenshot(path=RESULTS / f"{slug}-{number}.png")
            (RESULTS / f"{slug}-{number}.html").write_text(await page.content(), "utf-8")
        await context.tracing.stop(path=(RESULTS / f"{slug}.zip").absolute())
        raise
    else:
        await context.tracing.stop()
    finally:
        await context.close()


async def ask(page: Page, question: str) -> None:
    """Type ``question`` and send it."""
    await type_question(page, question)
    await page.locator("#chat-input").press("Enter")


async def type_question(page: Page, question: str) -> None:
    """Type ``question`` as soon as there is a box, and wait until it can be sent.

    It can be sent once the page is connected and nothing is being answered.
    """
    await page.locator("#chat-input").fill(question)
    await page.locator("#chat-submit:not([disabled])").wait_for()


async def ask_with_file(page: Page, question: str, name: str, content: bytes) -> None:
    """Upload a PDF, then ask ``question``, which may be empty."""
    if question:
        await type_question(page, question)
    # A file can be sent up once the page is connected.
    async with page.expect_response("**/project/file?*") as sent:
        upload = {"name": name, "mimeType": "application/pdf", "buffer": content}
        await page.locator("#upload-button-input").set_input_files([upload])  # type: ignore[list-item]
    assert (await sent.value).ok
    await page.locator("#chat-submit:not([disabled])").wait_for()
    await page.locator("#chat-input").press("Enter")


async def answered(page: Page, *, count: int = 1) -> None:
    """Wait until ``count`` answers have ended."""
    await page.locator(".asc-answer-end").nth(count - 1).wait_for()


async def answer_text(page: Page, *, index: int = -1) -> str:
    """Return the visible text of an answer, without what is below it."""
    texts = page.locator(".ai-message .message-content > .flex.flex-col.gap-4:has(> .prose)")
    chosen = texts.nth(index) if index >= 0 else texts.last
    return await chosen.inner_text()


async def choose_models(page: Page, *models: str) -> None:
    """Add ``models`` in the settings."""
    await page.locator("#chat-settings-open-modal").click()
    dialog = page.get_by_role("dialog")
    for model in models:
        box = dialog.locator("[cmdk-input]").last
        await box.click()
        await dialog.get_by_role("option", name=model).click()
        # The list closes when its box loses the focus; only the badge of the chosen model then stays in the dialog.
        await box.focus()
        await box.blur()
        await expect(dialog.get_by_role("option")).to_have_count(0)
        await expect(dialog.get_by_text(model, exact=True)).to_be_visible()
    await dialog.get_by_role("button", name="Confirm").click()
    await dialog.wait_for(state="detached")
    # The server says what the next question has once it knows; each message of a page is handled in its own task.
    for model in models:
        await expect(page.locator("#asc-in-force")).to_contain_text(model)
