"""Listens to one generator's calls without the generator knowing.

``watch`` puts itself before ``astream`` and ``acall`` of one object. What the caller sees stays the same: the same
events, the same output, the same exceptions; a watcher that fails is left out of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chat_app.events import Outcome
from chat_app.tracing.protocols import TracedGenerator, TracedOutput
from chat_app.tracing.redaction import describe_error

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class WatchedCall:
    """One call, as it was made and as it went."""

    generator: TracedGenerator
    items: tuple[Mapping[str, Any], ...]
    prompt_kwargs: Mapping[str, Any]
    fields: Mapping[str, Any]
    """Fields of the request that were given with the call."""
    time_stamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    error_type: str | None = None
    """Type of the exception that ended it."""
    stopped: bool = False
    """True when the caller left before the end."""
    seconds_to_first_event: float | None = None
    seconds: float = 0.0
    _began: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        return time.perf_counter() - self._began


Ended = Callable[[TracedOutput | None], None]
"""Told the settled output, or None when the call could not even begin."""
Watcher = Callable[[WatchedCall], Ended | None]
"""Told of each call as it begins; what it returns is called when the call has ended. Neither may block."""


def watch(generator: TracedGenerator, watcher: Watcher) -> Callable[[], None]:
    """Has ``watcher`` told of every call from now on; call the result to end that."""
    owner = getattr(vars(generator).get("astream"), "__self__", None)
    watched = owner if isinstance(owner, _Watched) else _Watched(generator)
    watched.watchers.append(watcher)

    def end() -> None:
        if watcher in watched.watchers:
            watched.watchers.remove(watcher)
        if not watched.watchers:
            watched.let_go()

    return end


class _Watched:
    """Stands before the methods of one generator."""

    def __init__(self, generator: TracedGenerator) -> None:
        self.watchers: list[Watcher] = []
        self._generator = generator
        self._astream, self._acall = generator.astream, generator.acall
        vars(generator).update(astream=self.astream, acall=self.acall)

    def let_go(self) -> None:
        for name in ("astream", "acall"):
            vars(self._generator).pop(name, None)

    def astream(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> Any:
        call = WatchedCall(self._generator, tuple(items), dict(prompt_kwargs or {}), fields)
        ended = [end for watcher in tuple(self.watchers) if (end := _guarded(watcher, call)) is not None]
        try:
            output = self._astream(items=items, prompt_kwargs=prompt_kwargs, **fields)
        except Exception as error:
            call.error_type, call.seconds = type(error).__name__, call.elapsed()
            for end in ended:
                _guarded(end, None)
            raise
        return _WatchedOutput(output, call, ended)

    async def acall(
        self, *, items: Sequence[Mapping[str, Any]], prompt_kwargs: Mapping[str, Any] | None = None, **fields: Any
    ) -> Any:
        # The generator's own ``acall`` goes through ``astream`` above.
        output = await self._acall(items=items, prompt_kwargs=prompt_kwargs, **fields)
        return output.unwatched if isinstance(output, _WatchedOutput) else output


class _WatchedOutput:
    """An output that tells when it is settled; for everything else it is the output that it stands for."""

    unwatched: TracedOutput
    _call: WatchedCall
    _ended: list[Ended]

    def __init__(self, output: TracedOutput, call: WatchedCall, ended: list[Ended]) -> None:
        self.__dict__.update(unwatched=output, _call=call, _ended=ended)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unwatched, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.unwatched, name, value)

    async def stream_events(self) -> AsyncGenerator[Any, None]:
        call = self._call
        try:
            async with aclosing(self.unwatched.stream_events()) as events:
                async for event in events:
                    if call.seconds_to_first_event is None:
                        call.seconds_to_first_event = call.elapsed()
                    yield event
        except (GeneratorExit, asyncio.CancelledError):
            call.stopped = True
            raise
        except Exception as error:
            call.error_type = type(error).__name__
            raise
        finally:
            call.seconds = call.elapsed()

    def settle(self, fold: Any, outcome: Outcome) -> None:
        self.unwatched.settle(fold, outcome)
        ended = list(self._ended)
        self._ended.clear()
        for end in ended:
            _guarded(end, self.unwatched)


def _guarded(tell: Callable[[Any], Any], about: object) -> Any:
    try:
        return tell(about)
    except Exception as error:  # noqa: BLE001 - what listens must not break what it listens to
        logger.warning("A call could not be traced: %s", describe_error(error))
        return None
