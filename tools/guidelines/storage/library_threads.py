"""The library's own threads: disk and index block, and the event loop must not."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tools.errors import ToolUnavailable

T = TypeVar("T")


class Threads:
    """Calls blocking functions, each in a thread; what the disk refuses becomes an error that says so."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=4, thread_name_prefix="guidelines")

    async def __call__(self, call: Callable[[], T], *, seconds: float | None = None) -> T:
        """Return the result of ``call``. Raises ``ToolUnavailable`` when it does not come within ``seconds``."""
        future = asyncio.get_running_loop().run_in_executor(self._executor, call)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise ToolUnavailable(
                f"The guideline index did not answer within {seconds:.0f} s. "
                "Check that the Milvus server of MILVUS_URI runs, or run `asclepius doctor`."
            ) from None
        except OSError as error:
            raise ToolUnavailable(
                f"The guideline folder cannot be read or written ({error.strerror}). Check the disk and its rights."
            ) from None

    def close(self) -> None:
        """Take no more calls; those that still run are left to their own time limits."""
        self._executor.shutdown(wait=False, cancel_futures=True)
