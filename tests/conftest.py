"""Fixtures for all tests: the shared data folder, and real services started once per run."""

from __future__ import annotations

import gc
import os
import re
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.certificates import server_certificate
from tests.support.forked import FOLDER
from tests.support.page_server import ServedPage
from tests.support.postgres import fresh_database, postgres_binary, postgres_server
from tests.support.served import Served, serve
from tests.support.services import milvus_lite_server, redis_server

# Chainlit writes files when it is imported: into a temporary folder, not into the working directory.
_CHAINLIT_ROOT = tempfile.TemporaryDirectory(prefix="asclepius-chainlit-")
os.environ.setdefault("CHAINLIT_APP_ROOT", _CHAINLIT_ROOT.name)
# xdist's workers inherit it: the demonstration content is ingested once per run.
_DEMO_CONTENT = tempfile.TemporaryDirectory(prefix="asclepius-demo-")
os.environ.setdefault("TESTS_DEMO_CONTENT", _DEMO_CONTENT.name)
# One server for the run forks the programs of all workers.
_FORKS = tempfile.TemporaryDirectory(prefix="asclepius-forks-")
os.environ.setdefault(FOLDER, _FORKS.name)
os.environ.setdefault("TESTS_RUN", str(os.getpid()))
# Each HTTP client reads all trusted authorities, which takes 40 ms: they trust one, that nobody has the key of.
_AUTHORITIES = tempfile.TemporaryDirectory(prefix="asclepius-authorities-")
os.environ["SSL_CERT_FILE"] = str(server_certificate("authority.invalid", Path(_AUTHORITIES.name))[1])

# Generated examples have no time limit, which would fail on a busy machine alone, and are the same in each run: a new
# counterexample is found by `--hypothesis-profile=explore`, and not in the middle of somebody's change.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
settings.register_profile("repeatable", settings.get_profile("explore"), derandomize=True)
settings.load_profile("repeatable")

PROJECT = Path(__file__).resolve().parent.parent

# Coverage slows tests by half, and the generated examples of tests/properties threefold: it is measured in the
# tests of the engine itself, not those that use it behind the API, a served app or an index, or on hundreds of texts.
ENGINE_FOLDERS = frozenset({"unit", "integration", "faults"})
ENGINE = re.compile(
    r"^from (chat_app\.(agent|generation)|tools\.(catalogues|function_tool|tool_manager))\b", re.MULTILINE
)
SCRIPTED = re.compile(r"^from tests\.support\.engine\b", re.MULTILINE)
BEHIND = re.compile(
    r"^from (tests\.support\.(api_server|served|page_server|statements\.pairs)|tools\.guidelines)\b", re.MULTILINE
)


def tests_engine(path: Path) -> bool:
    text = path.read_text("utf-8")
    signs = [bool(pattern.search(text)) for pattern in (ENGINE, SCRIPTED)]
    return path.parent.name in ENGINE_FOLDERS and (all(signs) or (any(signs) and not BEHIND.search(text)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        choices=("only", "without"),
        help="run only the tests that measure the engine's coverage, or all others",
    )


_OFTEN = gc.get_threshold()


def pytest_configure() -> None:
    """Collect garbage rarely while modules are imported: they create hardly any."""
    gc.set_threshold(50_000)


def pytest_collection_finish() -> None:
    """Exempt imported modules from garbage collection, which speeds up thousands of generated examples."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_OFTEN)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    wanted = config.getoption("--engine", default=None)
    if wanted is None or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    return True if tests_engine(collection_path) != (wanted == "only") else None


SERVED_FIXTURES = frozenset({"served", "demo_page", "shared_page", "fake"})
SERVED_FUNCTIONS = frozenset({"asclepius", "serve", "fake_page"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start the whole app or run its command."""
    for item in items:
        called = getattr(getattr(item, "function", None), "__code__", None)
        functions = called.co_names if called is not None else ()
        if not SERVED_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) or not SERVED_FUNCTIONS.isdisjoint(
            functions
        ):
            item.add_marker(pytest.mark.served)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the log of each served app with the test that failed."""
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, (Served, ServedPage)):
                report.sections.append((f"Log of {name}", value.log.read_text("utf-8", errors="replace")[-5_000:]))
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with real FDA, RxNorm and guideline files; skip the test where it is absent."""
    folder = Path(os.environ.get("ASCLEPIUS_SHARED", PROJECT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"needs the shared data folder: {folder / 'data'} does not exist (ASCLEPIUS_SHARED)")
    return folder


@pytest.fixture(scope="session")
def milvus_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URI of a Milvus Lite server that all tests share: use unique collection names.

    ``make test-milvus`` supplies the URI of a Milvus server instead.
    """
    if given := os.environ.get("ASCLEPIUS_TEST_MILVUS_URI"):
        yield given
        return
    # Nobody reads its data again: writing what is left of some hundred collections would take seconds.
    with milvus_lite_server(tmp_path_factory.mktemp("milvus"), end=signal.SIGKILL) as uri:
        yield uri


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a Redis for this run, on a Unix socket."""
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Yield the URL of a PostgreSQL server, on a Unix socket."""
    if postgres_binary("postgres") is None:
        pytest.skip("no PostgreSQL on this machine (`make test-postgres` installs it)")
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'history.sqlite3'}"
    return await fresh_database(request.getfixturevalue("postgres"))


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield the whole app as ``asclepius serve`` runs it, with demonstration content; all tests share it."""
    with serve(tmp_path_factory.mktemp("served") / "data") as running:
        yield running
