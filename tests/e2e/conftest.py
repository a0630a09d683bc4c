"""One browser and one served page for the browser tests of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.support.browser import chromium, chromium_path
from tests.support.page_server import PROJECT, ServedPage, fake_page

# A busy machine may take its time; what has to be fast is measured in the benches.
expect.set_options(timeout=60_000)

DEMO_PDF = PROJECT / "tools" / "guidelines" / "demo" / "hypertension.pdf"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).parent.name == "e2e":
            item.add_marker(pytest.mark.e2e)
            if pytest_asyncio.is_async_test(item):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            if chromium_path() is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine (ASCLEPIUS_CHROMIUM)"))


@pytest.fixture(scope="session")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """The page with the stand-in agent, and three models to choose from."""
    models = {"ASCLEPIUS_MODELS": "ada-large,bob-small"}
    with fake_page(tmp_path_factory.mktemp("page"), environment=models, pdf=DEMO_PDF) as page:
        yield page


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Started once, in the event loop that all these tests share; each test has a profile of its own in it."""
    async with chromium() as running:
        yield running
