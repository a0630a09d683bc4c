"""Run the tests: ``python -m tests.run`` (all) or ``python -m tests.run fast``.

All tests run once. A parallel pass takes everything but the tests marked ``serial``; a second parallel pass takes the
engine's tests with coverage; a last pass runs the serial tests one at a time. The exit code is 0 when every test has
passed and every branch of the engine is covered.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.forked import FOLDER

PROJECT = Path(__file__).resolve().parent.parent
# One more than there are cores: while a server or a browser starts, its test waits.
WORKERS = (os.cpu_count() or 1) + 1
PARALLEL = ("-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder")
"""The browser's files come first by name; the short unit tests at the end keep all cores busy to the last."""
TRACED = ("--cov", "--cov-report=")
FAST = "not (serial or served or e2e or slow)"
NO_TESTS = 5
"""Pytest's exit code when nothing was selected."""
# The tests start hundreds of processes: each would compile all of its modules again.
COMPILING_ONCE = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


_FORKS = tempfile.TemporaryDirectory(prefix="asclepius-forks-")
ONE_FORK_SERVER = {FOLDER: _FORKS.name, "TESTS_RUN": str(os.getpid())}
"""All passes share it."""


def run_pytest(*options: str) -> bool:
    """Run pytest; return whether every selected test passed."""
    command = [sys.executable, "-m", "pytest", *options]
    code = subprocess.run(command, cwd=PROJECT, env=COMPILING_ONCE | ONE_FORK_SERVER, check=False).returncode
    return code in {0, NO_TESTS}


def run_fast() -> bool:
    """Run the unit, property and integration tests that need neither a browser nor the served app."""
    return run_pytest(*PARALLEL, "-m", FAST, "tests/integration", "tests/properties", "tests/unit")


def serial_files() -> list[str]:
    """Return the files with serial tests: importing all others would take longer than these tests."""
    return [str(path) for path in (PROJECT / "tests").rglob("test_*.py") if "mark.serial" in path.read_text("utf-8")]


def run_all() -> bool:
    """Run every test and check the coverage of the engine."""
    passed = [
        run_pytest(*PARALLEL, "-m", "not serial", "--engine", "without"),
        run_pytest(*PARALLEL, "-m", "not serial", "--engine", "only", *TRACED),
    ]
    if alone := serial_files():
        passed.append(run_pytest("-m", "serial", *TRACED, "--cov-append", *alone))
    report = [sys.executable, "-m", "coverage", "report", "--show-missing", "--skip-covered", "--fail-under=100"]
    covered = subprocess.run(report, cwd=PROJECT, check=False).returncode == 0
    return all(passed) and covered


if __name__ == "__main__":
    sys.exit(0 if (run_fast() if sys.argv[1:] == ["fast"] else run_all()) else 1)
