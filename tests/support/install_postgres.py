"""Provide PostgreSQL for the tests that need it: ``python -m tests.support.install_postgres``.

Use an installed PostgreSQL, or install Debian's package if permitted. Otherwise print what to install.
"""

from __future__ import annotations

import sys

from tests.support.debian import install_packages
from tests.support.postgres import postgres_binary


def main() -> int:
    if postgres_binary("postgres") is None:
        install_packages("postgresql")
    if postgres_binary("postgres") is None:
        print("No PostgreSQL: install the package `postgresql`.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
