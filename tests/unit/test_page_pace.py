"""Text goes to a browser no faster than it takes it; one that says nothing is not waited for."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from chainlit.session import WebsocketSession

from chat_app.interface.page.pace import MARK, WINDOW, Pace


class Browser:
    """As much of a session as is sent to."""

    socket_id = "none"

    def __init__(self) -> None:
        self.marks: list[int] = []

    async def emit(self, event: str, payload: dict[str, Any]) -> None:
        assert event == "window_message"
        self.marks.append(payload[MARK])

    @property
    def session(self) -> WebsocketSession:
        return cast("WebsocketSession", self)


@pytest.fixture
def browser() -> Browser:
    return Browser()


async def elapsed(pace: Pace, browser: Browser, *, growing: int = 0) -> float:
    clock = asyncio.get_running_loop()
    began = clock.time()
    await pace.after_text(browser.session, growing, 0.0)
    return clock.time() - began


async def test_a_browser_that_is_behind_gets_no_third_window_before_it_has_taken_the_first(browser: Browser) -> None:
    pace = Pace(patience=60)
    pace.begin(browser.session)
    await elapsed(pace, browser)
    second = asyncio.create_task(elapsed(pace, browser))
    done, _ = await asyncio.wait({second}, timeout=WINDOW * 4)
    assert not done
    pace.handed_back(browser.session, {MARK: browser.marks[0]})
    assert await asyncio.wait_for(second, 10) >= WINDOW * 3


async def test_a_browser_that_hands_nothing_back_is_waited_for_once(browser: Browser) -> None:
    pace = Pace(patience=0.5)
    pace.begin(browser.session)
    spent = [await elapsed(pace, browser) for _ in range(4)]
    assert [second >= 0.5 for second in spent] == [False, True, False, False]


async def test_a_new_socket_is_not_waited_for_on_account_of_the_old_one(browser: Browser) -> None:
    pace = Pace(patience=60)
    pace.begin(browser.session)
    await elapsed(pace, browser)
    pace.begin(browser.session)
    assert await asyncio.wait_for(elapsed(pace, browser), 10) >= WINDOW * 0.9


@pytest.mark.parametrize("payload", [None, "x", {MARK: "1"}, {MARK: None}, {"other": 1}, {MARK: 10**9}])
async def test_what_a_browser_sends_of_itself_lets_no_more_through_than_was_sent(
    browser: Browser, payload: object
) -> None:
    pace = Pace(patience=60)
    pace.begin(browser.session)
    await elapsed(pace, browser)
    pace.handed_back(browser.session, payload)
    await asyncio.wait_for(elapsed(pace, browser), 10) if payload == {MARK: 10**9} else None
    third = asyncio.create_task(elapsed(pace, browser))
    done, _ = await asyncio.wait({third}, timeout=WINDOW * 4)
    assert not done
    third.cancel()


async def test_what_the_page_reads_anew_for_long_comes_rarely(browser: Browser) -> None:
    pace = Pace(patience=0.01)
    pace.begin(browser.session)
    assert await elapsed(pace, browser, growing=20_000) >= 0.2
