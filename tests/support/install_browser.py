"""Sees to it that a Chromium is there for the end-to-end tests, and that Playwright can drive it.

Uses one that is installed; else Debian's package when this may install packages; else says what to install, and
the end-to-end tests are skipped by name. Run with ``python -m tests.support.install_browser``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.support.debian import install_packages

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """The path of an installed Chromium, or None. ``ASCLEPIUS_CHROMIUM`` names one explicitly."""
    named = os.environ.get("ASCLEPIUS_CHROMIUM")
    if named:
        return named
    return next((path for path in map(shutil.which, CANDIDATES) if path), None)


def driver_runs() -> bool:
    """True when Playwright's own program starts: it needs a library that a bare system does not have."""
    from playwright._impl._driver import compute_driver_executable

    node, _ = compute_driver_executable()
    return subprocess.run([node, "--version"], capture_output=True, check=False).returncode == 0


def main() -> int:
    wanted = [] if find_chromium() else ["chromium", "fonts-dejavu-core"]
    wanted += [] if driver_runs() else ["libatomic1"]
    if wanted:
        install_packages(*wanted)
    if not find_chromium():
        print(
            "No Chromium: install the package `chromium`, or set ASCLEPIUS_CHROMIUM; without it the end-to-end "
            "tests are skipped.",
            file=sys.stderr,
        )
    elif not driver_runs():
        print("Playwright cannot start: install the package `libatomic1`.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
