"""What ``asclepius doctor`` says about the version of Redis."""

from __future__ import annotations

import pytest

from chat_app.cli.doctor import lacking_fixes


@pytest.mark.parametrize(
    ("version", "lacks"),
    [
        ("6.2.14", True),
        ("6.2.20", False),
        ("7.0.15", True),
        ("7.2.10", True),
        ("7.2.11", False),
        ("7.4.5", True),
        ("8.0.4", False),
        ("8.2.1", True),
        ("8.4.0", False),
    ],
)
def test_a_redis_without_the_fixes_is_named(version: str, *, lacks: bool) -> None:
    assert ("7.2.11" in lacking_fixes(version)) is lacks
