"""Make tools from every kind of function."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial

from tools import FunctionTool, StreamingFunctionOutput


def double(dose: int) -> int:
    """Double a dose."""
    return dose * 2


async def double_later(dose: int) -> int:
    """Double a dose after asking elsewhere."""
    await asyncio.sleep(0)
    return dose * 2


def titrate(dose: int) -> Iterator[str]:
    """Titrate a dose in steps."""
    yield f"start at {dose} mg"
    yield f"reach {dose * 2} mg"


async def titrate_later(dose: int) -> AsyncIterator[str]:
    """Titrate a dose in steps, asking elsewhere."""
    yield f"start at {dose} mg"
    yield f"reach {dose * 2} mg"


def scale(factor: int, dose: int) -> int:
    """Scale a dose."""
    return dose * factor


class Rounding:
    """Rounds doses to what a tablet holds."""

    def __init__(self, tablet: int) -> None:
        self._tablet = tablet

    def __call__(self, dose: int) -> int:
        """Round a dose to whole tablets."""
        return round(dose / self._tablet) * self._tablet


for function in (double, double_later, titrate, titrate_later, partial(scale, 3), Rounding(tablet=250)):
    tool = FunctionTool(function)
    print(f"{tool.name}: {tool.get_function_type()} -> {tool.call(dose=500).output}")

running = StreamingFunctionOutput(FunctionTool(titrate).astream(dose=500))
for progress in running.stream():
    print("progress:", progress.item)
print("output:", running.function_output.output)
