"""The page with its history on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.page_server import ServedPage, fake_page
from tests.support.postgres import postgres_binary, postgres_server


@pytest.fixture
def kept_in_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    if postgres_binary("postgres") is None:
        pytest.skip("no PostgreSQL on this machine (`make test-postgres` installs it)")
    with postgres_server() as url:
        named = {"DATABASE_URL": url.replace("+asyncpg", "")}
        with fake_page(tmp_path_factory.mktemp("postgres-page"), environment=named) as page:
            yield page


async def test_conversations_and_feedback_are_kept_there(browser: Browser, kept_in_postgres: ServedPage) -> None:
    async with recorded(browser, "postgres") as context:
        page = await context.new_page()
        await page.goto(kept_in_postgres.url)
        await ask(page, "say: kept far away")
        await answered(page)
        await page.locator(".negative-feedback-off").click()
        await page.get_by_role("dialog").get_by_role("textbox").fill("the dose is missing")
        await page.locator("#submit-feedback").click()
        await page.locator(".negative-feedback-on").wait_for()
        await page.goto(kept_in_postgres.url)
        await page.locator("#header #sidebar-trigger-button").click()
        await page.locator("#thread-history a", has_text="kept far away").click()
        await answered(page)
        assert await answer_text(page) == "kept far away"
        await expect(page.locator(".negative-feedback-on")).to_have_count(1)
        await ask(page, "options again")
        await answered(page, count=2)
        assert "conversation_id=session_" in await answer_text(page)
    assert not list(kept_in_postgres.data_dir.glob("history.sqlite3*"))
