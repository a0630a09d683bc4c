"""What is typed while the page is still drawing itself stays, in its conversation, and is what is asked."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Route, WebSocketRoute, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.page_server import ServedPage


class Held:
    """Holds the requests of one address back until it is released."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def hold(self, route: Route) -> None:
        await self.released.wait()
        await route.continue_()


class SlowFirst:
    """A network on which the first request of one address takes longer than those after it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def delay(self, route: Route) -> None:
        taken, self._seconds = self._seconds, 0.0
        await asyncio.sleep(taken)
        await route.continue_()


class HeldSocket:
    """Holds back what the server says, from the first message with ``word`` on, until it is released."""

    def __init__(self, word: str) -> None:
        self._word = word
        self._waiting: list[str | bytes] | None = None
        self._page: WebSocketRoute | None = None

    def connect(self, page: WebSocketRoute) -> None:
        self._page = page
        page.connect_to_server().on_message(self._pass_on)

    def _pass_on(self, message: str | bytes) -> None:
        assert self._page is not None
        if self._waiting is None and self._word and self._word in str(message):
            self._waiting = []
        if self._waiting is None:
            self._page.send(message)
        else:
            self._waiting.append(message)

    def release(self) -> None:
        assert self._page is not None
        assert self._waiting, "what is waited for has come"
        waiting, self._waiting, self._word = self._waiting, None, ""
        for message in waiting:
            self._page.send(message)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
async def test_what_is_typed_into_the_first_box_and_on_while_there_is_none_is_in_the_next_and_is_asked(
    browser: Browser, fake: ServedPage, phone: bool
) -> None:
    async with recorded(browser, f"draft-{phone}", phone=phone) as context:
        page = await context.new_page()
        user, settings = Held(), Held()
        await page.route("**/user", user.hold)
        await page.route("**/project/settings?*", settings.hold)
        await page.goto(fake.url, wait_until="commit")
        box = page.locator("#chat-input")
        await box.focus()
        await page.keyboard.type("say: typed oh")
        user.released.set()
        await expect(box).to_have_count(0)
        await page.keyboard.press("Backspace")
        await page.keyboard.press("Backspace")
        await page.keyboard.type("early ")
        settings.released.set()
        await expect(box).to_have_value("say: typed early ")
        await page.keyboard.type("and on")
        await page.locator("#chat-submit:not([disabled])").wait_for()
        await page.keyboard.press("Enter")
        await answered(page)
        assert await answer_text(page) == "typed early and on"
        await expect(box).to_have_value("")


async def test_what_is_typed_while_a_conversation_is_taken_up_again_stays_with_its_caret(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "draft-resume") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: one")
        await answered(page)
        await page.wait_for_url("**/thread/*")
        socket = HeldSocket('"resume_thread"')
        await page.route_web_socket("**/ws/socket.io/**", socket.connect)
        await page.reload(wait_until="commit")
        await page.locator("#welcome-screen #chat-input").fill("say: three")
        for _ in "three":
            await page.keyboard.press("ArrowLeft")
        socket.release()
        await answered(page)
        await page.keyboard.type("two and ")
        await expect(page.locator("#chat-input")).to_have_value("say: two and three")
        await page.locator("#chat-submit:not([disabled])").click()
        await answered(page, count=2)
        assert await answer_text(page) == "two and three"


async def test_each_conversation_keeps_what_was_typed_in_it_also_before_it_had_its_address(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "draft-each") as context:
        page = await context.new_page()
        socket = HeldSocket('"asclepius_thread"')
        await page.route_web_socket("**/ws/socket.io/**", socket.connect)
        await page.goto(fake.url)
        await ask(page, "say: the quokka answer")
        box = page.locator("#chat-input")
        await expect(page.locator("#welcome-screen")).to_have_count(0)
        await box.fill("half a question")
        socket.release()
        await answered(page)
        await page.locator("#header #sidebar-trigger-button").click()
        await page.locator("#new-chat-button").click()
        await page.locator("#welcome-screen").wait_for()
        await expect(box).to_have_value("")
        await page.locator("#thread-history a", has_text="quokka").click()
        await answered(page)
        await expect(box).to_have_value("half a question")


async def test_after_a_reload_the_next_question_stays_in_the_conversation_whichever_connection_is_slower(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "connections") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: one")
        await answered(page)
        await page.wait_for_url("**/thread/*")
        address = page.url
        await page.route("**/set-session-cookie", SlowFirst(2.0).delay)
        await page.reload()
        await answered(page)
        await page.wait_for_load_state("networkidle")
        await ask(page, "say: two")
        await answered(page, count=2)
        assert page.url == address
