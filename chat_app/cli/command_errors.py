"""Error messages of the command, one line each: for wrong usage, and for files that it cannot use."""

import errno
import threading
from typing import Any, Final, cast

import typer

from chat_app.settings import plain

USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__base__)
"""Base of what Typer raises for wrong usage. Typer does not export it, and moved it between versions."""


_REMEDIES: Final[dict[int | None, str]] = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there",
    errno.EACCES: "make it accessible to the user who runs this command",
    errno.EPERM: "make it accessible to the user who runs this command",
    errno.EROFS: "name a place that can be written",
}


def file_problem(error: OSError) -> str:
    """Return the line for a file that cannot be used; empty where the error is about no file."""
    if error.filename is None and error.errno != errno.ENOSPC:
        return ""
    name = "A file cannot be written" if error.filename is None else f"{error.filename} cannot be used"
    return f"asclepius: {name} ({error.strerror}): {_REMEDIES.get(error.errno, 'check the path')}."


def ignore_late_replies() -> None:
    """Print no traceback when SQLite's thread replies after a failed command has closed its event loop."""
    shown = threading.excepthook

    def show(raised: threading.ExceptHookArgs) -> None:
        if not (raised.exc_type is RuntimeError and str(raised.exc_value) == "Event loop is closed"):
            shown(raised)

    threading.excepthook = show


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
