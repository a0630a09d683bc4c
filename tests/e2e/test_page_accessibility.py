"""WCAG 2.2 AA, as far as a machine can tell; languages; print."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.axe import RULES, axe_source
from tests.support.browser import answered, ask, recorded
from tests.support.page_server import ServedPage
from tools.guidelines.page_words import page_texts

QUESTION = "What are the contraindications for ACE inhibitors?"


async def _violations(page: Page, axe: str) -> list[str]:
    # Chainlit fades its parts in; colours are judged once they stand still.
    await page.wait_for_timeout(800)
    await page.evaluate(axe)
    found = await page.evaluate("(rules) => axe.run(document, {runOnly: rules})", RULES)
    return [f"{v['id']}: {node['html'][:160]}" for v in found["violations"] for node in v["nodes"]]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_axe_finds_nothing_on_start_answer_step_panel_and_history(
    browser: Browser, fake: ServedPage, dark: bool
) -> None:
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core cannot be fetched (npm)")
    async with recorded(browser, f"axe-{dark}", dark=dark) as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await page.locator("#asc-statement").wait_for()
        found = {"start": await _violations(page, axe)}
        await page.locator("a[href='#loaded']").click()
        await page.locator("#asc-panel [data-guideline]").first.wait_for()
        found["library"] = await _violations(page, axe)
        await page.keyboard.press("Escape")
        await ask(page, QUESTION)
        await answered(page)
        found["answer"] = await _violations(page, axe)
        await page.locator(".step[data-step-type='tool'] button").first.click()
        found["step"] = await _violations(page, axe)
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator(".asc-page-box[data-state='shown']").wait_for()
        found["panel"] = await _violations(page, axe)
        await page.keyboard.press("Escape")
        await page.locator("#header #sidebar-trigger-button").click()
        found["history"] = await _violations(page, axe)
        await ask(page, "truncated")
        await answered(page, count=2)
        found["incomplete"] = await _violations(page, axe)
        await page.locator("#chat-settings-open-modal").click()
        found["settings"] = await _violations(page, axe)
    assert {state: violations for state, violations in found.items() if violations} == {}


async def test_the_end_of_an_answer_is_announced(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "announced") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await expect(page.locator("#asc-live")).to_have_text("Answer complete. References: 1.")
        await ask(page, "fail")
        await expect(page.locator("#asc-live")).to_contain_text("The model server cannot be reached")


async def test_the_page_speaks_german_to_a_german_browser(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "german", locale="de-DE") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await expect(page.locator("#asc-statement")).to_contain_text("Geladen: Leitlinien: 2, Arzneimittel: 150.")
        await ask(page, QUESTION)
        await answered(page)
        await expect(page.locator(".asc-references h3")).to_have_text("Quellen")
        await expect(page.locator(".step[data-step-type='tool']")).to_contain_text("Leitlinien: contraindications")
        await expect(page.locator(".step[data-step-type='tool']")).to_contain_text("1 Textstelle · 38 ms")
        await expect(page.locator(".asc-where")).to_contain_text("Seite 5 (PDF-Seite 3)")
        await ask(page, "break")
        await expect(page.locator("[data-outcome='failed']")).to_contain_text("Etwas Unerwartetes ist schiefgegangen")
        await page.locator("#chat-settings-open-modal").click()
        await expect(page.get_by_role("dialog")).to_contain_text("Sprache der Antworten")
        await page.keyboard.press("Escape")
        await expect(page.locator("html")).to_have_attribute("lang", "de")
        await page.locator("#readme-button").click()
        await expect(page.get_by_role("dialog")).to_contain_text("Was das nicht ist")


async def test_printed_the_answer_stands_alone_in_black_on_white(
    browser: Browser, fake: ServedPage, tmp_path: Path
) -> None:
    async with recorded(browser, "print", dark=True) as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        await page.emulate_media(media="print")
        await expect(page.locator(".asc-references")).to_be_visible()
        for hidden in ("#header", "#message-composer", ".asc-foot button", ".positive-feedback-off", ".edit-message"):
            await expect(page.locator(hidden).first).to_be_hidden()
        for shown in (".ai-message .prose", ".asc-title"):
            await expect(page.locator(shown).first).to_have_css("color", "rgb(0, 0, 0)")
        await page.pdf(path=tmp_path / "answer.pdf", format="A4")
    printed = " ".join(" ".join(page_texts(tmp_path / "answer.pdf")).split())
    for words in (QUESTION, "Hypertension in adults", "contraindicated in pregnancy.", "HER2:neg", "Decision support"):
        assert words in printed
    for words in ("Copy with references", "Export conversation", "Ask about a guideline"):
        assert words not in printed
