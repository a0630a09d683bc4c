"""What can be chosen for a conversation: it reaches the agent, holds in every tab, and comes back with it."""

from __future__ import annotations

from playwright.async_api import Browser, Page, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.page_server import ServedPage


async def pick(page: Page, field: str, *options: str) -> None:
    """Chooses in a list of the settings."""
    dialog = page.get_by_role("dialog")
    for option in options:
        if field in {"documents", "models"}:
            await dialog.locator(f"div:has(> label[for='{field}']) [cmdk-input]").click()
        else:
            await dialog.locator(f"#{field}").click()
        await page.get_by_role("option", name=option).click()
        # A choice closes the list, which would cover the next fields.
        await expect(dialog.locator("[cmdk-item]")).to_have_count(0)


async def confirm(page: Page, in_force: str) -> None:
    await page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    # A question that is sent before could be answered with the settings before.
    await expect(page.locator("#asc-in-force")).to_contain_text(in_force)


async def leave_settings(page: Page) -> None:
    await page.keyboard.press("Escape")
    # As they go, they take the keyboard away from the question.
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_guidelines_language_and_length_reach_the_agent_and_come_back_with_the_conversation(
    browser: Browser, fake: ServedPage
) -> None:
    chosen = ("documents=('hypertension',)", "language=de", "length=brief", "use_drug_database=False")
    async with recorded(browser, "settings-kept") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await page.locator("#chat-settings-open-modal").click()
        await pick(page, "documents", "Hypertension in adults")
        await pick(page, "language", "Deutsch")
        await pick(page, "length", "Brief")
        await page.get_by_role("dialog").locator("#drugs").click()
        await confirm(page, "Hypertension in adults · Brief")
        await ask(page, "options kept-settings")
        await answered(page)
        text = await answer_text(page)
        assert [choice for choice in chosen if choice not in text] == []

        await page.goto(fake.url)
        await ask(page, "options of another conversation")
        await answered(page)
        text = await answer_text(page)
        assert "documents=()" in text
        assert "language=auto" in text

        await page.locator("#header #sidebar-trigger-button").click()
        await page.locator("#thread-history a", has_text="options kept-settings").first.click()
        await answered(page)
        await page.locator("#chat-settings-open-modal").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Hypertension in adults")
        await expect(dialog.locator("#drugs")).to_have_attribute("aria-checked", "false")
        await leave_settings(page)
        await ask(page, "options again")
        await answered(page, count=2)
        text = await answer_text(page)
        assert [choice for choice in chosen if choice not in text] == []


async def test_what_one_tab_sets_holds_in_the_other(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "settings-tabs") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "options first")
        await answered(page)
        await page.wait_for_url("**/thread/*")
        other = await context.new_page()
        await other.goto(page.url)
        await answered(other)
        await page.locator("#chat-settings-open-modal").click()
        await pick(page, "length", "Full")
        await confirm(page, "Full")
        await other.locator("#chat-settings-open-modal").click()
        await expect(other.get_by_role("dialog").locator("#length")).to_have_text("Full")
        await leave_settings(other)
        await ask(other, "options second")
        await answered(other, count=2)
        assert "length=full" in await answer_text(other)
