"""What a clinician sees: text as it was sent, steps, numbers, references, the source itself."""

from __future__ import annotations

import re

from playwright.async_api import Browser, Route, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.page_server import ServedPage

QUESTION = "What are the contraindications for ACE inhibitors?"
MARKED = "[...CSS.highlights.get('asc-unsupported')].map((range) => range.toString())"
"""The texts that are underlined as not found in their source."""
FORMATTED = "navigator.clipboard.read().then(([copied]) => copied.getType('text/html')).then((blob) => blob.text())"
QUOTE = "ACE inhibitors are contraindicated in pregnancy."


async def _emptied(route: Route) -> None:
    """Answer as the server of an empty library does."""
    answer = await route.fetch()
    await route.fulfill(response=answer, json=await answer.json() | {"guidelines": [], "drugs": None, "loading": ""})


async def test_the_page_asks_nothing_of_any_other_host(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "hosts") as context:
        page = await context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator("#asc-panel img").wait_for()
        own = (fake.url, fake.url.replace("http", "ws"), "data:", "blob:")
        foreign = [url for url in asked if not url.startswith(own)]
        assert foreign == []
        assert len(asked) > 10


async def test_no_address_that_the_page_asks_for_holds_the_question(browser: Browser, fake: ServedPage) -> None:
    """Addresses end up in the logs of proxies."""
    async with recorded(browser, "addresses") as context:
        page = await context.new_page()
        failed: list[str] = []
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
        await page.goto(fake.url)
        await ask(page, "What formulations of metformin are available in our database?")
        await answered(page)
        await expect(page.locator(".step[data-step-type='tool']")).to_have_count(1)
        assert [url for url in asked if "metformin" in url.lower()] == []
        assert [url for url in failed if "/avatars/" in url] == []


async def test_the_start_page_says_what_is_loaded_and_what_this_is(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "start") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await expect(page.locator("#asc-statement")).to_contain_text("2 guidelines and 150 drugs loaded.")
        await expect(page.locator("#asc-statement")).to_contain_text("Decision support")
        await expect(page.locator("#starters button")).to_have_count(3)
        assert await page.title() == "Asclepius"
        await page.route("**/api/v1/status", _emptied)
        await page.reload()
        await expect(page.locator("#asc-statement")).to_contain_text(
            "Nothing loaded yet. Attach a PDF to your question"
        )


async def test_what_is_loaded_is_told_again_at_once_when_the_start_is_drawn_anew(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "start-again") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await page.locator("#asc-statement[data-settled]").wait_for()
        await page.route("**/api/v1/status", lambda route: route.abort())
        await page.locator("#asc-statement").evaluate("(told) => told.remove()")
        await expect(page.locator("#asc-statement")).to_contain_text("2 guidelines and 150 drugs loaded.")


async def test_what_is_loaded_is_listed_with_its_date_and_its_gaps(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "library") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await page.get_by_role("link", name="See what's loaded and how current it is").click()
        old, gaps = (page.locator(f"#asc-panel [data-guideline='{name}']") for name in ("hypertension", "diabetes"))
        await expect(old).to_contain_text("December 1, 2015 · 6 pages")
        await expect(old).to_contain_text("Issued more than 5 years ago: check for a newer version.")
        for words in ("No date given.", "PDF pages 2–3, 5.", "1 earlier version kept for answers that cite it."):
            await expect(gaps).to_contain_text(words)
        await expect(page.locator("#asc-panel")).to_contain_text("“gout” is damaged and not searched.")
        await expect(page.locator("#asc-panel")).to_contain_text("150 drugs")
        await page.keyboard.press("Escape")
        await expect(page.locator("#asc-panel")).to_have_count(0)
        await page.locator("#readme-button").click()
        await page.get_by_role("dialog").get_by_role("link", name="Loaded sources").click()
        await expect(old).to_be_visible()
        await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_an_answer_shows_its_characters_and_its_markdown(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "markdown") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        text = await answer_text(page)
        assert "HER2:negative\t5*3*2" in text
        assert "<script>\tbold" in text
        await expect(page.locator(".ai-message table tbody tr")).to_have_count(2)
        for columns in (2, 12):
            rows = "\n".join("| valueofonecell " * columns + "|" for _ in range(30))
            await ask(page, f"say: {'| Name ' * columns}|\n{'|---' * columns}|\n{rows}")
            # Or the table before it, which has as many rows, would be taken for this one.
            await expect(page.locator(".ai-message table").last.locator("thead th")).to_have_count(columns)
            await expect(page.locator(".ai-message table").last.locator("tbody tr")).to_have_count(30)
            await expect(page.locator("#stop-button")).to_have_count(0)
            last = page.locator(".ai-message table").last
            await last.locator("tbody tr").last.scroll_into_view_if_needed()
            await expect(last.locator("tbody tr").last).to_be_in_viewport()
            await expect(last.locator("th").first).to_be_in_viewport()


async def test_a_number_opens_the_passage_with_its_words_marked_and_the_page(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "citation") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        for _ in range(2):
            assert await page.locator("#asc-panel").count() == 0, "the panel opens on a click alone"
            await page.locator("a[href^='#cite-']").first.click()
            panel = page.locator("#asc-panel")
            await expect(panel.locator("mark")).to_have_text(QUOTE)
            await expect(panel).to_contain_text("Hypertension in adults")
            await expect(panel).to_contain_text("page 5 (PDF page 3)")
            await expect(panel.locator(".asc-page-box")).to_have_attribute("data-state", "shown")
            await panel.get_by_role("button", name="Next page").click()
            await expect(panel).to_contain_text("PDF page 4")
            await page.keyboard.press("ArrowLeft")
            await expect(panel).to_contain_text("PDF page 3 of 6")
            link = panel.get_by_role("link", name="Open PDF at this page")
            address = await link.get_attribute("href")
            assert address is not None
            assert address.endswith("original.pdf#page=3")
            await page.keyboard.press("Escape")
            await expect(panel).to_have_count(0)
            await page.reload()
            await answered(page)


async def test_a_citation_opens_by_keyboard_and_gives_the_focus_back(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "keyboard") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        await page.locator("a[href^='#cite-']").first.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#asc-panel-title")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.locator("a[href^='#cite-']").first).to_be_focused()


async def test_a_tool_call_is_a_closed_step_with_arguments_and_results_inside(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "step") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "What formulations of metformin are available in our database?")
        await answered(page)
        step = page.locator(".step[data-step-type='tool']")
        await expect(step).to_have_count(1)
        await expect(step).to_contain_text("Drug database: metformin · 5 products · 40 ms")
        await expect(step).not_to_contain_text("Glucophage")
        await step.get_by_role("button").first.click()
        for words in ("Arguments", "drug name", "500 mg, 850 mg", "Glucophage"):
            await expect(step).to_contain_text(words)
        await step.get_by_role("button", name="Raw result").click()
        await expect(step).to_contain_text('"generic_name": "metformin"')


async def test_only_the_icon_of_a_foreign_tool_is_loaded_when_it_is_shown(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "icons") as context:
        page = await context.new_page()
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url) if "/icons.js" in request.url else None)
        await page.goto(fake.url)
        for count, (question, icon, requests) in enumerate(
            (("metformin", "pill", 0), ("metformin icon bed", "bed", 1), ("metformin icon no-such", "wrench", 1)), 1
        ):
            await ask(page, question)
            await answered(page, count=count)
            step = page.locator(".step[data-step-type='tool']").last
            await expect(step.locator(f".lucide-{icon}")).to_have_count(1)
            assert len(loaded) == requests


async def test_references_are_numbered_as_in_the_text_and_can_be_copied(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "references") as context:
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        entry = page.locator(".asc-reference")
        await expect(entry).to_have_count(1)
        await expect(entry).to_contain_text("Hypertension in adults")
        await expect(entry.locator("q")).to_have_text(QUOTE)
        await page.get_by_role("button", name="Copy with references").click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert f"{QUOTE}[1]" in copied
        assert "HER2:negative" in copied
        assert "1. Demonstration. Hypertension in adults. 2024" in copied
        assert "From Asclepius, " in copied
        formatted = await page.evaluate(FORMATTED)
        assert f"<p>{QUOTE}[1]</p>" in formatted
        assert "<th>Sign</th>" in formatted
        assert "<td>HER2:negative</td><td><code>5*3*2</code></td>" in formatted
        assert '<ol><li value="1">Demonstration. Hypertension in adults. 2024.' in formatted
        assert "#cite-" not in formatted
        assert "class=" not in formatted


async def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_source_fills_it(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "phone", phone=True) as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator("#asc-panel").wait_for()
        await page.wait_for_function(
            "(({ x, width }) => x === 0 && width === 390)(document.querySelector('#asc-panel').getBoundingClientRect())"
        )


async def test_on_a_phone_a_wide_table_shows_that_it_goes_on_and_a_drug_source_leaves_room_for_its_values(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "phone-table", phone=True) as context:
        page = await context.new_page()
        await page.goto(fake.url)
        cells = " | ".join("prolonged-release" for _ in range(5))
        await ask(page, f"say: | {cells} |\n|{'---|' * 5}\n| {cells} |\n")
        await answered(page)
        table = page.locator("[data-wide='true']")
        await expect(table).to_have_css("background-image", re.compile("gradient.*gradient"))
        await expect(table).to_have_css("background-attachment", "local, scroll")
        await ask(page, "What formulations of metformin are available in our database?")
        await answered(page, count=2)
        await page.locator("a[href^='#cite-']").last.click()
        names = page.locator(".asc-field-name")
        await names.first.wait_for()
        assert await names.first.evaluate("node => node.clientWidth / node.parentElement.clientWidth") < 0.3


async def test_a_statement_that_is_not_in_its_source_is_marked_in_the_text_and_listed(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "unsupported") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "changed dose")
        await answered(page)
        mark = page.locator("a[data-unsupported='not found in its source']")
        await expect(mark).to_have_text("[1]")
        assert await page.evaluate(MARKED) == ["Tablets of 2000 mg are available."]
        note = page.locator(".asc-unsupported")
        await expect(note).to_contain_text("Not found in its source")
        await expect(note.locator("q")).to_have_text("Tablets of 2000 mg are available.")
        await expect(note).to_contain_text("2000 mg")
        await note.get_by_role("button").click()
        await expect(page.locator("#asc-panel")).to_be_visible()
        await page.reload()
        await expect(page.locator(".asc-unsupported q")).to_have_text("Tablets of 2000 mg are available.")
        await expect(mark).to_have_text("[1]")
