"""What ``make test`` runs: all tests on all cores, those of the engine with what they cover.

A test that fails is run once more, alone: two cores full of browsers, servers and models hold up what is asked to come
in time. It has to pass then; both runs are in the output. Many failures at once are no such matter and stand as they
are. The exit code is 0 when every test has passed and the engine is covered to the last branch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MOST_AGAIN = 5
PROJECT = Path(__file__).resolve().parent.parent
# One more than there are cores: while a server or a browser starts, its test waits.
WORKERS = (os.cpu_count() or 1) + 1
PARALLEL = ("-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder")
"""The browser's files come first by name; the short unit tests at the end keep all cores busy to the last."""
TRACED = ("--cov", "--cov-report=")


def pytest(*options: str) -> int:
    """0 when all passed, 1 when some failed, else what pytest says of itself."""
    return subprocess.run([sys.executable, "-m", "pytest", *options], cwd=PROJECT, check=False).returncode


def failed() -> int:
    """How many tests have failed and not passed since the cache was cleared."""
    try:
        return len(json.loads((PROJECT / ".pytest_cache/v/cache/lastfailed").read_text()))
    except OSError:
        return 0


def main() -> int:
    codes = {
        pytest(*PARALLEL, "--engine", "without", "--cache-clear"),
        pytest(*PARALLEL, "--engine", "only", *TRACED),
    }
    if codes <= {0, 1} and 1 in codes and 0 < failed() <= MOST_AGAIN:
        print(f"\n{failed()} failed beside others. Once more, one at a time:", flush=True)
        codes = {pytest("--last-failed", "--last-failed-no-failures", "none", *TRACED, "--cov-append")}
    report = [sys.executable, "-m", "coverage", "report", "--show-missing", "--skip-covered", "--fail-under=100"]
    covered = subprocess.run(report, cwd=PROJECT, check=False).returncode
    return int(any(codes) or covered != 0)


if __name__ == "__main__":
    sys.exit(main())
