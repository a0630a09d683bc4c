"""Numbers, durations and dates as readers of a language write them."""

from datetime import datetime, timedelta

from babel import Locale
from babel.dates import format_datetime, format_timedelta
from babel.numbers import format_decimal


def shown_value(language: str, name: str, value: str | float) -> str:
    """Format the value of the placeholder ``name``: ``20,000``, or for one named ``seconds`` ``2 minutes``."""
    if isinstance(value, str):
        return value
    if name == "seconds":
        return format_timedelta(timedelta(seconds=value), threshold=1.5, locale=language)
    return format_decimal(value, locale=language)


def elapsed(language: str, milliseconds: float) -> str:
    """Format the time of a tool call, on one line: ``40 ms``, ``1.2 s``."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f}\u00a0ms"
    return f"{format_decimal(milliseconds / 1000, '#,##0.0', locale=language)}\u00a0s"


def own_name(language: str) -> str:
    """Return the name of a language in itself, such as ``Deutsch``."""
    return str(Locale.parse(language).display_name).capitalize()


def date_and_time(language: str, iso: str) -> str:
    """Format an ISO 8601 time; text that is none stays as it is."""
    try:
        return format_datetime(datetime.fromisoformat(iso), "long", locale=language)
    except ValueError:
        return iso
