"""Work in batches: what waits is done together, and one failure or one caller who leaves costs the others nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from chat_app.batches import Batches


class Doubling:
    """Doubles numbers once the gate is open; refuses a batch with a 13 as a whole, and 7 alone."""

    def __init__(self) -> None:
        self.gate, self.batches = asyncio.Event(), list[list[int]]()

    async def __call__(self, numbers: Sequence[int]) -> Sequence[int | Exception]:
        self.batches.append(list(numbers))
        await self.gate.wait()
        if 13 in numbers:
            raise LookupError
        return [KeyError(number) if number == 7 else number * 2 for number in numbers]


async def done(work: Doubling, numbers: Sequence[int], batches: Batches[int, int]) -> list[int | type[BaseException]]:
    first = asyncio.create_task(batches.do(0))
    rest = [asyncio.create_task(batches.do(number)) for number in numbers]
    await asyncio.sleep(0)
    work.gate.set()
    found = await asyncio.gather(first, *rest, return_exceptions=True)
    return [type(result) if isinstance(result, BaseException) else result for result in found[1:]]


async def test_what_waits_for_a_batch_goes_into_the_next_one_together() -> None:
    work = Doubling()
    batches: Batches[int, int] = Batches(work)
    working = asyncio.create_task(batches.do(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(batches.do(number)) for number in (2, 7, 4)]
    await asyncio.sleep(0)
    waiting[2].cancel()
    work.gate.set()
    assert await working == 2
    assert await waiting[0] == 4
    with pytest.raises(KeyError):
        await waiting[1]
    assert work.batches == [[1], [2, 7, 4]]
    assert await batches.do(5) == 10
    await batches.settle(60)


async def test_all_callers_of_a_batch_get_what_it_raises() -> None:
    work = Doubling()
    assert await done(work, [1, 13], Batches(work)) == [LookupError, LookupError]


async def test_after_a_failure_that_one_item_may_cause_each_is_done_apart() -> None:
    work = Doubling()
    assert await done(work, [1, 13, 2], Batches(work, apart=(LookupError,))) == [2, LookupError, 4]
    assert work.batches[-3:] == [[1], [13], [2]]
