"""Progress at the shell: bars on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chat_app.bootstrap import App, LoadProgress


ShowProgress = Callable[[str, int, int | None], None]
"""Shows the current item, the amount done, and the total if known."""


@contextmanager
def progress_bars() -> Generator[ShowProgress, None, None]:
    """Show one bar per item on standard error."""
    if not sys.stderr.isatty():
        printed = ""

        def print_new(what: str, _done: int, _total: int | None) -> None:
            nonlocal printed
            if what != printed:
                printed = what
                sys.stderr.write(f"{what}\n")
                sys.stderr.flush()

        yield print_new
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=False) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


@contextmanager
def loading_bars(*, loaded: str) -> Generator[Callable[[App, LoadProgress | None], None], None, None]:
    """Yield a listener that shows the loading of an app from first to last step, then prints ``loaded``."""
    with ExitStack() as opened:
        bars: ShowProgress | None = None

        def show(app: App, progress: LoadProgress | None) -> None:
            nonlocal bars
            if progress is None:
                opened.close()
                for line in app.load_problems or [loaded]:
                    sys.stderr.write(f"{line}\n")
                return
            bars = bars or opened.enter_context(progress_bars())
            bars(progress.what, progress.done, progress.total)

        yield show
