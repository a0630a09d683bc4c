"""When nothing answers, the page offers what to try, and each offer does what it says."""

from __future__ import annotations

from playwright.async_api import Browser, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.page_server import ServedPage


async def test_an_abstention_offers_a_name_a_source_a_heading_and_other_words(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "abstention") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await page.locator("#chat-settings-open-modal").click()
        await page.get_by_role("dialog").locator("#drugs").click()
        await page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
        # A question that is sent before could be answered with the settings before.
        await expect(page.locator("#asc-in-force")).to_have_text("All guidelines")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await ask(page, "nothing on metfromin, options")
        await answered(page)
        tries = page.locator(".asc-tries")
        await expect(tries).to_contain_text("You can try:")
        await expect(tries.locator("button")).to_have_text(
            [
                "Ask about metformin instead",
                "Search the drug database, too",
                "5 Follow-up (Hypertension in adults)",
                "Rephrase the question",
            ]
        )

        await tries.get_by_role("button", name="Rephrase the question").click()
        await expect(page.locator("#chat-input")).to_be_focused()
        await page.keyboard.type(" or")
        await ask(page, "options only")
        await answered(page, count=2)
        assert "use_drug_database=False" in await answer_text(page)

        await ask(page, "nothing on metfromin")
        await answered(page, count=3)
        await page.locator(".asc-tries").last.get_by_role("button", name="Search the drug database").click()
        await answered(page, count=4)
        await expect(page.locator("[data-step-type='user_message']").last).to_contain_text("nothing on metfromin")
        await page.locator("#chat-settings-open-modal").click()
        await expect(page.get_by_role("dialog").locator("#drugs")).to_have_attribute("aria-checked", "true")
        await page.keyboard.press("Escape")
        # As it goes, it takes the keyboard away from the question.
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await ask(page, "options again")
        await answered(page, count=5)
        assert "use_drug_database=True" in await answer_text(page)


async def test_what_is_put_back_into_the_box_can_be_changed_and_asked(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "rephrase") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "nothing on sepsis")
        await answered(page)
        await page.locator(".asc-tries").get_by_role("button", name="Rephrase the question").click()
        await page.keyboard.type(" in children")
        await page.locator("#chat-submit:not([disabled])").wait_for()
        await page.keyboard.press("Enter")
        await answered(page, count=2)
        await expect(page.locator("[data-step-type='user_message']").last).to_contain_text(
            "nothing on sepsis in children"
        )
