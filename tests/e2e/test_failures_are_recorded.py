"""A test in the browser that fails leaves what it saw."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.async_api import Browser

from tests.support.browser import RESULTS, recorded


async def _failing(browser: Browser) -> None:
    async with recorded(browser, "a failure") as context:
        page = await context.new_page()
        await page.set_content("<h1>seen</h1>")
        raise AssertionError("fails as it should")


async def test_a_failure_leaves_a_screenshot_the_page_and_a_trace(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="as it should"):
        await _failing(browser)
    assert (RESULTS / "a-failure-0.png").read_bytes().startswith(b"\x89PNG")
    assert "<h1>seen</h1>" in (RESULTS / "a-failure-0.html").read_text("utf-8")
    with ZipFile(RESULTS / "a-failure.zip") as trace:
        assert any(name.endswith(".trace") for name in trace.namelist())


async def test_a_success_leaves_nothing(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with recorded(browser, "a success") as context:
        await context.new_page()
    assert not RESULTS.exists()
