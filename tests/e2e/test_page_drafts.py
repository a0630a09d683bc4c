"""Text typed while the page connects stays in its conversation and can be sent as a question."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from playwright.async_api import Browser, Page, Route, WebSocketRoute, expect

from tests.support.browser import answer_text, answered, ask, recorded
from tests.support.page_server import ServedPage

# Keeps each question box that the page has had.
BOXES = """window.boxes = new Set();
new MutationObserver(() => document.querySelectorAll('#chat-input').forEach((box) => boxes.add(box)))
  .observe(document, { childList: true, subtree: true });"""


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
        self._holds = asyncio.Event()
        self._released = False
        self._waiting: list[tuple[WebSocketRoute, str | bytes]] = []

    async def attach(self, page: Page) -> None:
        # By one way alone: what comes before the page has changed to a socket would not be seen here.
        await page.add_init_script("window.transports = ['websocket']")
        await page.route_web_socket("**/ws/socket.io/**", self._connect)

    def _connect(self, route: WebSocketRoute) -> None:
        route.connect_to_server().on_message(partial(self._pass_on, route))

    def _pass_on(self, page: WebSocketRoute, message: str | bytes) -> None:
        if not self._released and self._word in str(message):
            self._holds.set()
        if self._holds.is_set() and not self._released:
            self._waiting.append((page, message))
        else:
            page.send(message)

    async def release(self) -> None:
        """Once what is held back has come."""
        await asyncio.wait_for(self._holds.wait(), 60)
        self._released = True
        for page, message in self._waiting:
            page.send(message)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
async def test_the_first_box_stays_with_what_is_typed_into_it_before_the_page_is_connected(
    browser: Browser, fake: ServedPage, phone: bool
) -> None:
    async with recorded(browser, f"draft-{phone}", phone=phone) as context:
        page = await context.new_page()
        await page.add_init_script(BOXES)
        settings, cookie = Held(), Held()
        await page.route("**/project/settings?*", settings.hold)
        await page.route("**/set-session-cookie", cookie.hold)
        async with page.expect_response("**/user"), page.expect_response("**/auth/config"):
            await page.goto(fake.url)
        await expect(page.locator(".asc-starting")).to_be_visible()
        settings.released.set()
        box = page.locator("#chat-input")
        await box.focus()
        await page.keyboard.type("say: typed early")
        cookie.released.set()
        await page.locator("#chat-submit:not([disabled])").wait_for()
        await page.keyboard.type(" and on")
        await expect(box).to_have_value("say: typed early and on")
        assert await page.evaluate("boxes.size") == 1
        await page.keyboard.press("Enter")
        await answered(page)
        assert await answer_text(page) == "typed early and on"
        await expect(box).to_have_value("")


async def test_a_conversation_opens_without_the_start_page_and_with_one_connection(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "open-once") as context:
        page = await context.new_page()
        await page.goto(fake.url)
        await ask(page, "say: one")
        await answered(page)
        await page.wait_for_url("**/thread/*")
        await page.add_init_script(BOXES)
        connections: list[str] = []
        page.on("request", lambda request: connections.append(request.url))
        socket = HeldSocket('"resume_thread"')
        await socket.attach(page)
        await page.reload(wait_until="commit")
        await socket.release()
        await page.locator("#chat-input").fill("say: two")
        await answered(page)
        assert await page.evaluate("boxes.size") == 1
        await page.locator("#chat-submit:not([disabled])").wait_for()
        await page.keyboard.press("Enter")
        await answered(page, count=2)
        assert await answer_text(page) == "two"
        assert len([url for url in connections if url.endswith("/set-session-cookie")]) == 1


async def test_each_conversation_keeps_what_was_typed_in_it_also_before_it_had_its_address(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "draft-each") as context:
        page = await context.new_page()
        socket = HeldSocket('"asclepius_thread"')
        await socket.attach(page)
        await page.goto(fake.url)
        await ask(page, "say: the numbat answer")
        box = page.locator("#chat-input")
        await expect(page.locator("#welcome-screen")).to_have_count(0)
        await box.fill("half a question")
        await socket.release()
        await answered(page)
        await page.locator("#header #new-chat-button").click()
        await page.locator("#welcome-screen").wait_for()
        await expect(box).to_have_value("")
        # A conversation that opens closes the sidebar, so it is opened last.
        await page.locator("#header #sidebar-trigger-button").click()
        await page.locator("#thread-history a", has_text="numbat").click()
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
