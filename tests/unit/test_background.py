"""Work that is repeated in the background."""

from __future__ import annotations

import asyncio

import pytest

from chat_app.background import repeat
from chat_app.errors import SessionStoreUnavailable
from tests.support.waiting import until


async def test_no_error_ends_repeated_work_and_the_first_in_a_row_is_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = [SessionStoreUnavailable("away"), ValueError("Mrs Quillfeather"), ValueError(), None, KeyError()]
    done = 0

    async def work() -> None:
        nonlocal done
        done += 1
        if done <= len(errors) and (error := errors[done - 1]) is not None:
            raise error

    repeating = asyncio.create_task(repeat(work, 0.0, quiet=(SessionStoreUnavailable,)))
    await until(lambda: done > len(errors), what="the work")
    repeating.cancel()
    assert [record.getMessage().split(": ")[1].split("\n")[0] for record in caplog.records] == [
        "ValueError",
        "KeyError",
    ]
    assert "Quillfeather" not in caplog.text
