"""The page in Chromium: how far it is behind what was sent, against a plain Chainlit loop in the same run.

The answer says when it was sent (``tests.support.stamped``); the browser says when a reader can see it. Prints, for
both: what the first load fetches (kilobytes, requests, lists of conversations), first paint, time to the first
visible text, how far the page is behind in the middle (95 of 100 stamps) and at the end, and the processor time of
the page's main thread per 1,000 tokens, which other programs on the machine change little. The median of RUNS; a
plain loop that is far behind is given up after a time, and its numbers are lower bounds.

    python -m tests.benchmarks.bench_page [RUNS [TOKENS EVERY_MS]...]
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Browser, CDPSession

from tests.support.browser import ask, chromium
from tests.support.page_server import PROJECT, fake_page
from tests.support.services import accepts, free_port, running

CASES = ((1000, 10), (3000, 5), (6000, 5))
# A plain loop that has not caught up by then is this far behind, or further.
_GIVE_UP = 20.0
# Looks at the end of the text alone: reading all of it in each frame would be what it measures. What was sent before
# the question is of the answer before.
WATCH = """([last, asked, until]) => new Promise((done) => {
  const seen = new Map();
  const look = () => {
    const shown = [...document.querySelectorAll('.ai-message .message-content .prose')].at(-1);
    const now = Date.now();
    const stamps = shown ? [...shown.textContent.slice(-1500).matchAll(/t(\\d+)at(\\d+)/g)] : [];
    for (const [, number, sent] of stamps) if (sent >= asked && !seen.has(number)) seen.set(number, now - sent);
    if (seen.has(String(last)) || now > until) done([...seen.values()]);
    else setTimeout(look, 20);
  };
  look();
})"""
# The box may stand in the document before anything is painted: a plain page waits for fonts from elsewhere.
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_FETCHED = """() => {
  const all = ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind));
  const size = all.reduce((sum, { transferSize }) => sum + transferSize, 0);
  return [size / 1000, all.length, all.filter(({ name }) => name.endsWith('/project/threads')).length];
}"""
_COUNTED = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")

Figures = dict[str, float]


@contextmanager
def plain_chainlit(folder: Path) -> Generator[str]:
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"CHAINLIT_APP_ROOT": str(folder), "PYTHONPATH": str(PROJECT)}
    target = str(Path(__file__).with_name("plain_chainlit.py"))
    command = [sys.executable, "-m", "chainlit", "run", target, "--headless", "--port", str(port)]
    with running(command, lambda: accepts(("127.0.0.1", port)), what="plain Chainlit"):
        yield f"http://127.0.0.1:{port}"


async def measure(browser: Browser, url: str, tokens: int, every: int) -> Figures:
    """Milliseconds."""
    context = await browser.new_context(viewport={"width": 1280, "height": 860})
    try:
        page = await context.new_page()
        page.set_default_timeout(240_000)
        devtools = await context.new_cdp_session(page)
        await devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.goto(url)
        await page.locator("#chat-input").wait_for()
        paint = await (await page.wait_for_function(_PAINT)).json_value()
        kilobytes, requests, lists = await page.evaluate(_FETCHED)
        before = await main_thread(devtools)
        asked = await page.evaluate("Date.now()")
        await ask(page, f"stamped {tokens} every {every}")
        behind = await page.evaluate(WATCH, [tokens, asked, asked + tokens * every + _GIVE_UP * 1000])
        spent = {name: value - before[name] for name, value in (await main_thread(devtools)).items()}
    finally:
        await context.close()
    behind = behind or [_GIVE_UP * 1000]
    return {
        "first load kB": kilobytes,
        "requests": requests,
        "lists": lists,
        "first paint": paint,
        "first text behind": behind[0],
        "95 % behind": percentile(behind, 0.95),
        "last behind": behind[-1],
        "stamps seen": len(behind),
        **{
            f"{name.removesuffix('Duration').lower()} / 1,000 tokens": value * 1000 / tokens
            for name, value in spent.items()
        },
    }


async def main_thread(devtools: CDPSession) -> Figures:
    """Milliseconds of processor time so far."""
    metrics = (await devtools.send("Performance.getMetrics"))["metrics"]
    return {entry["name"]: entry["value"] * 1000 for entry in metrics if entry["name"] in _COUNTED}


def percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def _report(name: str, results: Sequence[Mapping[str, float]]) -> None:
    medians = {key: statistics.median(result[key] for result in results) for key in results[0]}
    print(f"  {name:15}" + "  ".join(f"{key}: {value:,.0f}" for key, value in medians.items()), flush=True)


async def compare(runs: int, cases: Sequence[tuple[int, int]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        fake_page(Path(folder) / "ours") as ours,
        plain_chainlit(Path(folder) / "plain") as plain,
    ):
        async with chromium() as browser:
            for tokens, every in cases:
                print(f"{tokens:,} tokens, one every {every} ms; medians of {runs}, milliseconds", flush=True)
                for name, url in (("Asclepius", ours.url), ("plain Chainlit", plain)):
                    _report(name, [await measure(browser, url, tokens, every) for _ in range(runs)])


def main() -> None:
    runs, *sizes = [int(argument) for argument in sys.argv[1:]] or [3]
    asyncio.run(compare(runs, tuple(zip(sizes[::2], sizes[1::2], strict=True)) or CASES))


if __name__ == "__main__":
    main()
