"""One question to several models: columns side by side, each with its own end, on every screen and after a reload."""

from __future__ import annotations

import re

from playwright.async_api import Browser, expect

from tests.support.browser import PHONE, answered, ask, choose_models, recorded
from tests.support.page_server import ServedPage

COLUMN = ".step[data-step-type='llm']"
BOXES = "(nodes) => nodes.map((node) => node.getBoundingClientRect().toJSON())"
"""All at one time: the page may scroll between two questions."""
FIRST, SECOND = "asclepius-extractive", "ada-large"


async def test_models_answer_side_by_side_each_with_its_name_and_its_references(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "comparison") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await choose_models(page, SECOND)
        await ask(page, "ACE inhibitors?")
        await answered(page, count=2)
        columns = page.locator(COLUMN)
        await expect(columns).to_have_count(2)
        for place, name in enumerate((FIRST, SECOND)):
            await expect(columns.nth(place).locator("h3").first).to_contain_text(name)
            await expect(columns.nth(place).locator(".asc-reference")).to_have_count(1)
            await expect(columns.nth(place).locator(".step[data-step-type='tool']")).to_have_count(1)
        left, right = await columns.evaluate_all(BOXES)
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] <= right["x"]
        await columns.nth(1).locator("a[href^='#cite-']").first.click()
        await expect(page.locator("#asc-panel mark")).to_have_text("ACE inhibitors are contraindicated in pregnancy.")
        await page.keyboard.press("Escape")
        await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        upper, lower = await columns.evaluate_all(BOXES)
        assert upper["y"] + upper["height"] <= lower["y"]
        assert lower["x"] + lower["width"] <= PHONE["width"]


async def test_a_page_that_reloads_while_models_answer_catches_up_in_every_column_and_stop_ends_them_all(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "comparison-reload") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await choose_models(page, SECOND)
        await ask(page, "gated 40 of 80 columns")
        columns = page.locator(COLUMN)
        await expect(columns.nth(1)).to_contain_text("n40 ")
        await page.wait_for_url("**/thread/*")
        await page.reload()
        for place, name in enumerate((FIRST, SECOND)):
            await expect(columns.nth(place).locator("h3").first).to_contain_text(name)
            await expect(columns.nth(place)).to_contain_text("n1 n2 n3")
            await expect(columns.nth(place)).to_contain_text("n40 ")
        fake.open_gate("columns")
        await answered(page, count=2)
        for place in range(2):
            await expect(columns.nth(place)).to_contain_text("n79 n80")
        await ask(page, "gated 5 of 80 never")
        await expect(columns.nth(3)).to_contain_text("n5 ")
        await page.locator("#stop-button").click()
        await answered(page, count=4)
        for place in (2, 3):
            await expect(columns.nth(place).locator("[data-reason='stopped']")).to_have_count(1)


async def test_compared_answers_stay_in_the_history_and_each_model_goes_on_in_a_conversation_of_its_own(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "comparison-history") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await choose_models(page, SECOND)
        await ask(page, "say: I am {model}")
        await answered(page, count=2)
        columns = page.locator(COLUMN)
        await page.wait_for_url("**/thread/*")
        await page.reload()
        await answered(page, count=2)
        for place, name in enumerate((FIRST, SECOND)):
            await expect(columns.nth(place)).to_contain_text(f"I am {name}")
        await ask(page, "options please")
        await answered(page, count=4)
        said = [await columns.nth(place).inner_text() for place in (2, 3)]
        assert f"model={FIRST}" in said[0]
        assert f"model={SECOND}" in said[1]
        kept = [text.partition("conversation_id=")[2].partition(",")[0] for text in said]
        assert all(name.startswith("session_") for name in kept)
        assert kept[0] != kept[1]
        thread = page.url.rpartition("/")[2]
        download = await page.request.get(f"{fake.url}/api/v1/threads/{thread}/export.md")
        assert re.search(r"filename\*=UTF-8''.+\.md$", download.headers["content-disposition"])
        exported = await download.text()
        assert f"## Answer of {FIRST}\n\nI am {FIRST}" in exported
        assert f"## Answer of {SECOND}\n\nI am {SECOND}" in exported


async def test_each_column_is_rated_by_keyboard_with_a_comment_that_is_there_after_a_reload(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "comparison-feedback") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await choose_models(page, SECOND)
        await ask(page, "say: I am {model}")
        await answered(page, count=2)
        first, second = (page.get_by_role("group", name=f"Rate the answer of {name}") for name in (FIRST, SECOND))
        await second.get_by_role("button", name="Not helpful").press("Enter")
        comment = page.get_by_role("dialog").get_by_role("textbox", name="Comment")
        await expect(comment).to_be_focused()
        await page.keyboard.type("the dose is missing")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await first.get_by_role("button", name="Helpful", exact=True).click()
        await page.locator("#submit-feedback").click()
        await page.wait_for_url("**/thread/*")
        for _ in range(2):
            await expect(second.get_by_role("button", name="Not helpful", pressed=True)).to_be_visible()
            await expect(first.get_by_role("button", name="Helpful", exact=True, pressed=True)).to_be_visible()
            await page.reload()
        await second.get_by_role("button", name="Edit feedback").click()
        await expect(comment).to_have_value("the dose is missing")
        await page.keyboard.press("Escape")
        await first.get_by_role("button", name="Helpful", exact=True).click()
        await expect(first.get_by_role("button", pressed=True)).to_have_count(0)
        await page.reload()
        await expect(second.get_by_role("button", pressed=True)).to_have_count(1)
        await expect(first.get_by_role("button", pressed=True)).to_have_count(0)


async def test_an_edited_question_is_answered_anew_by_every_model(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "comparison-edit") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await choose_models(page, SECOND)
        await ask(page, "say: first of {model}")
        await answered(page, count=2)
        await page.locator("[data-step-type='user_message']").hover()
        await page.locator(".edit-message").click()
        await page.locator("#edit-chat-input").fill("say: edited by {model}")
        await page.locator(".confirm-edit").click()
        columns = page.locator(COLUMN)
        for _ in range(2):
            for place, name in enumerate((FIRST, SECOND)):
                await expect(columns.nth(place)).to_contain_text(f"edited by {name}")
            await expect(columns).to_have_count(2)
            await expect(page.locator(".asc-answer-end")).to_have_count(2)
            await page.reload()
