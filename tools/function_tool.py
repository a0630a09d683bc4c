"""One function as a tool: sync, async, sync generator or async generator, called in one way.

``astream`` is the only place that runs a function; ``acall`` drains it, and ``call`` and ``stream`` are their forms
for code without an event loop. Every call ends in exactly one ``FunctionOutput``: with its result, or with an error
that the model can act on. Sync functions run in a thread; a generator's items are progress, its last item is the
result. Time, number of items and size of the result are bounded. When the caller stops reading, the function is
cancelled and generators are closed.
"""

import asyncio
import contextvars
import inspect
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import aclosing
from functools import cache, partial
from typing import Any, assert_never
from uuid import uuid4

import orjson
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tools.errors import ToolError, ToolTimeout, ToolUnavailable
from tools.sync_calls import iterate_sync, run_sync
from tools.tool_schema import ToolSchema, name_of, unwrapped
from tools.types import (
    Function,
    FunctionDefinition,
    FunctionOutput,
    FunctionType,
    Phrase,
    StreamingFunctionOutput,
    ToolPresentation,
    ToolProgress,
    ToolResult,
    ToolSource,
)

logger = logging.getLogger(__name__)

_END = object()
_RETRY_PAUSE = 0.2


class FunctionTool:
    """A function that the model may call.

    Args:
        fn: The function; its signature, type hints and docstring give the schema.
        schema: Another schema, whose parsed arguments ``fn`` takes.
        presentation: How readers see its calls; derived from the name when missing.
        source: The source that readers switch the tool off with; None keeps it on.
        relevant_to: Whether the tool is declared where the last questions are this text; None declares it always.
        timeout: Limit of a whole call in seconds.
        max_items: Limit of a generator's items.
        max_output_chars: Limit of the JSON that goes to the model.
        idempotent: Whether a call may be repeated, which it is once after ``ToolUnavailable``.
        hidden: Parameters that the app sets; the model neither sees nor sets them.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        schema: ToolSchema | None = None,
        presentation: ToolPresentation | None = None,
        source: ToolSource | None = None,
        relevant_to: Callable[[str], bool] | None = None,
        timeout: float = 20.0,
        max_items: int = 1_000,
        max_output_chars: int = 200_000,
        max_parallel: int = 4,
        idempotent: bool = False,
        hidden: Collection[str] = (),
    ) -> None:
        self.fn = fn
        self.name = name or name_of(fn)
        self.presentation = presentation or ToolPresentation.of_name(self.name)
        self.source = source
        self.relevant_to = relevant_to
        self.timeout = timeout
        self.max_items = max_items
        self.max_output_chars = max_output_chars
        self.max_parallel = max_parallel
        self.idempotent = idempotent
        self._executor: Executor | None = None
        self.hidden = frozenset(hidden)
        self._schema = schema or ToolSchema(fn, hidden=self.hidden)
        self.definition = FunctionDefinition(
            name=self.name,
            description=description or self._schema.description,
            parameters=self._schema.parameters,
            strict=self._schema.strict,
        )

    def use_executor(self, executor: Executor) -> None:
        """Run sync functions in ``executor`` unless one was given before."""
        self._executor = self._executor or executor

    def get_function_type(self) -> FunctionType:
        """Return how the function runs; of a partial or a callable object, that of the function behind it."""
        target = unwrapped(self.fn)
        kinds = (target, type(target).__call__)
        if any(map(inspect.isasyncgenfunction, kinds)):
            return "async_generator"
        if any(map(inspect.isgeneratorfunction, kinds)):
            return "sync_generator"
        return "async" if any(map(inspect.iscoroutinefunction, kinds)) else "sync"

    def is_generator_function(self) -> bool:
        """Return whether the function yields its result in steps."""
        return self.get_function_type() in {"sync_generator", "async_generator"}

    async def astream(
        self, function: Function | None = None, given: Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> AsyncGenerator[ToolProgress | FunctionOutput, None]:
        """Run one call: yield its progress items, then its output.

        The call is the ``function`` that the model asked for, or else has these ``arguments``. ``given`` are values of
        hidden parameters; raises ``TypeError`` for another one.
        """
        if not self.hidden.issuperset(given or ()):
            raise TypeError(f"{self.name}: only hidden parameters can be given")
        call = function or self._function(arguments)
        started = time.perf_counter()
        deadline = asyncio.get_running_loop().time() + self.timeout
        streaming = self.is_generator_function()
        fields: dict[str, Any]
        try:
            kwargs = self._schema.parse(call.arguments) | dict(given or {})
            result: object = None
            async with aclosing(self._attempts(kwargs, deadline)) as items:
                async for progress, item in items:
                    if progress:
                        data = self._bounded(item).data
                        yield ToolProgress(call_id=call.call_id, name=self.name, item=data)
                    else:
                        result = item
            output = self._bounded(result)
            fields = {"output": output.data, "passages": output.passages, "subject": output.subject}
            fields["summary"] = str(output.summary)
            if isinstance(output.summary, Phrase):
                fields["summary_phrase"] = output.summary
        except ToolError as failure:
            fields = {"error": str(failure), "error_code": failure.code, "error_params": dict(failure.params)}
        except Exception as failure:  # noqa: BLE001 - the boundary to code that is not ours
            logger.warning("Tool %s failed: %s", self.name, type(failure).__name__)
            message = f"The tool {self.name} failed. It may work with other arguments; do not rely on its result."
            fields = {"error": message, "error_code": "failed"}
        elapsed = (time.perf_counter() - started) * 1000
        yield FunctionOutput(name=self.name, input=call, is_streaming=streaming, duration_ms=elapsed, **fields)

    async def acall(self, function: Function | None = None, /, **arguments: Any) -> FunctionOutput:
        """Return the output of one call; takes what ``astream`` takes."""
        return await StreamingFunctionOutput(self.astream(function, **arguments)).drained()

    def call(self, function: Function | None = None, /, **arguments: Any) -> FunctionOutput:
        """Like ``acall``, without an event loop; raises ``RuntimeError`` inside one."""
        return run_sync(lambda: self.acall(function, **arguments))

    def stream(self, function: Function | None = None, /, **arguments: Any) -> Iterator[ToolProgress | FunctionOutput]:
        """Like ``astream``, without an event loop; raises ``RuntimeError`` inside one."""
        return iterate_sync(self.astream(function, **arguments))

    def _function(self, arguments: dict[str, Any]) -> Function:
        body = orjson.dumps(arguments, default=to_jsonable_python).decode()
        return Function(call_id=f"call_{uuid4().hex}", name=self.name, arguments=body)

    async def _attempts(self, kwargs: dict[str, Any], deadline: float) -> AsyncGenerator[tuple[bool, object], None]:
        """Run once, and again when the tool was unavailable, is idempotent and has shown nothing yet."""
        final = not self.idempotent
        while True:
            try:
                async with aclosing(self._run(kwargs, deadline)) as items:
                    async for item in items:
                        final = final or item[0]
                        yield item
                return
            except ToolUnavailable:
                if final or asyncio.get_running_loop().time() + _RETRY_PAUSE >= deadline:
                    raise
                final = True
                await asyncio.sleep(_RETRY_PAUSE)

    async def _run(self, kwargs: dict[str, Any], deadline: float) -> AsyncGenerator[tuple[bool, object], None]:
        """Yield ``(True, item)`` for progress and last ``(False, result)``."""
        kind = self.get_function_type()
        match kind:
            case "sync":
                yield False, await self._within(deadline, asyncio.wrap_future(self._submit(self.fn, **kwargs)))
            case "async":
                yield False, await self._within(deadline, self.fn(**kwargs))
            case "sync_generator" | "async_generator":
                made = self.fn(**kwargs)
                async with aclosing(self._in_thread(made) if kind == "sync_generator" else made) as items:
                    async for item in self._items(items, deadline):
                        yield item
            case _:
                assert_never(kind)

    async def _items(self, items: AsyncGenerator[object, None], deadline: float) -> AsyncIterator[tuple[bool, object]]:
        last: object = _END
        # One more than the limit, because the end is seen only when another item is requested.
        for _ in range(self.max_items + 1):
            try:
                item = await self._within(deadline, anext(items))
            except StopAsyncIteration:
                yield False, None if last is _END else last
                return
            if last is not _END:
                yield True, last
            last = item
        raise ToolError(f"The tool {self.name} gave more than {self.max_items} items; ask for less.")

    async def _within(self, deadline: float, awaitable: Any) -> Any:
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                return await awaitable
        except TimeoutError:
            if not limit.expired():
                # Raised by the function: something it waited for took too long.
                raise
            raise ToolTimeout(f"The tool {self.name} did not finish within {self.timeout:g} s.") from None

    def _submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Start ``fn`` in a thread, with the caller's context variables."""
        context = contextvars.copy_context()
        return (self._executor or _own_threads()).submit(context.run, partial(_in_future, fn, *args, **kwargs))

    async def _in_thread(self, generator: Generator[object, None, None]) -> AsyncGenerator[object, None]:
        """Iterate ``generator`` in a thread; close it in a thread when it is left before its end."""
        step: Future[object] | None = None
        item: object = None
        try:
            while item is not _END:
                step = self._submit(next, generator, _END)
                item = await asyncio.wrap_future(step)
                if item is not _END:
                    yield item
        finally:
            if step is not None and not step.done():
                # A step that runs cannot be interrupted; its thread closes the generator as soon as it returns.
                step.add_done_callback(lambda _: _close(generator))
            elif item is not _END:
                # Not awaited: the caller may have been stopped because every thread is busy.
                self._submit(_close, generator)

    def _bounded(self, result: object) -> ToolResult:
        if not isinstance(result, ToolResult):
            try:
                result = ToolResult(data=to_jsonable_python(result, inf_nan_mode="null"))
            except PydanticSerializationError as error:
                raise ToolError("The tool gave a result that cannot be written as JSON.") from error
        size = len(orjson.dumps(result.data))
        if size > self.max_output_chars:
            raise ToolError(f"The result of {self.name} is too large ({size} characters); ask for less.")
        return result


def _in_future(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``fn``; a ``StopIteration`` cannot pass a future, and a ``SystemExit`` must not end the app."""
    try:
        return fn(*args, **kwargs)
    except (StopIteration, SystemExit) as error:
        raise RuntimeError(f"the function raised {type(error).__name__}") from error


def _close(generator: Generator[object, None, None]) -> None:
    try:
        generator.close()
    except Exception as failure:  # noqa: BLE001 - the boundary to code that is not ours
        logger.warning("A generator tool did not close cleanly: %s", type(failure).__name__)


@cache
def _own_threads() -> Executor:
    """Return the threads of tools that are called directly; a ``ToolManager`` has its own."""
    return ThreadPoolExecutor(thread_name_prefix="tool")
