"""Other projects' servers and clients; only with ``--peers``, in the environment that ``make test-peers`` makes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.model_script import ANSWERS
from tests.peers.servers import AimockServer, LiteLLMProxy, aimock, litellm_proxy, litellm_python
from tests.support.offline_server import offline_server

FOLDER = Path(__file__).resolve().parent
LIMIT = 300
"""Seconds: the LiteLLM proxy alone takes most of a minute to start on a slow machine."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--peers", action="store_true", help="also run tests with other projects' servers and clients")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Where this file is found during collection, its option came too late to be parsed: it has its default.
    wanted = config.getoption("--peers", default=False)
    return True if not wanted and FOLDER in (collection_path, *collection_path.parents) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.peers)
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture(scope="session")
def aimock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AimockServer]:
    with aimock(tmp_path_factory.mktemp("aimock"), ANSWERS) as server:
        yield server


@pytest.fixture(scope="session")
def proxy(tmp_path_factory: pytest.TempPathFactory, aimock_server: AimockServer) -> Iterator[LiteLLMProxy]:
    """LiteLLM in front of aimock, under two names: its bridge to chat completions, and handing requests on."""
    with litellm_proxy(tmp_path_factory.mktemp("litellm"), aimock_server.base_url) as server:
        yield server


@pytest.fixture(scope="session")
def litellm_interpreter() -> Path:
    """The Python that LiteLLM is installed for; it has no Asclepius."""
    return litellm_python()


@pytest.fixture(scope="module")
def offline_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Our offline server, as a child process."""
    assert sys.executable
    with offline_server(tmp_path_factory.mktemp("offline")) as url:
        yield url
