"""Links from other systems into the page: the question is filled in, and only its reader sends it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from chat_app.interface.security.accounts import hash_password
from tests.support.browser import answered, recorded
from tests.support.page_server import ServedPage, fake_page

QUESTION = "What do the labels say about warfarin + aspirin, 100 %?"
LINK = "/#ask=What%20do%20the%20labels%20say%20about%20warfarin%20%2B%20aspirin%2C%20100%20%25%3F"
BOX = "#chat-input"


async def test_a_question_of_a_link_is_filled_in_and_not_sent(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "link") as context:
        page = await context.new_page()
        await page.goto(fake.url + LINK)
        await expect(page.locator(BOX)).to_have_value(QUESTION)
        await page.reload()
        await expect(page.locator(BOX)).to_have_value(QUESTION)
        assert page.url == f"{fake.url}/"
        await expect(page.locator("[data-step-type='user_message']")).to_have_count(0)
        # The same link again, into the open page.
        await page.locator(BOX).fill("")
        await page.evaluate("location.hash = 'ask=Again%3F'")
        await expect(page.locator(BOX)).to_have_value("Again?")
        await page.locator("#chat-submit").click()
        await answered(page)
        await page.goto(fake.url)
        await expect(page.locator(BOX)).to_have_value("")


@pytest.fixture(scope="module")
def password_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    users = {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_USERS": f"ana:{hash_password('for ana')}"}
    with fake_page(tmp_path_factory.mktemp("links"), environment=users) as page:
        yield page


async def test_the_question_of_an_infobutton_survives_signing_in(browser: Browser, password_page: ServedPage) -> None:
    async with recorded(browser, "link-login") as context:
        page = await context.new_page()
        await page.goto(f"{password_page.url}/infobutton?mainSearchCriteria.v.dn=Asthma%2C%20100%20%25&age.v.v=6")
        await page.locator("#email").fill("ana")
        await page.locator("#password").fill("for ana")
        await page.locator("button[type=submit]").click()
        question = "What do the sources say about Asthma, 100 % in a patient aged 6 years?"
        await expect(page.locator(BOX)).to_have_value(question)
