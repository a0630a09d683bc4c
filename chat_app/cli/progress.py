"""Progress at the shell: bars on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from chat_app.bootstrap import App, LoadProgress


class ShowProgress(Protocol):
    """A callback for the current item, the amount done, and the total if known."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Show that ``done`` of ``total`` are complete."""
        ...


@contextmanager
def progress_bars() -> Generator[ShowProgress, None, None]:
    """Show one bar per item on standard error."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=False) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int = 0, total: int | None = None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


class LoadingBars:
    """Show the loading of ``app`` from first to last step, then print ``loaded``."""

    def __init__(self, app: App, *, loaded: str) -> None:
        self._app = app
        self._loaded = loaded
        self._open = ExitStack()
        self._bars: ShowProgress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def show(self, progress: LoadProgress | None) -> None:
        """Show the current state of loading; None when it is complete."""
        if progress is None:
            self._open.close()
            for line in self._app.load_problems or [self._loaded]:
                sys.stderr.write(f"{line}\n")
            return
        if self._bars is None:
            self._bars = self._open.enter_context(progress_bars())
        self._bars(progress.what, progress.done, progress.total)


class _Lines:
    """One line for each new item."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        del done, total
        if what != self._last:
            self._last = what
            sys.stderr.write(f"{what}\n")
            sys.stderr.flush()
