"""Sees to it that a PostgreSQL is there for the tests that need one.

Uses one that is installed; else Debian's package when this may install packages; else says what to install. Run with
``python -m tests.support.install_postgres``.
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
