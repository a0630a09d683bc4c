"""Text goes to a browser no faster than it takes it; one that says nothing is not waited for."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from chainlit.session import WebsocketSession

from chat_app.interface.page import pace as page_pace
from chat_app.interface.page.pace import LONG_PART, LONG_WINDOW, MARK, WINDOW, Pace


class Browser:
    """The parts of a session that the pace uses, and a clock that no test waits for."""

    socket_id = "none"

    def __init__(self) -> None:
        self.marks: list[int] = []
        self.windows: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.windows.append(seconds)

    def pace(self, patience: float = 60) -> Pace:
        pace = Pace(patience=patience, sleep=self.sleep)
        pace.begin(self.session)
        return pace

    async def emit(self, event: str, payload: dict[str, Any]) -> None:
        assert event == "window_message"
        self.marks.append(payload[MARK])

    @property
    def session(self) -> WebsocketSession:
        return cast("WebsocketSession", self)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    browser = Browser()
    monkeypatch.setattr(page_pace, "emit", lambda _session, event, payload: browser.emit(event, payload))
    return browser


async def window(pace: Pace, browser: Browser, *, growing: int = 0) -> asyncio.Task[None]:
    """Send a window, and let everything run that waits for nothing."""
    await pace.after_text(browser.session, growing, asyncio.get_running_loop().time())
    sending = asyncio.create_task(pace.ready(browser.session))
    for _ in range(10):
        await asyncio.sleep(0)
    return sending


async def test_a_browser_that_is_behind_gets_no_third_window_before_it_has_taken_the_first(browser: Browser) -> None:
    pace = browser.pace()
    assert (await window(pace, browser)).done()
    second = await window(pace, browser)
    assert not second.done()
    pace.handed_back(browser.session, {MARK: browser.marks[0]})
    await asyncio.wait_for(second, 60)
    assert browser.windows == pytest.approx([WINDOW, WINDOW], abs=WINDOW / 2)


async def test_a_browser_that_keeps_up_is_asked_once_in_four_windows(browser: Browser) -> None:
    pace = browser.pace()
    for _ in range(10):
        assert (await window(pace, browser)).done()
        if browser.marks:
            pace.handed_back(browser.session, {MARK: browser.marks[-1]})
    assert len(browser.marks) == 4
    assert len(browser.windows) == 10


async def test_a_browser_that_hands_nothing_back_is_waited_for_once(browser: Browser) -> None:
    pace = browser.pace(patience=0.05)
    await (await window(pace, browser))
    await asyncio.wait_for(await window(pace, browser), 60)
    assert [(await window(pace, browser)).done() for _ in range(3)] == [True, True, True]


async def test_a_new_socket_is_not_waited_for_on_account_of_the_old_one(browser: Browser) -> None:
    pace = browser.pace()
    assert (await window(pace, browser)).done()
    pace.begin(browser.session)
    assert (await window(pace, browser)).done()


@pytest.mark.parametrize("payload", [None, "x", {MARK: "1"}, {MARK: None}, {"other": 1}, {MARK: 10**9}])
async def test_what_a_browser_sends_of_itself_lets_no_more_through_than_was_sent(
    browser: Browser, payload: object
) -> None:
    pace = browser.pace()
    assert (await window(pace, browser)).done()
    pace.handed_back(browser.session, payload)
    if payload == {MARK: 10**9}:
        assert (await window(pace, browser)).done()
    third = await window(pace, browser)
    assert not third.done()
    third.cancel()


async def test_what_the_page_renders_again_for_long_comes_rarely(browser: Browser) -> None:
    assert (await window(browser.pace(), browser, growing=20_000)).done()
    assert browser.windows == pytest.approx([LONG_WINDOW * 20_000 / LONG_PART], rel=0.5)
