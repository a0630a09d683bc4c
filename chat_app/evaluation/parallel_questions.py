"""Ask the questions of an evaluation several at a time, with progress."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Question = TypeVar("Question")
Judged = TypeVar("Judged")


async def ask_in_parallel(
    questions: Sequence[Question],
    judge: Callable[[Question], Awaitable[Judged]],
    *,
    parallel: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Judged]:
    """Return what ``judge`` finds for each question, in their order, ``parallel`` questions at a time."""
    limit = asyncio.Semaphore(parallel)
    done = 0

    async def one(question: Question) -> Judged:
        nonlocal done
        async with limit:
            judged = await judge(question)
        done += 1
        if progress is not None:
            progress(done, len(questions))
        return judged

    return await asyncio.gather(*map(one, questions))
