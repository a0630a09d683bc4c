"""Nothing is lost or changed between what was sent and what a reader sees, in the page's own Markdown."""

from __future__ import annotations

import json

from playwright.async_api import Browser, Page

from chat_app.interface.markdown.markdown_fold import MarkdownFold
from chat_app.interface.rendering.answer_parts import AnswerParts
from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.hostile_texts import MARKED, PLAIN
from tests.support.page_server import ServedPage

# Stands in for the References element and shows every text with the component that shows answers.
_PROBE = """
import { Markdown } from '@/components/markdown';
const texts = %s;
export default function Probe() {
  return <div className="asc-answer-end message-content" id="probe">{texts.map((text, i) => (
    <div key={i} data-case={i}>
      <Markdown allowHtml={false} latex={false} renderMarkdown={true}>{text.trim()}</Markdown>
    </div>
  ))}</div>;
}
"""
# The text of an element is without the number of a list item.
_NUMBERED = """(item) => {
  const list = item.parentElement;
  const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
  let text = walker.nextNode();
  while (!text.data.trim()) text = walker.nextNode();
  text.data = `${list.start + [...list.children].indexOf(item)}. ${text.data.trimStart()}`;
}"""

_ENDS = """(paragraph) => {
  const text = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT).nextNode();
  const left = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  };
  return [left(0), left(text.length - 1)];
}"""
"""The left edges of a paragraph's first and last characters."""


def _lines(text: str) -> list[str]:
    """Lines without what nobody sees: blank lines, white space at line ends, characters of no width."""
    text = text.replace("\u2060", "").replace("\u200b", "").replace("\u2028", "\n").replace("\u00a0", " ")
    return [line.rstrip() for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


def _folded(text: str) -> str:
    fold = MarkdownFold()
    # As it streams, a few characters at a time.
    return "".join(fold.feed(text[at : at + 3]) for at in range(0, len(text), 3)) + fold.close()


def _report(wrong: list[tuple[str, str]]) -> str:
    return "\n".join(f"{sent[:200]!r} is shown as {seen[:200]!r}" for sent, seen in wrong)


async def _shown(page: Page, fake: ServedPage, texts: list[str]) -> list[str]:
    return await _rendered(page, fake, [_folded(text) for text in texts])


async def _rendered(page: Page, fake: ServedPage, texts: list[str]) -> list[str]:
    """What a reader sees of each Markdown text."""
    probe = _PROBE % json.dumps(texts)

    async def answer_with_probe(route: object) -> None:
        await route.fulfill(body=probe, content_type="text/javascript")  # type: ignore[attr-defined]

    await page.route("**/public/elements/References.jsx", answer_with_probe)
    await page.goto(fake.url)
    await ask(page, "say: x")
    await page.locator(f"#probe [data-case='{len(texts) - 1}']").wait_for()
    return await page.evaluate(
        "() => [...document.querySelectorAll('#probe [data-case]')].map((node) => {"
        "node.querySelectorAll('.relative > .flex-row').forEach((header) => header.remove());"
        f"node.querySelectorAll('ol > li').forEach({_NUMBERED});"
        "return node.innerText; })"
    )


async def test_three_hundred_hostile_and_clinical_texts_are_shown_as_they_were_sent(
    browser: Browser, fake: ServedPage
) -> None:
    assert len(set(PLAIN)) >= 300
    async with recorded(browser, "fidelity") as context:
        page = await context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        shown = await _shown(page, fake, PLAIN)
        assert await page.locator("#probe a:not([href])").count() > 10, "addresses are shown as text"
        assert await page.locator("#probe a[href]").count() == 0
    wrong = [
        (sent, seen) for sent, seen in zip(PLAIN, shown, strict=True) if _lines(sent.expandtabs(4)) != _lines(seen)
    ]
    assert not wrong, _report(wrong)
    assert [url for url in asked if "evil.example" in url or "x.org" in url] == []


async def test_markup_that_was_meant_shows_its_text_whole(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "fidelity-markup") as context:
        shown = await _shown(await context.new_page(), fake, [sent for sent, _ in MARKED])
    wrong = [(meant, seen) for (_, meant), seen in zip(MARKED, shown, strict=True) if _lines(meant) != _lines(seen)]
    assert not wrong, _report(wrong)


async def test_a_long_answer_in_parts_reads_as_in_one_piece(browser: Browser, fake: ServedPage) -> None:
    texts = [*PLAIN, *(sent for sent, _ in MARKED), "```\nin one\n\nblock of code\n```", "After\n\nit"]
    # A code block that is never closed would swallow all that comes after it.
    markdown = _folded("\n\n".join(text for text in texts if text.count("```") % 2 == 0 and "~~~" not in text))
    parts = AnswerParts(longest=300).cut(markdown)
    assert len(parts) > 10
    async with recorded(browser, "fidelity-parts") as context:
        whole, *seen = await _rendered(await context.new_page(), fake, [markdown, *parts])
    assert [line for text in seen for line in _lines(text)] == _lines(whole)


async def test_hostile_text_is_whole_when_it_streams_into_the_page(browser: Browser, fake: ServedPage) -> None:
    text = "HER2:negative, HLA-B*57:01 and HLA-B*58:01; 5~10 or 20~30; <script>alert(1)</script>; [x](y); `a:b`; c"
    async with recorded(browser, "fidelity-stream") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, f"say: {text}")
        await answered(page)
        assert await answer_text(page) == text.replace("`", "")
        await page.reload()
        await answered(page)
        assert await answer_text(page) == text.replace("`", "")
        assert await page.locator("[data-step-type='user_message']").inner_text() == f"say: {text}"
        for sentence in ("التهاب رئوي.", "דלקת ריאות."):
            await ask(page, f"say: {sentence}")
            shown = page.locator(".ai-message .prose [role='article']", has_text=sentence)
            first, stop = await shown.evaluate(_ENDS)
            assert stop < first, "the full stop is at the left end of a text that is read from right to left"
