"""Turns of every kind, one after the other, leave nothing behind; ``make bench`` plays 5,000 of them."""

from __future__ import annotations

import pytest

from tests.benchmarks.soak import soak


@pytest.mark.serial
async def test_turns_grow_neither_memory_nor_tasks_nor_connections(redis_url: str) -> None:
    growth = await soak(redis_url, turns=250)
    assert growth.tasks <= 0
    assert growth.open_files <= 2
    assert growth.memory_kb < 4_000, "16 kB a turn would be a leak; less is the allocator's"
