"""The page in Chromium: how far it is behind what was sent, against a plain Chainlit loop in the same run.

Each token says when it was sent; the browser says when a reader can see it. Prints, for both: first paint, time to the
first visible text, how far the last token is behind, and the main thread's time per 1,000 tokens.

    python -m tests.benchmarks.bench_page [RUNS]
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Browser

from tests.support.browser import ask, chromium, recorded
from tests.support.page_server import fake_page
from tests.support.services import accepts, free_port, running

CASES = ((1000, 10), (3000, 5))
# Looks at the end of the text alone: reading all of it in each frame would be what it measures.
_WATCH = """(last) => new Promise((done) => {
  let first = 0;
  const look = () => {
    const shown = document.querySelector('.ai-message [role="article"]');
    const end = shown ? /t(\\d+)at(\\d+)\\s*$/.exec(shown.textContent.slice(-60)) : null;
    if (end && !first) first = Date.now() - Number(end[2]);
    if (end && Number(end[1]) === last) done([first, Date.now() - Number(end[2])]);
    else setTimeout(look, 20);
  };
  look();
})"""
_BUSY = """() => { window.busy = 0; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.busy += entry.duration;
}).observe({type: 'longtask', buffered: true}); }"""
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"


@contextmanager
def plain_chainlit(folder: Path) -> Iterator[str]:
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["CHAINLIT_APP_ROOT"] = str(folder)
    target = str(Path(__file__).with_name("plain_chainlit.py"))
    command = [sys.executable, "-m", "chainlit", "run", target, "--headless", "--port", str(port)]
    with running(command, lambda: accepts(("127.0.0.1", port)), what="plain Chainlit"):
        yield f"http://127.0.0.1:{port}"


async def measure(browser: Browser, url: str, tokens: int, every: int) -> dict[str, float]:
    """Milliseconds."""
    async with recorded(browser, "bench") as context:
        page = await context.new_page()
        page.set_default_timeout(240_000)
        await page.goto(url)
        await page.locator("#chat-input").wait_for()
        paint = await page.evaluate(_PAINT)
        await page.evaluate(_BUSY)
        await ask(page, f"stamped {tokens} every {every}")
        first, last = await page.evaluate(_WATCH, tokens)
        busy = await page.evaluate("() => window.busy")
        return {"first paint": paint, "first text": first, "last token behind": last,
                "long tasks / 1,000 tokens": busy * 1000 / tokens}


async def compare(runs: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        fake_page(Path(folder) / "ours") as ours,
        plain_chainlit(Path(folder) / "plain") as plain,
    ):
        async with chromium() as browser:
            for tokens, every in CASES:
                print(f"{tokens} tokens, one every {every} ms; medians of {runs}, milliseconds")
                for name, url in (("ours", ours.url), ("plain Chainlit", plain)):
                    results = [await measure(browser, url, tokens, every) for _ in range(runs)]
                    medians = {key: statistics.median(r[key] for r in results) for key in results[0]}
                    print(f"  {name:15}" + "".join(f"{key}: {value:,.0f}   " for key, value in medians.items()))


def main() -> None:
    asyncio.run(compare(int(sys.argv[1]) if len(sys.argv) > 1 else 5))


if __name__ == "__main__":
    main()
