"""Guessing passwords gets slower with each try, and takes neither memory nor logins from others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from chat_app.interface.security.accounts import hash_password
from chat_app.interface.security.password_login import FREE_TRIES, LONGEST_PAUSE, LoginThrottle, TooManyLogins
from chat_app.sessions.tallies import Tallies
from tests.support.page_server import ServedPage, fake_page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    users = ",".join(f"{name}:{hash_password(f'for {name}')}" for name in ("ana", "bert"))
    environment = {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_USERS": users}
    with fake_page(tmp_path_factory.mktemp("throttle"), environment=environment) as served:
        yield served


def log_in(page: ServedPage, user: str, password: str, address: str) -> httpx.Response:
    """Log in through the trusted proxy on this machine, from ``address``."""
    form = {"username": user, "password": password}
    return httpx.post(f"{page.url}/login", data=form, headers={"X-Forwarded-For": address}, timeout=60)


async def waits(throttle: LoginThrottle, user: str, address: str) -> int:
    try:
        await throttle.begin(user, address)
    except TooManyLogins as error:
        return error.retry_after
    return 0


async def test_the_pause_doubles_with_each_try_and_ends_with_the_right_password() -> None:
    now = 0.0
    throttle = LoginThrottle(Tallies(lambda: None), lambda: now)
    assert [await waits(throttle, "ana", "10.0.0.9") for _ in range(FREE_TRIES)] == [0] * FREE_TRIES
    pauses = []
    for _ in range(14):
        pauses.append(await waits(throttle, "ana", "10.0.0.9"))
        now += pauses[-1]
        assert await waits(throttle, "ana", "10.0.0.9") == 0
    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses[-1] == LONGEST_PAUSE
    assert await waits(throttle, "ana", "10.0.0.10") == 0, "the user herself, elsewhere"
    assert await waits(throttle, "bert", "10.0.0.9") == 0, "a colleague behind the same address"
    now += LONGEST_PAUSE
    await throttle.begin("ana", "10.0.0.9")
    await throttle.succeeded("ana", "10.0.0.9")
    assert await waits(throttle, "ana", "10.0.0.9") == 0


async def test_guesses_for_many_names_from_one_address_are_slowed_down_too() -> None:
    throttle = LoginThrottle(Tallies(lambda: None), lambda: 0.0)
    assert sum([await waits(throttle, f"name {number}", "10.0.0.9") for number in range(200)]) > 0


def test_a_burst_of_guesses_is_refused_and_others_can_log_in(page: ServedPage) -> None:
    process = psutil.Process(page.process.pid)
    before = process.memory_info().rss
    with ThreadPoolExecutor(100) as pool:
        guesses = [pool.submit(log_in, page, "ana", f"guess {n}", "10.1.1.1") for n in range(100)]
        peak = before
        while not all(guess.done() for guess in guesses):
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.01)
        answers = [guess.result() for guess in guesses]
    counted = Counter(answer.status_code for answer in answers)
    assert set(counted) == {401, 429}
    assert FREE_TRIES <= counted[401] < 30, "a pause may end while the others still come"
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers if answer.status_code == 429)
    assert peak - before < 400_000_000, "two passwords are checked at once, each with 128 MiB"
    assert log_in(page, "bert", "for bert", "10.1.1.1").status_code == 200
    assert log_in(page, "ana", "for ana", "10.1.1.2").status_code == 200
    log = page.log.read_text()
    assert "A login from 10.1.1.1 failed" in log
    assert "guess" not in log
