"""A turn goes on whatever happens to the browser, and every tab sees the whole of it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.async_api import Browser, Page, expect

from tests.integration.test_replicas import pair
from tests.integration.test_take_over import model_server
from tests.support.browser import answer_text, answered, ask, ask_with_file, recorded
from tests.support.nginx import balancer
from tests.support.page_server import ServedPage, fake_page


async def _numbers(page: Page) -> list[int]:
    return [int(number) for number in re.findall(r"n(\d+)", await answer_text(page))]


async def _shows(page: Page, number: int) -> None:
    await expect(page.locator(".ai-message").last).to_contain_text(f"n{number} ")


async def _open(page: Page, url: str) -> Page:
    await page.goto(url)
    await page.locator("#chat-input").wait_for()
    return page


async def test_a_reload_in_the_middle_of_an_answer_loses_nothing_and_goes_on(
    browser: Browser, fake: ServedPage
) -> None:
    async with recorded(browser, "reload") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, "gated 60 of 120 reload")
        await _shows(page, 60)
        await page.wait_for_url("**/thread/*")
        await page.reload()
        await _shows(page, 60)
        assert await _numbers(page) == list(range(1, 61))
        fake.open_gate("reload")
        await answered(page)
        assert await _numbers(page) == list(range(1, 121))
        await expect(page.locator("#stop-button")).to_have_count(0)


async def test_a_step_that_ends_after_a_reload_stays_above_the_answer(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "reload-step") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask_with_file(page, "say: done", "gated reloadstep.pdf", b"%PDF-1.7 x")
        await page.locator("[data-step-type='tool']").wait_for()
        await page.wait_for_url("**/thread/*")
        await page.reload()
        await page.locator("[data-step-type='tool']").wait_for()
        fake.open_gate("reloadstep")
        await answered(page)
        kinds = "nodes => nodes.map((node) => node.dataset.stepType)"
        shown = await page.locator("[data-step-type='tool'], [data-step-type='assistant_message']").evaluate_all(kinds)
        assert shown == ["tool", "assistant_message", "assistant_message"]


async def test_a_long_answer_in_parts_is_whole_after_a_reload_in_the_middle(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "reload-parts") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, "stamped 1500 every 2")
        await page.locator("[id*='-part-2']").wait_for()
        await page.reload()
        headings = page.locator(".ai-message h2")
        for _ in range(2):
            await answered(page)
            await expect(page.locator(".asc-reference")).to_have_count(40)
            # 1,500 tokens are five sections and the beginning of a sixth.
            steps = [text.partition(":")[0] for text in await headings.all_inner_texts()]
            assert steps == [f"Step {n}" for n in range(1, len(steps) + 1)]
            assert len(steps) in {5, 6}
            await expect(page.locator(".asc-answer-end")).to_have_count(1)
            # The parts read as one answer.
            await expect(page.locator(".ai-message > span:first-child:visible")).to_have_count(1)
            await page.reload()


async def test_a_reload_on_a_phone_stays_in_the_conversation(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "reload-phone", phone=True) as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, "gated 20 of 40 phone")
        await _shows(page, 20)
        # The text can be there within a tenth of a second, before the address is.
        await page.wait_for_url("**/thread/*")
        await page.reload()
        await _shows(page, 20)
        fake.open_gate("phone")
        await answered(page)
        assert await _numbers(page) == list(range(1, 41))


async def test_a_second_tab_shows_the_running_answer_and_can_stop_it(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "second-tab") as context:
        first = await _open(await context.new_page(), fake.url)
        await ask(first, "gated 50 of 100 secondtab")
        await _shows(first, 50)
        await first.wait_for_url("**/thread/*")
        second = await context.new_page()
        await second.goto(first.url)
        await _shows(second, 50)
        await second.locator("#stop-button").click()
        for page in (first, second):
            await answered(page)
            await expect(page.locator(".asc-outcome")).to_contain_text("You stopped this answer")
            assert await _numbers(page) == list(range(1, 51))


async def test_a_question_asked_in_one_tab_appears_in_the_other(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "two-tabs") as context:
        first = await _open(await context.new_page(), fake.url)
        await ask(first, "say: one")
        await answered(first)
        second = await context.new_page()
        await second.goto(first.url)
        await answered(second)
        await ask(first, "say: two")
        await answered(second, count=2)
        assert await answer_text(second) == "two"
        await expect(second.locator("[data-step-type='user_message']")).to_have_count(2)


async def test_a_network_blip_leaves_no_gap(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "blip") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, "gated 40 of 160 blip")
        await _shows(page, 40)
        # A cut socket, as a laptop lid or a lost network makes it, while the answer goes on.
        await context.set_offline(True)
        await page.evaluate("() => window.dispatchEvent(new Event('offline'))")
        fake.open_gate("blip")
        await page.wait_for_timeout(1500)
        await context.set_offline(False)
        await answered(page)
        assert await _numbers(page) == list(range(1, 161))


async def _ask_for_the_user(page: Page) -> None:
    """Make Chainlit ask for the user again: it does when it gets the focus, at most every five seconds."""
    await page.wait_for_timeout(5_500)
    async with page.expect_request("**/user"):
        await page.evaluate("window.dispatchEvent(new Event('focus'))")


async def test_a_reader_stays_in_the_conversation_while_the_server_is_away(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "away") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, "say: still here")
        await answered(page)
        address = page.url
        for away in (lambda route: route.abort(), lambda route: route.fulfill(status=502)):
            await context.route("**/user", away)
            await _ask_for_the_user(page)
            await page.wait_for_timeout(500)
            assert page.url == address
            await expect(page.get_by_text("still here").last).to_be_visible()
        await context.route("**/user", lambda route: route.fulfill(status=401, json={"detail": "signed out"}))
        async with page.expect_event("framenavigated", lambda frame: frame.url.endswith("/login")):
            await _ask_for_the_user(page)


async def test_an_answer_whose_server_is_killed_goes_on_at_the_other_replica_without_a_reload(
    browser: Browser, redis_url: str, tmp_path: Path
) -> None:
    async with model_server() as model:
        settings = {"ASCLEPIUS_BACKGROUND": "true", "TESTS_MODEL_SERVER": model.base_url}
        with (
            pair(tmp_path, redis_url, **settings) as replicas,
            balancer([urlsplit(each.url).netloc for each in replicas], tmp_path / "nginx", user="ana") as url,
        ):
            async with recorded(browser, "killed") as context:
                page = await _open(await context.new_page(), url)
                await ask(page, "How much?")
                await expect(page.locator(".ai-message").last).to_contain_text("once daily")
                asking = [each for each in replicas if _is_connected(each, to=model.base_url)]
                assert len(asking) == 1
                asking[0].process.kill()
                await answered(page)
                assert "Start metformin at 500 mg once daily" in await answer_text(page)
                assert (await answer_text(page)).count("Start") == 1
                await expect(page.locator(".ai-message").last, "the search is above it").to_contain_text("with food")
                await expect(page.locator(".asc-outcome")).to_have_count(0)
                await expect(page.locator("#stop-button")).to_have_count(0)


def _is_connected(replica: ServedPage, *, to: str) -> bool:
    port = urlsplit(to).port
    connections = psutil.Process(replica.process.pid).net_connections("tcp")
    return any(each.raddr and each.raddr.port == port for each in connections)


async def test_an_answer_that_ended_while_nobody_looked_is_there(browser: Browser, fake: ServedPage) -> None:
    async with recorded(browser, "away") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, "gated 30 of 60 away")
        await _shows(page, 30)
        await page.wait_for_url("**/thread/*")
        address = page.url
        await page.close()
        fake.open_gate("away")
        again = await context.new_page()
        await again.goto(address)
        await answered(again)
        assert await _numbers(again) == list(range(1, 61))


@pytest.mark.parametrize(
    ("question", "kind", "words"),
    [
        ("fail", "failed", "The model server can't be reached; tell your administrator."),
        ("break", "failed", "Something went wrong"),
        ("truncated", "incomplete", "The stream ended early."),
    ],
)
async def test_an_answer_that_did_not_complete_is_marked_live_and_after_a_reload(
    browser: Browser, fake: ServedPage, question: str, kind: str, words: str
) -> None:
    async with recorded(browser, f"outcome-{question}") as context:
        page = await _open(await context.new_page(), fake.url)
        await ask(page, question)
        await answered(page)
        for _ in range(2):
            mark = page.locator(f".asc-outcome[data-outcome={kind}]")
            await expect(mark).to_contain_text(words)
            await page.reload()
            await answered(page)


async def test_half_a_sentence_stays_readable_with_its_mark_and_what_can_be_done(
    browser: Browser, tmp_path: Path
) -> None:
    # The offline model cannot continue an answer.
    with fake_page(tmp_path, environment={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}) as served:
        async with recorded(browser, "half") as context:
            page = await _open(await context.new_page(), served.url)
            await ask(page, "truncated")
            for _ in range(2):
                await answered(page)
                assert await answer_text(page) == "Give 5 mg, but not"
                for name in ("Ask again", "Continue"):
                    await expect(page.locator(".asc-outcome").get_by_role("button", name=name)).to_be_visible()
                await page.reload()
