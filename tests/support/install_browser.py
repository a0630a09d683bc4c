"""Provide Chromium for the end-to-end tests, and curl for the documents: ``python -m tests.support.install_browser``.

Use what is installed, or install Debian's packages if permitted. Otherwise print what to install; the tests that need
it are then skipped by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.support.browser import SHELL, chromium_path
from tests.support.debian import install_packages


def driver_runs() -> bool:
    """Return whether Playwright's driver starts; it needs a library that minimal systems lack."""
    from playwright._impl._driver import compute_driver_executable

    node, _ = compute_driver_executable()
    return subprocess.run([node, "--version"], capture_output=True, check=False).returncode == 0


def main() -> int:
    named = "ASCLEPIUS_CHROMIUM" in os.environ
    if not shutil.which("curl"):
        install_packages("curl")
    if not driver_runs():
        install_packages("libatomic1")
    if not named and not shutil.which(SHELL):
        install_packages(SHELL, "fonts-dejavu-core")
    if not chromium_path():
        # Older releases of Debian have it in one piece alone.
        install_packages("chromium", "fonts-dejavu-core")
    if not chromium_path():
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
