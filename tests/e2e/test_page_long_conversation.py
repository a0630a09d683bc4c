"""A long conversation shows its last turns, and earlier ones when the reader wants them."""

from __future__ import annotations

from playwright.async_api import Browser, expect

from chat_app.interface.page.recent_turns import TURNS
from tests.support.browser import answered, ask, recorded
from tests.support.page_server import ServedPage


async def test_earlier_questions_are_shown_above_without_moving_what_is_being_read(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "long") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        for number in range(TURNS + 2):
            await ask(page, f"say: answer {number}.")
            await expect(page.locator(".ai-message", has_text=f"answer {number}.")).to_be_visible()
            await expect(page.locator("#stop-button")).to_have_count(0)
        line = page.locator(".asc-earlier")
        await expect(line).to_contain_text("2 earlier questions are not shown.")
        await expect(page.locator(".asc-answer-end")).to_have_count(TURNS)
        await page.reload()
        await answered(page, count=TURNS)
        asked = page.locator("[data-step-type='user_message']")
        first = asked.filter(has_text="say: answer 2.")
        await first.scroll_into_view_if_needed()
        before = await first.bounding_box()
        await line.get_by_role("button", name="Show earlier questions").click()
        await answered(page, count=TURNS + 2)
        await expect(asked.first).to_have_text("say: answer 0.")
        await expect(line).to_have_count(0)
        after = await first.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(after["y"] - before["y"]) < 120


async def test_what_a_page_shows_stays_when_another_question_is_asked(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "stable") as context:
        page = await context.new_page()
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        await page.goto(fake.url)
        await ask(page, "contraindications of ACE inhibitors")
        await answered(page)
        kept = ".asc-answer-end, .ai-message .prose > *"
        marked = await page.locator(kept).evaluate_all("all => all.map((node) => (node.dataset.same = 'yes')).length")
        await ask(page, "metformin")
        await answered(page, count=2)
        still = await page.locator(kept).and_(page.locator("[data-same]")).count()
        assert still == marked, "parts of the first answer were made again"
        assert len([url for url in requested if "/public/elements/" in url]) == 1


async def test_a_paragraph_stays_in_place_while_its_answer_grows(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "growing") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "gated 20 of 60 growing")
        await page.get_by_text("n20 ").wait_for()
        await page.locator(".ai-message .prose > *").first.evaluate("node => (node.dataset.same = 'yes')")
        fake.open_gate("growing")
        await answered(page)
        await expect(page.locator(".ai-message .prose > [data-same]").first).to_contain_text("n60")


async def test_a_loading_page_asks_for_the_list_of_conversations_once(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "loading") as context:
        page = await context.new_page()
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        async with page.expect_request("**/project/threads"):
            await page.goto(fake.url)
        await page.locator("#asc-in-force").wait_for()
        await page.locator("#asc-statement[data-settled]").wait_for()
        assert len([url for url in requested if url.endswith("/project/threads")]) == 1
