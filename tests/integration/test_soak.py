"""Turns of every kind, one after the other, leave nothing behind; ``make bench`` plays 5,000 of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.page_server import PROJECT


@pytest.mark.slow
def test_turns_grow_neither_memory_nor_tasks_nor_connections(redis_url: str) -> None:
    """In a process of its own: no other test has used its memory."""
    command = [sys.executable, "-m", "tests.benchmarks.soak", redis_url, "250"]
    growth = json.loads(subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, check=True).stdout)
    assert growth["tasks"] <= 0
    assert growth["open_files"] <= 2
    assert growth["memory_kb"] < 4_000, "16 kB a turn would be a leak; less is the allocator's"
