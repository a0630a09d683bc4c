"""Describes wrong usage of the command in one line: what is wrong, what is allowed, and how to list the options."""

from typing import Any, Final, cast

import typer

from chat_app.settings import plain

USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__base__)
"""Base of what Typer raises for wrong usage. Typer does not export it, and moved it between versions."""


def described(error: Any) -> str:
    """Return the line for a usage error; empty where the help was shown instead."""
    said = _range_of(error) or error.format_message()
    if not said:
        return ""
    said = plain(said).rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "asclepius"
    return f"{command}: {said}. Run `{command} --help` for its options."


def _range_of(error: Any) -> str:
    """Return which numbers the option allows; empty for another error."""
    parameter: Any = getattr(error, "param", None)
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if error.__cause__ is None or (least is None and most is None):
        return ""
    bounds = [f"from {least}" if most is not None else f"of at least {least}"] if least is not None else []
    bounds += [f"to {most}" if least is not None else f"of at most {most}"] if most is not None else []
    return f"{parameter.opts[0]} must be a number {' '.join(bounds)}"
