"""The guard that keeps patients' text out of logs, for the duration of a block."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from chat_app.tracing.log_guard import TALKATIVE, guard_logs


@contextmanager
def guarded_logs() -> Iterator[None]:
    """Install the guard, and remove it at the end of the block."""
    make = logging.getLogRecordFactory()
    levels = {name: logging.getLogger(name).level for name in TALKATIVE}
    guard_logs()
    try:
        yield
    finally:
        logging.setLogRecordFactory(make)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
