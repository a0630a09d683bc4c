"""Fixtures shared by all tests: the shared data folder and the real services, started once for a run."""

from __future__ import annotations

import gc
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import Served, serve
from tests.support.services import milvus_lite_server, redis_server

# Chainlit writes where it is imported: into a folder of this run's, never into the working directory.
# It is gone with the process.
_CHAINLIT_ROOT = tempfile.TemporaryDirectory(prefix="asclepius-chainlit-")
os.environ.setdefault("CHAINLIT_APP_ROOT", _CHAINLIT_ROOT.name)

PROJECT = Path(__file__).resolve().parent.parent

# Tracing takes half as much time again, and three times as much for thousands of generated examples (tests/properties).
ENGINE_FOLDERS = frozenset({"unit", "integration", "faults"})
ENGINE = re.compile(
    r"^from (chat_app\.(agent|generation)|tools\.(function_tool|tool_manager)|tests\.support\.engine)\b", re.MULTILINE
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        choices=("only", "without"),
        help="only the tests by which the engine's coverage is measured, or all others",
    )


_OFTEN = gc.get_threshold()


def pytest_configure() -> None:
    """While all is imported, hardly anything is garbage."""
    gc.set_threshold(50_000)


def pytest_collection_finish() -> None:
    """What is imported by now stays: thousands of generated examples need not have it looked through for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_OFTEN)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    wanted = config.getoption("--engine", default=None)
    if wanted is None or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    tests_engine = collection_path.parent.name in ENGINE_FOLDERS and ENGINE.search(collection_path.read_text("utf-8"))
    return True if bool(tests_engine) != (wanted == "only") else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real FDA, RxNorm and guideline files; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("ASCLEPIUS_SHARED", PROJECT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("the shared data folder is not here (ASCLEPIUS_SHARED)")
    return folder


@pytest.fixture(scope="session")
def milvus_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Milvus Lite server of this run's own. Tests share it: use collection names of your own.

    ``make test-milvus`` gives the address of a Milvus server instead.
    """
    if given := os.environ.get("ASCLEPIUS_TEST_MILVUS_URI"):
        yield given
        return
    with milvus_lite_server(tmp_path_factory.mktemp("milvus")) as uri:
        yield uri


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis of this run's own, on a Unix socket."""
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The whole app as ``asclepius serve`` runs it, with the demonstration content; shared by the run."""
    with serve(tmp_path_factory.mktemp("served") / "data") as running:
        yield running
