"""A long conversation shows its last turns, and earlier ones when the reader wants them."""

from __future__ import annotations

from playwright.async_api import Browser, Locator, Page, expect

from chat_app.interface.page.recent_turns import OPENED, TURNS
from tests.support.browser import answered, ask, recorded
from tests.support.page_server import ServedPage


def asked_of(page: Page) -> Locator:
    return page.locator("[data-step-type='user_message']")


async def test_earlier_questions_come_by_key_and_by_scrolling_up_without_moving_what_is_being_read(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "long") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        for number in range(TURNS + 2):
            await ask(page, f"stamped 100 every 0, question {number}")
            # The last answer of the page may still be that to the question before.
            end = "following::*[contains(@class, 'asc-answer-end')]"
            asked = f"//*[@data-step-type='user_message'][contains(., 'question {number}')]"
            await page.locator(f"xpath={asked}/{end}").first.wait_for()
            await expect(page.locator("#stop-button")).to_have_count(0)
        line = page.locator(".asc-earlier")
        await expect(line).to_contain_text("2 earlier questions are not shown.")
        await expect(page.locator(".asc-answer-end")).to_have_count(TURNS)
        button = line.get_by_role("button", name="Show earlier questions")
        # The place of the button is left alone: on the way to it, the page would add the questions by itself.
        await button.evaluate("button => button.focus({ preventScroll: true })")
        await page.keyboard.press("Enter")
        await answered(page, count=TURNS + 2)
        await expect(line).to_have_count(0)
        await page.reload()
        await answered(page, count=OPENED)
        await expect(line).to_contain_text(f"{TURNS + 2 - OPENED} earlier questions are not shown.")
        await expect(asked_of(page)).to_have_count(OPENED)
        await page.locator(".ai-message").last.hover()
        await page.mouse.wheel(0, -20_000)
        await answered(page, count=TURNS + 2)
        await expect(asked_of(page).first).to_contain_text("question 0")
        await expect(line).to_have_count(0)
        await page.wait_for_function(
            """(text) => {
              const questions = [...document.querySelectorAll('[data-step-type="user_message"]')];
              const { top } = questions.find((node) => node.textContent.includes(text)).getBoundingClientRect();
              return top > 0 && top < innerHeight;
            }""",
            arg=f"question {TURNS + 2 - OPENED}",
        )


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


# React keeps the properties of an element until it renders it again with a new handler.
_REMEMBER = """(nodes) => nodes.map((node) => {
  const key = Object.keys(node).find((name) => name.startsWith('__reactProps'));
  node.before = { key, properties: node[key] };
}).length"""
_RENDERED = "(nodes) => nodes.filter((node) => node[node.before.key] !== node.before.properties).map((node) => node.id)"


async def test_only_the_conversation_is_rendered_while_an_answer_grows(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "parts") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        # The page is rendered whole when the answer ends.
        await ask(page, "gated 20 and 40 of 60 parts")
        await page.locator("#stop-button").wait_for()
        await page.get_by_text("n20 ").wait_for()
        await page.wait_for_url("**/thread/*")
        others = page.locator("#chat-input, #upload-button, #header button")
        assert await others.evaluate_all(_REMEMBER) > 3
        fake.open_gate("parts")
        await page.get_by_text("n40 ").wait_for()
        assert await others.evaluate_all(_RENDERED) == []
        fake.open_gate("parts-again")
        await answered(page)


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
