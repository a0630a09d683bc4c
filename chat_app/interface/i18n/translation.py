"""Texts for readers by message id, from the gettext catalogues in ``locale``; numbers and dates as readers write them.

A language is one folder with a ``.po`` file; adding it needs no code. Ids are codes such as ``outcome.stopped``, never
English sentences. Only the phrases of tools, which any installation may add, are found by their English text. English
is the fallback. Text from a source, a model or a reader is never translated.
"""

import gettext
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final

from babel import Locale, negotiate_locale
from babel.dates import format_datetime, format_timedelta
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from chat_app.events import Notice, Outcome
from tools.errors import ToolErrorCode
from tools.types import Phrase

Language = str
"""The name of a catalogue, such as ``de``."""

ENGLISH: Final[Language] = "en"
SCRIPTS: Final = "page."
"""Prefix of the ids that the page's scripts use."""
_LOCALE: Final = Path(__file__).with_name("locale")
_FILE: Final = Path("LC_MESSAGES", "asclepius.po")
_TOOL: Final = "tool"
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_PLURAL_SAMPLES: Final = range(101)


@cache
def languages() -> tuple[Language, ...]:
    """Return the languages that have a catalogue."""
    return tuple(sorted(folder.name for folder in _LOCALE.iterdir() if (folder / _FILE).is_file()))


def language_of(tags: str | None) -> Language:
    """Return the first language with a catalogue in ``tags``, such as ``de-AT`` or ``fr, de;q=0.8``."""
    wanted = [tag.partition(";")[0].strip().replace("-", "_") for tag in (tags or "").split(",")]
    found = negotiate_locale(wanted, languages()) or ENGLISH
    # Babel returns the tag as it was asked for.
    return next(language for language in languages() if language.lower() == found.lower())


@cache
def catalogue(language: Language) -> Catalog:
    """Read the catalogue of ``language``."""
    with (_LOCALE / language / _FILE).open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


@cache
def _translations(language: Language) -> gettext.GNUTranslations:
    compiled = BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    translations = gettext.GNUTranslations(compiled)
    if language != ENGLISH:
        translations.add_fallback(_translations(ENGLISH))
    return translations


def say(language: Language, message_id: str, /, **values: str | float) -> str:
    """Return the message in ``language`` with its placeholders filled; ``count`` selects its plural form."""
    translations = _translations(language)
    count = values.get("count")
    if isinstance(count, int):
        text = translations.ngettext(message_id, message_id, count)
    else:
        text = translations.gettext(message_id)
    return _filled(language, text, values)


def say_notice(language: Language, notice: Notice) -> str:
    """Return the text of ``notice`` in ``language``."""
    values = dict(notice.params)
    if notice.code == "starting":
        values["what"] = say(language, f"loading.{values['part']}")
    return say(language, f"notice.{notice.code}", **values)


def say_outcome(language: Language, outcome: Outcome) -> str:
    """Return how a turn ended, in ``language``; the outcome's own message where it has no code."""
    if outcome.code == "completed":
        return outcome.message
    return say(language, f"outcome.{outcome.code}", **outcome.params)


def say_tool_error(language: Language, code: ToolErrorCode, params: Mapping[str, str | int], message: str) -> str:
    """Return why a tool failed, in ``language``; a failure without a text shows its ``message``."""
    return message if code == "other" else say(language, f"tool_error.{code}", **params)


def say_phrase(language: Language, phrase: Phrase, own: Mapping[str, Mapping[str, str]]) -> str:
    """Return a tool's phrase in ``language``, from the catalogue or else from the tool's ``own`` translations."""
    translations = _translations(language)
    count = phrase.values.get("count")
    if phrase.singular and isinstance(count, int):
        text = translations.npgettext(_TOOL, phrase.singular, phrase.text, count)
    else:
        text = translations.pgettext(_TOOL, phrase.text)
    if text in {phrase.singular, phrase.text}:
        text = own.get(language, {}).get(text, text)
    return _filled(language, text, phrase.values)


@cache
def script_texts(language: Language) -> dict[str, str | dict[str, str]]:
    """Return the texts of the page's scripts by id; one with plural forms by CLDR category (``one``, ``other``)."""
    translations, locale = _translations(language), Locale.parse(language)
    texts: dict[str, str | dict[str, str]] = {}
    for message in catalogue(ENGLISH):
        name, plural = (message.id[0], True) if isinstance(message.id, tuple | list) else (message.id, False)
        if not name.startswith(SCRIPTS):
            continue
        texts[name.removeprefix(SCRIPTS)] = (
            {locale.plural_form(n): translations.ngettext(name, name, n) for n in _PLURAL_SAMPLES}
            if plural
            else translations.gettext(name)
        )
    return texts


def _filled(language: Language, text: str, values: Mapping[str, str | float]) -> str:
    def value(place: re.Match[str]) -> str:
        name = place[1]
        return _shown_value(language, name, values[name]) if name in values else place[0]

    return _PLACEHOLDER.sub(value, text)


def _shown_value(language: Language, name: str, value: str | float) -> str:
    """Format the value of the placeholder ``name``: ``20,000``, or for one named ``seconds`` ``2 minutes``."""
    if isinstance(value, str):
        return value
    if name == "seconds":
        return format_timedelta(timedelta(seconds=value), threshold=1.5, locale=language)
    return format_decimal(value, locale=language)


def elapsed(language: Language, milliseconds: float) -> str:
    """Format the time of a tool call, on one line: ``40 ms``, ``1.2 s``."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f}\u00a0ms"
    return f"{format_decimal(milliseconds / 1000, '#,##0.0', locale=language)}\u00a0s"


def own_name(language: str) -> str:
    """Return the name of a language in itself, such as ``Deutsch``."""
    return str(Locale.parse(language).display_name).capitalize()


def date_and_time(language: Language, iso: str) -> str:
    """Format an ISO 8601 time; text that is none stays as it is."""
    try:
        return format_datetime(datetime.fromisoformat(iso), "long", locale=language)
    except ValueError:
        return iso
