"""A conversation of many turns with tables in Chromium, beside a plain Chainlit loop in the same run.

Prints, for both: the time of a turn from Enter to the end of its answer at the beginning and at the end of the
conversation, their ratio, and the processor time of the page's main thread, which other programs on the machine change
little; how far the page is behind when 500 tokens stream in after that; the memory of the page's scripts. For Asclepius
also the time until the conversation is open again in a fresh page; a plain loop has no history, and its conversation
ends after PLAIN_TURNS.

    python -m tests.benchmarks.bench_long_page [TURNS]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.async_api import Browser, CDPSession, Page

from tests.benchmarks.bench_page import WATCH, Figures, main_thread, percentile, plain_chainlit
from tests.support.browser import ask, chromium
from tests.support.page_server import fake_page

TURNS = 60
# A plain loop shows every turn, and each takes longer than the one before.
PLAIN_TURNS = 10
_EACH = 5
_QUESTION = "stamped 300 every 1"
_LAST = (500, 10)
# The answer of the question is there with its end, and another question can be asked.
_ENDED = """(question) => {
  const asked = [...document.querySelectorAll('[data-step-type="user_message"]')].at(-1);
  const shown = [...document.querySelectorAll('.ai-message .message-content .prose')].at(-1);
  const answered = shown && asked?.textContent.includes(question) && asked.compareDocumentPosition(shown) === 4;
  return answered && /End t\\d+at/.test(shown.textContent) && !document.querySelector('#stop-button');
}"""
_OPEN = """() => document.querySelector('.asc-answer-end')
  && !document.querySelector('.ai-message:last-child .animate-spin') && performance.now()"""


async def measure(browser: Browser, url: str, turns: int, *, reopens: bool) -> Figures:
    """Milliseconds and megabytes."""
    context = await browser.new_context(viewport={"width": 1280, "height": 860})
    try:
        page = await context.new_page()
        page.set_default_timeout(120_000)
        devtools = await context.new_cdp_session(page)
        await devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.goto(url)
        took = [await _turn(page, devtools, number) for number in range(turns)]
        behind = await _behind(page)
        ends = (took[:_EACH], took[-_EACH:])
        first, last = ([statistics.median(times) for times in zip(*part, strict=True)] for part in ends)
        figures = {
            "first turns": first[0],
            "last turns": last[0],
            "growth": last[0] / first[0],
            "first turns, processor": first[1],
            "last turns, processor": last[1],
            "95 % behind": percentile(behind, 0.95),
            "last behind": behind[-1],
            "heap MB": await _heap(devtools),
        }
        if reopens:
            await page.reload()
            figures["opened"] = await (await page.wait_for_function(_OPEN)).json_value()
            figures["opened, processor"] = await _processor(devtools)
            figures["heap MB, opened"] = await _heap(devtools)
    finally:
        await context.close()
    return figures


async def _turn(page: Page, devtools: CDPSession, number: int) -> tuple[float, float]:
    """Return the time that a turn took, and the processor time of the page's main thread."""
    began, before = time.perf_counter(), await _processor(devtools)
    # A stock page renders questions as Markdown, so that a number before the text would begin a list.
    question = f"{_QUESTION}, question {number + 1}"
    await ask(page, question)
    await page.wait_for_function(_ENDED, arg=question, polling=20)
    return (time.perf_counter() - began) * 1000, await _processor(devtools) - before


async def _behind(page: Page) -> list[float]:
    tokens, every = _LAST
    asked = await page.evaluate("Date.now()")
    await ask(page, f"stamped {tokens} every {every}")
    return list(await page.evaluate(WATCH, [tokens, asked, asked + tokens * every + 20_000])) or [20_000.0]


async def _processor(devtools: CDPSession) -> float:
    return (await main_thread(devtools))["TaskDuration"]


async def _heap(devtools: CDPSession) -> float:
    await devtools.send("HeapProfiler.collectGarbage")
    metrics = (await devtools.send("Performance.getMetrics"))["metrics"]
    return float(next(entry["value"] for entry in metrics if entry["name"] == "JSHeapUsedSize")) / 1e6


async def compare(turns: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        fake_page(Path(folder) / "ours") as ours,
        plain_chainlit(Path(folder) / "plain") as plain,
    ):
        async with chromium() as browser:
            print(f"{turns} turns with tables, then 500 tokens, one every 10 ms; milliseconds", flush=True)
            most = min(turns, PLAIN_TURNS)
            for name, url, count, reopens in (
                ("Asclepius", ours.url, turns, True),
                (f"plain, {most} turns", plain, most, False),
            ):
                figures = await measure(browser, url, count, reopens=reopens)
                shown = "  ".join(f"{key}: {value:,.{2 if key == 'growth' else 0}f}" for key, value in figures.items())
                print(f"  {name:17}{shown}", flush=True)


if __name__ == "__main__":
    asyncio.run(compare(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS))
