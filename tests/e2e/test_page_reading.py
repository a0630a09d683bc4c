"""Reading without losing the place: the question at the top, the source at its words, the list that stays open."""

from __future__ import annotations

from playwright.async_api import Browser, Locator, Page, expect

from tests.support.browser import answered, ask, recorded
from tests.support.page_server import ServedPage

QUESTION = "What are the contraindications for ACE inhibitors?"
METFORMIN = "What formulations of metformin are available in our database?"
LIST = ".peer[data-state]"
SCROLLED = "node => node.closest('.overflow-y-auto').scrollTop"
# A wheel scrolls in many small steps.
MOVED_AND_RESTED = """async (node) => {
  let [before, frames] = [0, 0];
  while (frames < 10) {
    await new Promise(requestAnimationFrame);
    const { top } = node.getBoundingClientRect();
    frames = top === before && top > 300 ? frames + 1 : 0;
    before = top;
  }
}"""


async def _top(node: Locator) -> float:
    box = await node.bounding_box()
    assert box is not None
    return box["y"]


async def _at_the_top(page: Page) -> None:
    """Wait until the last question is below the header."""
    await page.wait_for_function(
        """() => {
          const questions = [...document.querySelectorAll('[data-step-type="user_message"]')];
          const { top } = questions.pop().getBoundingClientRect();
          return top > 40 && top < 120;
        }"""
    )


async def test_the_question_stays_at_the_top_while_its_answer_streams_and_scrolling_up_holds(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "pinned") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "count to 300")
        await answered(page)
        await ask(page, "gated 40 of 2000 pinned")
        question = page.locator("[data-step-type='user_message']").last
        await page.get_by_text("n40 ").last.wait_for()
        await _at_the_top(page)
        fake.open_gate("pinned")
        await answered(page, count=2)
        await _at_the_top(page)
        assert await page.locator(".asc-answer-end").last.bounding_box() is not None
        assert await _top(page.locator(".asc-answer-end").last) > 860, "the answer is longer than the screen"
        await expect(page.get_by_role("button", name="Scroll to the end")).to_be_visible()

        await ask(page, "gated 40 of 2000 upwards")
        await page.get_by_text("n40 ").last.wait_for()
        await _at_the_top(page)
        await page.mouse.move(640, 400)
        await page.mouse.wheel(0, -300)
        await question.evaluate(MOVED_AND_RESTED)
        before = await question.evaluate(SCROLLED)
        fake.open_gate("upwards")
        await answered(page, count=3)
        assert await question.evaluate(SCROLLED) == before

        await page.reload()
        await answered(page, count=2)
        await _at_the_top(page)


async def test_what_changes_above_a_question_does_not_move_it_and_the_button_to_the_end_covers_no_text(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "held", phone=True) as context:
        page = await context.new_page()
        await page.goto(fake.url)
        for number, asked in enumerate((QUESTION, "nothing on metfromin", "count to 600"), start=1):
            await ask(page, asked)
            await answered(page, count=number)
            await _at_the_top(page)
            await page.locator(".asc-answer-end").first.evaluate("node => { node.style.paddingTop = '90px' }")
            await _at_the_top(page)
        button = await page.get_by_role("button", name="Scroll to the end").bounding_box()
        text = await page.locator(".ai-message").last.evaluate(
            "node => node.closest('.overflow-y-auto').getBoundingClientRect().bottom"
        )
        placeholder = await page.locator("#chat-input").bounding_box()
        assert button is not None
        assert placeholder is not None
        assert text <= button["y"] < button["y"] + button["height"] <= placeholder["y"]
        await page.get_by_role("button", name="Scroll to the end").click()
        await expect(page.get_by_role("button", name="Scroll to the end")).to_have_count(0)


async def test_the_list_stays_open_when_a_conversation_is_opened_and_the_tab_is_named_after_it(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "list") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: the tapir answer")
        await answered(page)
        await expect(page).to_have_title("say: the tapir answer · Asclepius")
        await page.locator("#header #new-chat-button").click()
        await page.get_by_role("button", name="Confirm").or_(page.locator("#starters")).first.wait_for()
        await expect(page).to_have_title("Asclepius")
        await page.locator("#header #sidebar-trigger-button").click()
        await page.locator("#thread-history a", has_text="tapir").first.click()
        await answered(page)
        await expect(page.locator(LIST)).to_have_attribute("data-state", "expanded")
        await page.locator("[data-sidebar='sidebar'] #sidebar-trigger-button").click()
        await page.locator("#header #new-chat-button").click()
        await page.locator("#starters").wait_for()
        await expect(page.locator(LIST)).to_have_attribute("data-state", "collapsed")


async def test_on_a_zoomed_page_a_citation_opens_at_the_cited_words(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "zoomed-source") as context:
        page = await context.new_page()
        await page.set_viewport_size({"width": 640, "height": 256})
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator(".asc-page-box[data-state='shown']").wait_for()
        await expect(page.locator("mark.asc-here").first).to_be_in_viewport(timeout=3_000)


async def test_a_page_ends_where_the_document_does_and_is_shown_at_its_mark(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "pages") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, QUESTION)
        await answered(page)
        await page.locator("a[href^='#cite-']").first.click()
        panel, picture = page.locator("#asc-panel"), page.locator(".asc-page-box[data-state='shown']")
        await picture.wait_for()
        # The mark is near the end of the page.
        await page.wait_for_function("document.querySelector('.asc-page-box').scrollTop > 0")
        mark = "node => node.getBoundingClientRect().top + 0.9 * node.clientHeight"
        assert await picture.locator("img").evaluate(mark) < 860, "it is on the screen"
        await expect(panel.locator("mark.asc-here").first).to_be_in_viewport()
        before = await picture.locator("img").evaluate("image => image.clientWidth")
        await panel.get_by_role("button", name="Zoom in").click()
        wider = "(before) => document.querySelector('.asc-page-box img').clientWidth > before * 1.4"
        await page.wait_for_function(wider, arg=before)
        await panel.get_by_role("button", name="Zoom in").click()
        await expect(panel.get_by_role("button", name="Zoom in")).to_be_disabled()
        following, preceding = (panel.get_by_role("button", name=f"{name} page") for name in ("Next", "Previous"))
        for number in (4, 5, 6):
            await following.click()
            await expect(panel.locator(".asc-page-number")).to_have_text(f"PDF page {number} of 6")
        await expect(following).to_be_disabled()
        for number in (5, 4, 3, 2, 1):
            await preceding.click()
            await expect(panel.locator(".asc-page-number")).to_have_text(f"PDF page {number} of 6")
        await expect(preceding).to_be_disabled()


async def test_a_drug_source_is_a_record_with_the_cited_field_marked(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "record") as context:
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, METFORMIN)
        await answered(page)
        await page.locator("a[href^='#cite-']").first.click()
        record = page.locator(".asc-record")
        await expect(record.locator("h3")).to_have_text("metformin")
        await expect(record.locator("h4")).to_have_text("Boxed warning")
        assert await record.locator(".asc-field-name").all_inner_texts() == ["Brand names", "Product", "", "Source"]
        await expect(record.locator("mark")).to_have_text("tablet (oral): 500 mg, 850 mg, 1000 mg; brands Glucophage")
        await expect(page.locator("#asc-panel")).to_contain_text("FDA, December 2015")
        await page.get_by_role("button", name="Copy sentence with reference").click()
        await page.get_by_role("button", name="Copied").wait_for()
        copied = await page.evaluate("navigator.clipboard.readText()")
        sentence, reference, origin = copied.split("\n\n")
        assert sentence == "Metformin is available as tablets of 500 mg, 850 mg and 1000 mg. [1]"
        assert reference.startswith("1. FDA. Metformin. 2015 Dec.")
        assert origin.startswith("From Asclepius, ")


async def test_an_unsupported_sentence_cannot_be_copied_with_its_reference(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "not-copied") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "changed dose")
        await answered(page)
        await page.locator("a[href^='#cite-']").first.click()
        await page.locator(".asc-record").wait_for()
        await expect(page.locator(".asc-copy-sentence")).to_have_count(0)


async def test_an_edit_says_what_it_removes_and_is_reached_by_keyboard(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "edit-warning") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        for number, text in enumerate(("first", "second", "third"), start=1):
            await ask(page, f"say: {text}")
            await answered(page, count=number)
        edit = page.get_by_role("button", name="Edit the question").first
        await edit.focus()
        await expect(edit).to_have_css("opacity", "1")
        await page.keyboard.press("Enter")
        warning = "Asking again removes 2 later questions and their answers."
        await expect(page.locator(".asc-edit-warning")).to_have_text(warning)


async def test_a_thumb_counts_though_its_comment_is_closed(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "thumb") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: judge me")
        await answered(page)
        await page.locator(".negative-feedback-off").click()
        await page.get_by_role("dialog").get_by_role("textbox").fill("not to be sent")
        await page.keyboard.press("Escape")
        await page.locator(".negative-feedback-on").wait_for()
        await expect(page.get_by_role("button", name="Edit feedback")).to_have_count(0)
        await page.locator(".positive-feedback-off").click()
        await page.get_by_role("dialog").get_by_role("button", name="Close").click()
        await page.locator(".positive-feedback-on").wait_for()
        await page.reload()
        await answered(page)
        await expect(page.locator(".positive-feedback-on")).to_have_count(1)
