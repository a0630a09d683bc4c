"""Conversations are kept, found, named, taken up again, exported and deleted; feedback stays with its answer."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

from playwright.async_api import Browser, Page, expect

from tests.support.browser import answer_text, answered, ask, ask_with_file, recorded, type_question
from tests.support.page_server import ServedPage


async def _sidebar(page: Page) -> None:
    await page.locator("#header #sidebar-trigger-button").click()
    await page.locator("#thread-history").wait_for()


async def _choose(page: Page, item: str) -> None:
    """Goes through the open menu by keyboard to ``item``."""
    # Before it has the focus, a key would be lost.
    await page.locator("[role='menu']:focus-within").wait_for()
    wanted = page.locator(item)
    for place, entry in enumerate(await page.get_by_role("menuitem").all()):
        await page.keyboard.press("ArrowDown" if place else "Home")
        await expect(entry).to_be_focused()
        if await wanted.evaluate("item => item === document.activeElement"):
            break
    await page.keyboard.press("Enter")


async def test_a_conversation_is_listed_taken_up_again_and_goes_on(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "resume") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "options resume-me")
        await answered(page)
        await page.goto(fake.url)
        await _sidebar(page)
        await page.locator("#thread-history a", has_text="options resume-me").first.click()
        await answered(page)
        await ask(page, "options again")
        await answered(page, count=2)
        assert "conversation_id=session_" in await answer_text(page), "the agent goes on in its own conversation"


async def test_conversations_with_the_same_title_show_when_they_began(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "twins") as context:
        page = await context.new_page()
        for question in ("say: the ibis answer", "say: the ibis answer", "say: the heron answer"):
            await page.goto(fake.url)
            await ask(page, question)
            await answered(page)
        await _sidebar(page)
        twins = page.locator("#thread-history a button > span", has_text="ibis")
        for place in range(2):
            await expect(twins.nth(place)).to_have_attribute("data-begun", re.compile(r"\d{1,2}:\d\d"))
        shown = await twins.first.evaluate("entry => getComputedStyle(entry, '::before').content")
        assert re.search(r"\d{1,2}:\d\d", shown)
        heron = page.locator("#thread-history a button > span", has_text="heron")
        assert not await heron.get_attribute("data-begun"), "a title that no other conversation has needs no time"


async def test_a_conversation_can_be_renamed_searched_and_deleted(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "rename") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: the zebra answer")
        await answered(page)
        await _sidebar(page)
        entry = page.locator("#thread-history li", has_text="say: the zebra answer").first
        await entry.hover()
        await entry.locator("#thread-options").click()
        await page.locator("#rename-thread").click()
        await page.get_by_role("dialog").get_by_role("textbox").fill("Zebra talk")
        await page.get_by_role("button", name="Confirm").click()
        renamed = page.locator("#thread-history li", has_text="Zebra talk").first
        await renamed.wait_for()
        await page.locator("#search-chats-button").click()
        await page.get_by_placeholder("Search conversations").fill("zebra answer")
        await expect(page.get_by_role("option").first).to_contain_text("Zebra talk")
        await expect(page.get_by_role("option").first).to_contain_text(re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4} · "))
        await page.get_by_placeholder("Search conversations").fill("no such words")
        await expect(page.get_by_role("dialog")).to_contain_text("No conversations found")
        await page.keyboard.press("Escape")
        await renamed.hover()
        await renamed.locator("#thread-options").click()
        await page.locator("#delete-thread").click()
        confirm = page.get_by_role("alertdialog").get_by_role("button", name="Delete")
        shown = await confirm.evaluate("node => getComputedStyle(node).backgroundColor")
        red, green, blue = map(int, re.findall(r"\d+", shown)[:3])
        assert red > 2 * max(green, blue), shown
        await confirm.click()
        await expect(page.locator("#thread-history li", has_text="Zebra talk")).to_have_count(0)
        # What is said of it leaves the header and its menu uncovered.
        said = page.locator("[data-sonner-toast]", has_text="Conversation deleted")
        await page.locator("#user-nav-button").click()
        await page.get_by_role("menu").wait_for()
        boxes = [await node.bounding_box() for node in (said, page.locator("#header"), page.get_by_role("menu"))]
        assert all(boxes)
        toast, header, menu = (box or {} for box in boxes)
        assert toast["y"] >= header["y"] + header["height"]
        assert toast["x"] + toast["width"] <= menu["x"]


async def test_a_conversation_is_renamed_and_deleted_without_a_mouse(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "rename-keys") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: the okapi answer")
        await answered(page)
        await page.locator("#header #sidebar-trigger-button").press("Enter")
        await page.locator("#thread-history a", has_text="okapi").press("F2")
        await _choose(page, "#rename-thread")
        name = page.get_by_role("dialog").get_by_role("textbox")
        await name.fill("Okapi talk")
        await name.press("Enter")
        renamed = page.locator("#thread-history a", has_text="Okapi talk")
        # The dialog hands the keyboard back as it goes, and a menu that opened before that would close again.
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await renamed.press("F2")
        await _choose(page, "#delete-thread")
        # It gives the keyboard to its button "Cancel" as it opens.
        await expect(page.get_by_role("alertdialog").get_by_role("button", name="Cancel")).to_be_focused()
        await page.get_by_role("button", name="Delete").press("Enter")
        await expect(renamed).to_have_count(0)


async def test_a_conversation_that_is_deleted_while_it_is_open_leaves_the_screen(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "delete-open") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: the dodo answer")
        await answered(page)
        await page.reload()
        await answered(page)
        await _sidebar(page)
        entry = page.locator("#thread-history li", has_text="dodo")
        await entry.hover()
        await entry.locator("#thread-options").click()
        await page.locator("#delete-thread").click()
        await page.get_by_role("button", name="Delete").click()
        await expect(page.locator("[data-sonner-toast]", has_text="Conversation deleted")).to_be_visible()
        await expect(page.locator("#starters")).to_be_visible()
        await expect(page.locator(".ai-message")).to_have_count(0)
        await expect(page).to_have_url(f"{fake.url}/")


async def test_thumbs_and_a_comment_are_there_after_a_reload(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "feedback") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: judge me")
        await answered(page)
        await page.locator(".negative-feedback-off").click()
        await page.get_by_role("dialog").get_by_role("textbox").fill("the dose is missing")
        await page.locator("#submit-feedback").click()
        await page.locator(".negative-feedback-on").wait_for()
        await page.reload()
        await answered(page)
        await expect(page.locator(".negative-feedback-on")).to_have_count(1)


async def test_a_conversation_is_exported_with_its_references(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "export") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "What are the contraindications for ACE inhibitors?")
        await answered(page)
        await ask(page, "truncated")
        await answered(page, count=2)
        async with page.expect_download() as waiting:
            await page.get_by_role("link", name="Export conversation").locator("visible=true").click()
        exported = (await (await waiting.value).path()).read_text()
        assert (await waiting.value).suggested_filename.startswith("What are the contraindications for ACE inhibitors")
        assert "> What are the contraindications for ACE inhibitors?" in exported
        assert "ACE inhibitors are contraindicated in pregnancy.[1]" in exported
        assert "HER2:negative" in exported
        assert "1. Demonstration. Hypertension in adults" in exported
        assert "**This answer is not complete.** The stream ended early." in exported


async def test_an_edited_question_takes_the_place_of_the_old_one_and_what_followed(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "edit") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: first")
        await answered(page)
        await ask(page, "say: second")
        await answered(page, count=2)
        question = page.locator("[data-step-type='user_message']").first
        await question.hover()
        await question.locator(".edit-message").click()
        await page.locator("#edit-chat-input").fill("say: edited")
        await page.locator(".confirm-edit").click()
        await expect(page.locator(".ai-message").last).to_contain_text("edited")
        for _ in range(2):
            await answered(page)
            await expect(page.locator("[data-step-type='user_message']")).to_have_count(1)
            await expect(page.locator(".asc-answer-end")).to_have_count(1)
            assert await answer_text(page) == "edited"
            await page.reload()


async def test_settings_reach_the_agent(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "settings") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await page.locator("#chat-settings-open-modal").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("switch").nth(1).click()
        await dialog.get_by_role("button", name="Confirm").click()
        await expect(page.locator("#asc-in-force")).to_have_text("All guidelines")
        await ask(page, "options please")
        await answered(page)
        text = await answer_text(page)
        assert "use_drug_database=False" in text
        assert "use_clinical_guidelines=True" in text


async def test_a_dropped_guideline_is_taken_in_page_by_page_and_a_refused_one_says_why(
    browser: Browser, fake: ServedPage
) -> None:
    pdf = b"%PDF-1.7\n" + b"x" * 100
    async with recorded(browser, "upload") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask_with_file(page, "say: and a question", "New sepsis.pdf", pdf)
        await answered(page)
        await expect(page.locator(".step[data-step-type='tool']")).to_contain_text("Add file: New sepsis.pdf · 3 pages")
        said = "“New sepsis” can now be searched: 3 pages, only in this conversation for now."
        await expect(page.get_by_text(said)).to_be_visible()
        assert "and a question" in await answer_text(page)
        asked_whom = page.get_by_role("group", name="Who can use “New sepsis”?")
        assert await asked_whom.get_by_role("button").all_inner_texts() == [
            "Only this conversation",
            "Add to the library for everyone",
            "Remove file",
        ]
        await asked_whom.get_by_role("button").first.click()
        decided = page.get_by_text("“New sepsis” stays in this conversation only.")
        await expect(decided).to_be_visible()
        await page.reload()
        await expect(decided).to_be_visible()
        await expect(asked_whom).to_have_count(0)
        await page.locator("#chat-settings-open-modal").click()
        await page.get_by_role("dialog").locator("div:has(> label[for='documents']) .group").click()
        await expect(page.get_by_role("option", name="New sepsis (this conversation only)")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")
        for name, content, reason in (
            ("fake.pdf", b"<html>", "not a PDF"),
            ("encrypted.pdf", pdf, "the file is encrypted"),
        ):
            # A file without a question has no bubble.
            await ask_with_file(page, "", name, content)
            await expect(page.locator(".ai-message [role='article']", has_text=reason)).to_be_visible()
            await expect(page.locator("[data-step-type='user_message'] .rounded-3xl:visible")).to_have_count(1)


async def test_a_file_that_cannot_be_sent_is_refused_with_the_reason_and_what_to_do(
    browser: Browser, fake: ServedPage, tmp_path: Path
) -> None:
    async with recorded(browser, "refused") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await type_question(page, "a question")
        for name, size, said in (
            ("empty.pdf", 0, "empty.pdf: the file is empty. Save or download it again"),
            ("notes.txt", 1, "Only PDF files can be added. Save the document as a PDF"),
            ("long.pdf", (50 << 20) + 1, "The file is larger than 50 MB. Split it"),
        ):
            with (tmp_path / name).open("wb") as file:
                file.truncate(size)
            await page.locator("#upload-button-input").set_input_files(tmp_path / name)
            await expect(page.locator("[data-sonner-toast]", has_text=said)).to_be_visible()


async def test_several_files_are_taken_and_one_is_removed_and_the_settings_in_force_are_seen(
    browser: Browser, fake: ServedPage
) -> None:
    pdf = b"%PDF-1.7\n" + b"x" * 100
    async with recorded(browser, "files") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        line = page.locator("#asc-in-force")
        await expect(line).to_have_text("All guidelines · Drug database")
        await line.click()
        await page.get_by_role("dialog").locator("#drugs").click()
        await page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
        await expect(line).to_have_text("All guidelines")
        files = [{"name": name, "mimeType": "application/pdf", "buffer": pdf} for name in ("One.pdf", "Two.pdf")]
        await page.locator("#upload-button-input").set_input_files(files)  # type: ignore[arg-type]
        await page.locator("#chat-input").fill("say: both")
        await expect(page.locator("#chat-submit:not([disabled])")).to_be_visible()
        await page.locator("#chat-input").press("Enter")
        await answered(page)
        await expect(page.locator(".step[data-step-type='tool']")).to_have_count(2)
        one = page.get_by_role("group", name="Who can use “One”?")
        # By the keyboard: the page may still scroll to the end of the answer under a pointer that is pressed.
        await one.get_by_role("button", name="Remove file").press("Enter")
        removed = page.get_by_text("“One” is no longer searched.")
        await expect(removed).to_be_visible()
        await page.reload()
        await expect(removed).to_be_visible()
        await expect(page.get_by_role("group", name="Who can use “Two”?")).to_be_visible()
        await expect(line).to_have_text("All guidelines")


async def test_a_conversation_that_is_gone_is_told_in_plain_words(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "gone") as context:
        page = await context.new_page()
        await page.goto(f"{fake.url}/thread/{uuid4()}")
        await expect(page.locator("[data-sonner-toast]").first).to_contain_text("This conversation no longer exists.")
