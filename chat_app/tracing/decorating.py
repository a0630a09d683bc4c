"""Shared by both class decorators: find the generators among the attributes of a new object."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from chat_app.generation.generator import Generator

C = TypeVar("C", bound=type)


def on_construction(cls: C, attributes: Sequence[str] | None, found: Callable[[str, Generator[Any]], object]) -> C:
    """Return ``cls``, which then calls ``found`` for each generator that a new object has as an attribute.

    ``attributes`` restricts it to these; constructing an object raises ``TypeError`` when one of them is no generator.
    """
    build: Callable[..., None] = cls.__init__  # type: ignore[misc]  # read from the class, not from an object

    @functools.wraps(build)
    def build_and_trace(self: Any, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        for name in attributes if attributes is not None else tuple(vars(self)):
            value = getattr(self, name, None)
            if isinstance(value, Generator):
                found(name, value)
            elif attributes is not None:
                raise TypeError(f"{cls.__name__}.{name} is to be traced, but is not a Generator.")

    type.__setattr__(cls, "__init__", build_and_trace)
    return cls
