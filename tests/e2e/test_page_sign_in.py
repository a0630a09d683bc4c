"""Signing in at an OpenID Connect provider, and signing out everywhere, in real browsers."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.support.browser import recorded
from tests.support.oidc_provider import CLIENT, provider
from tests.support.page_server import fake_page

BUTTON = "Continue with single sign-on"


async def sign_in(context: BrowserContext, url: str) -> Page:
    page = await context.new_page()
    await page.goto(url)
    await page.get_by_role("button", name=BUTTON).click()
    await page.get_by_role("button", name="ana", exact=True).click()
    await page.locator("#chat-input").wait_for()
    return page


async def test_a_sign_out_everywhere_ends_the_login_in_another_browser(
    browser: Browser, redis_url: str, tmp_path: Path
) -> None:
    settings = {"ASCLEPIUS_AUTH": "oidc", "ASCLEPIUS_OIDC_CLIENT_ID": CLIENT, "REDIS_URL": redis_url}
    settings |= {"ASCLEPIUS_OIDC_CLIENT_SECRET": "a secret of the client", "ASCLEPIUS_ROLES": "ana:administrator"}
    with (
        provider() as issuer,
        fake_page(tmp_path, environment=settings | {"ASCLEPIUS_OIDC_ISSUER": issuer}) as served,
    ):
        async with recorded(browser, "sign-in") as here, recorded(browser, "sign-in-elsewhere") as elsewhere:
            first, second = await sign_in(here, served.url), await sign_in(elsewhere, served.url)
            await first.locator("#user-nav-button").click()
            await first.get_by_role("menuitem", name="Sign out").first.press("ArrowDown")
            entry = first.get_by_role("menuitem", name="Sign out everywhere")
            await expect(entry).to_be_focused()
            link = first.get_by_role("menuitem", name="Administration")
            await expect(link).to_have_attribute("href", "/administration")
            await entry.press("Enter")
            await first.get_by_role("button", name="End session").click()
            await first.get_by_role("button", name=BUTTON).wait_for()
            await second.reload()
            await second.get_by_role("button", name=BUTTON).wait_for()
            assert (await second.request.get(f"{served.url}/user")).status == 401
