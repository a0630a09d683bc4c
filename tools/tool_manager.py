"""The one registry and executor of tools.

``execute`` and ``stream`` end in exactly one ``FunctionOutput``: an unknown tool, bad arguments, a failure and a
timeout are errors in it. Calls run in parallel up to each tool's own limit.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any
from weakref import WeakKeyDictionary

from tools.function_tool import FunctionTool
from tools.types import (
    Function,
    FunctionDefinition,
    FunctionOutput,
    StreamingFunctionOutput,
    ToolPresentation,
    ToolProgress,
    ToolSource,
)

_THREADS = 32

Given = Mapping[str, Mapping[str, Any]]
"""Hidden parameters, by tool and name."""


class ToolManager:
    """Tools by name. A turn uses those that are registered when it begins."""

    def __init__(self, tools: Iterable[FunctionTool] = ()) -> None:
        self._tools: dict[str, FunctionTool] = {}
        self._limits: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = WeakKeyDictionary()
        # Own threads: a tool that blocks must not use up those of the event loop's default executor.
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="tool")
        for tool in tools:
            self.register(tool)

    def register(self, tool: FunctionTool) -> None:
        """Add a tool. Raises ``ValueError`` when the name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"A tool named {tool.name} is registered already.")
        tool.use_executor(self._executor)
        self._tools[tool.name] = tool

    def register_function_executor(self, name: str, executor: Callable[..., Any]) -> None:
        """Register a plain function under ``name``; its schema comes from its signature."""
        self.register(FunctionTool(executor, name=name))

    def names(self, source: ToolSource | None = None) -> tuple[str, ...]:
        """Return the names of all tools, or of those of one ``source``."""
        return tuple(name for name, tool in self._tools.items() if source in {None, tool.source})

    def taking(self, parameter: str) -> tuple[str, ...]:
        """Return the names of the tools with the hidden ``parameter``."""
        return tuple(name for name, tool in self._tools.items() if parameter in tool.hidden)

    def relevant(self, names: Iterable[str], text: str) -> tuple[str, ...]:
        """Return those of ``names`` that are worth declaring where the last questions are ``text``."""
        tools = [self._tools[name] for name in names if name in self._tools]
        return tuple(tool.name for tool in tools if tool.relevant_to is None or tool.relevant_to(text))

    def definitions(self, names: Iterable[str] | None = None) -> tuple[FunctionDefinition, ...]:
        """Return the declarations of all tools, or of those in ``names``, for the model."""
        wanted = self._tools if names is None else [name for name in names if name in self._tools]
        return tuple(self._tools[name].definition for name in wanted)

    def presentation(self, name: str) -> ToolPresentation:
        """How the calls of tool ``name`` are shown, also of one that the model made up."""
        tool = self._tools.get(name)
        return tool.presentation if tool is not None else ToolPresentation.of_name(name)

    async def stream(
        self, function: Function, *, allowed: Iterable[str] | None = None, given: Given | None = None
    ) -> AsyncGenerator[ToolProgress | FunctionOutput, None]:
        """Run one call and yield its progress, then its output. Tools outside ``allowed`` count as unknown.

        ``given`` sets hidden parameters of the tools that it names.
        """
        tool = self._tools.get(function.name)
        if tool is None or (allowed is not None and function.name not in set(allowed)):
            known = ", ".join(sorted(self._tools if allowed is None else allowed)) or "none"
            message = f"There is no tool of that name here. Tools that can be called: {known}."
            yield FunctionOutput(name=function.name, input=function, error=message)
            return
        async with self._limit(tool), aclosing(tool.astream(function, (given or {}).get(tool.name))) as items:
            async for item in items:
                yield item

    async def execute(self, function: Function, *, allowed: Iterable[str] | None = None) -> FunctionOutput:
        """Run one call and return its output."""
        return await StreamingFunctionOutput(self.stream(function, allowed=allowed)).drained()

    def _limit(self, tool: FunctionTool) -> asyncio.Semaphore:
        # A semaphore belongs to one event loop, and ``Runner.call`` runs a new loop each time.
        limits = self._limits.setdefault(asyncio.get_running_loop(), {})
        return limits.setdefault(tool.name, asyncio.Semaphore(tool.max_parallel))

    def close(self) -> None:
        """Release the threads without waiting for running calls."""
        self._executor.shutdown(wait=False, cancel_futures=True)
