"""The whole app on the offline model: what the project promises first, in a browser, with nothing stood in for."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.served import Served

ACE = "What are the contraindications for ACE inhibitors?"
ASTHMA = "When should asthma treatment be stepped up?"
KIDNEY = "What about in patients with kidney disease?"
METFORMIN = "What formulations of metformin are available in our database?"


async def test_a_guideline_question_streams_an_answer_whose_numbers_open_the_right_passages(
    browser: Browser, served: Served
) -> None:
    async with recorded(browser, "whole-ace") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await ask(page, ACE)
        await answered(page)
        assert "contraindicated in pregnancy" in await answer_text(page)
        ending = page.locator(".asc-answer-end")
        await expect(ending).to_contain_text("Sentences are quoted; tables list values from the sources.")
        related = page.get_by_role("group", name="Related sections").get_by_role("button")
        await expect(related.first).to_have_text(re.compile(r".+ \(.+\)"))
        links = page.locator("a[href^='#cite-']")
        assert await links.count() >= 2
        entries = page.locator(".asc-reference")
        assert await entries.count() == len(set(await links.all_inner_texts()))
        await links.first.click()
        panel = page.locator("#asc-panel")
        quoted = await panel.locator("mark.asc-here").inner_text()
        assert " ".join(quoted.split()) in " ".join((await answer_text(page)).split())
        await expect(panel.locator(".asc-page-box")).to_have_attribute("data-state", "shown")
        await page.wait_for_function("document.querySelector('#asc-panel img').naturalWidth > 600")


async def test_a_follow_up_is_understood_in_its_conversation(browser: Browser, served: Served) -> None:
    async with recorded(browser, "whole-follow-up") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await ask(page, ACE)
        await answered(page)
        await page.reload()
        await answered(page)
        await ask(page, KIDNEY)
        await answered(page, count=2)
        text = (await answer_text(page)).lower()
        assert "kidney" in text
        assert "ace inhibitor" in text


async def test_only_the_guideline_that_was_chosen_is_searched_and_the_answer_says_so(
    browser: Browser, served: Served
) -> None:
    async with recorded(browser, "whole-chosen") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await page.locator("#chat-settings-open-modal").click()
        dialog = page.get_by_role("dialog")
        await dialog.locator("#drugs").click()
        await dialog.locator("div:has(> label[for='documents']) .group").click()
        await page.get_by_role("option", name="Hypertension").click()
        await dialog.get_by_role("button", name="Confirm").click()
        await expect(page.locator("#asc-in-force")).to_have_text("Hypertension in adults")
        await ask(page, ASTHMA)
        await answered(page)
        await expect(page.locator(".asc-answer-end")).to_contain_text("Searched only “")
        titles = await page.locator(".asc-reference .asc-title").all_inner_texts()
        assert set(titles) <= {"Hypertension in adults"}
        await expect(page.locator(".step[data-step-type='tool']")).to_have_count(1)
        await page.locator(".step[data-step-type='tool'] button").first.click()
        cells = page.locator(".step[data-step-type='tool'] table").last.locator("tbody tr td:first-child")
        await expect(cells.first).to_have_text("Hypertension in adults")
        assert set(await cells.all_inner_texts()) == {"Hypertension in adults"}


async def test_a_drug_question_shows_its_look_up_and_an_answer_built_from_it(browser: Browser, served: Served) -> None:
    async with recorded(browser, "whole-metformin") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await ask(page, METFORMIN)
        await answered(page)
        step = page.locator(".step[data-step-type='tool']").filter(has_text=re.compile("Drug database: .*metformin"))
        await expect(step).to_have_count(1)
        await step.get_by_role("button").first.click()
        for words in ("Strengths", "metformin", "500 mg"):
            await expect(step).to_contain_text(words)
        # Its argument would repeat the question.
        await expect(step).not_to_contain_text("drug name")
        assert "500 mg" in await answer_text(page)
        assert await page.locator(".asc-reference").count() >= 1
        await expect(page.locator(".asc-unsupported")).to_have_count(0)


async def test_demonstration_content_is_never_presented_as_the_label_or_as_a_guideline(
    browser: Browser, served: Served
) -> None:
    async with recorded(browser, "whole-demonstration") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await expect(page.locator("#asc-statement")).to_contain_text(
            "loaded. For demonstration, not for clinical care."
        )
        await ask(page, "What are the contraindications of ibuprofen?")
        await answered(page)
        entry = page.locator(".asc-reference").filter(has_text="Motrin")
        await expect(entry).to_contain_text("Demonstration summary of Motrin (ibuprofen) prescribing information")
        await expect(entry).to_contain_text(
            "Asclepius demonstration library, demonstration content, not for clinical care"
        )
        await entry.get_by_role("button").click()
        panel = page.locator("#asc-panel")
        await expect(panel.locator(".asc-panel-document")).to_contain_text("Demonstration summary of Motrin")
        await expect(panel.locator(".asc-about")).to_contain_text("demonstration content, not for clinical care")
        origin = panel.locator("p").filter(has_text="Summarised from: ")
        await expect(origin).to_contain_text("(label date not given)")
        await expect(origin.locator("a")).to_have_attribute("href", re.compile("^https://dailymed"))
        await ask(page, ACE)
        await answered(page, count=2)
        about = page.locator(".asc-answer-end").last.locator(".asc-reference .asc-about").first
        await expect(about).to_contain_text("1.0, demonstration content, not for clinical care")


async def test_a_calculation_is_no_quote_and_each_of_its_lines_opens_the_panel_at_itself(
    browser: Browser, served: Served
) -> None:
    async with recorded(browser, "whole-calculation") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await ask(page, "eGFR 70 yo man creatinine 1.8 mg/dl")
        await answered(page)
        entries = page.locator(".asc-reference")
        await expect(entries).to_have_count(2)
        await expect(entries.first).to_contain_text("Calculation: eGFR (CKD-EPI 2021, creatinine)Formula: Inker LA")
        await expect(entries.last).to_contain_text("Source: Kidney Int 2024")
        await expect(page.locator(".asc-reference .asc-quote, .asc-extracts")).to_have_count(0)
        marked = page.locator("#asc-panel mark")
        for line, words in (
            ("Valid for", "Adults of 18 years or more with stable kidney function"),
            ("Result", "eGFR 40 ml/min/1.73 m²"),
            ("Interpretation", "G3b, 30–44: Moderately to severely decreased"),
        ):
            said = page.locator(".message-content li").filter(has_text=f"{line}: ")
            await said.locator("a[href^='#cite-']").click()
            await expect(marked).to_have_text(words)


async def test_the_notice_of_an_emergency_is_marked_as_one(browser: Browser, served: Served) -> None:
    async with recorded(browser, "whole-emergency") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await ask(page, "My child drank bleach, what now?")
        await answered(page)
        await expect(page.locator("blockquote[data-notice]")).to_contain_text("This may be an emergency.")
        await expect(page.locator("blockquote[data-notice]")).to_have_css("font-style", "normal")


async def test_where_no_sentence_clearly_answers_the_page_says_so(browser: Browser, served: Served) -> None:
    async with recorded(browser, "whole-abstain") as context:
        page = await context.new_page()
        await page.goto(served.url)
        await ask(page, "Which suture material is best for dental implants in dogs?")
        await answered(page)
        told = await answer_text(page)
        assert told.startswith("No loaded guideline contains this word: suture.")
        assert "No sentence clearly answers this." in told


def test_serving_writes_nothing_into_the_working_directory(served: Served) -> None:
    left = {path.name for path in Path(served.data_dir.parent).iterdir()}
    assert not left & {".chainlit", ".files", "chainlit.md", "public", "__pycache__"}
