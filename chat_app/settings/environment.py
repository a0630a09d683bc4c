"""How settings are read from the environment: their names, and values that are lists."""

import logging
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ValidationError
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, NoDecode, SettingsConfigDict

from chat_app.errors import ConfigurationError
from chat_app.roles import Role

_PREFIX: Final = "ASCLEPIUS_"


class Section(BaseSettings):
    """Base of the sections. A setting that has a conventional name keeps it; the others begin with ``ASCLEPIUS_``."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


S = TypeVar("S", bound=Section)
_damaged_lines: Final = set[int]()


def _named_once(record: logging.LogRecord) -> bool:
    """Let the file's reader report a damaged line once, though it reads the file for each section."""
    match record.args:
        case (int() as line,):
            known = line in _damaged_lines
            _damaged_lines.add(line)
            record.msg = "The file .env in the working directory is damaged: what begins in line %s is not NAME=value."
            return not known
        case _:
            return True


logging.getLogger("dotenv.main").addFilter(_named_once)


def comma_separated(value: object) -> object:
    """Split a text at its commas; return anything else unchanged."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _role_pairs(value: object) -> object:
    """Split ``name:role`` pairs at their commas and last colons; return anything but a text unchanged."""
    parts = comma_separated(value)
    return tuple(part.rpartition(":")[::2] for part in parts) if isinstance(parts, tuple) and parts != value else value


AbsolutePath = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(comma_separated)]
RolePairs = Annotated[tuple[tuple[str, Role], ...], NoDecode, BeforeValidator(_role_pairs)]


def load(kind: type[S], values: dict[str, Any] | None) -> S:
    """Read a section; ``values`` win over the environment. Raises ``ConfigurationError`` that names no value."""
    try:
        return kind(**(values or {}))
    except ValidationError as error:
        problems = "; ".join(
            f"{variable_name(kind, str(e['loc'][0]))} {plain(e['msg'])}" for e in error.errors(include_input=False)
        )
        raise ConfigurationError(f"A setting is wrong. {problems}.") from None
    except (OSError, UnicodeDecodeError) as error:
        why = (
            "is not encoded in UTF-8" if isinstance(error, UnicodeDecodeError) else f"is unreadable ({error.strerror})"
        )
        raise ConfigurationError(
            f"The file .env in the working directory {why}: mend it, or start the app in another directory."
        ) from None


def plain(message: str) -> str:
    """Reword a message of pydantic, which speaks to programmers, to follow the name of a setting or option."""
    return message.replace("Input should", "must").replace("Value error, ", "")


def variable_name(kind: type[Section], field: str) -> str:
    """Return the environment variable that sets ``field`` of ``kind``."""
    return _variables(kind, field)[0] if field in kind.model_fields else field


def _variables(kind: type[Section], field: str) -> tuple[str, ...]:
    """Return all environment variables that set ``field``, the documented one first."""
    alias = kind.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(map(str, alias.choices))
    return (alias if isinstance(alias, str) else f"{_PREFIX}{field}".upper(),)


def unknown_variables(kinds: Sequence[type[Section]]) -> list[str]:
    """Return a sentence for each variable with our prefix that no field of ``kinds`` reads. It names no value."""
    names = [name for kind in kinds for field in kind.model_fields for name in _variables(kind, field)]
    known = {name.removeprefix(_PREFIX): name for name in names}
    sources = (EnvSettingsSource(kinds[0]), DotEnvSettingsSource(kinds[0]))
    given = {name.upper() for source in sources for name in source.env_vars}
    problems = []
    for name in sorted(name for name in given.difference(names) if name.startswith(_PREFIX)):
        close = get_close_matches(name.removeprefix(_PREFIX), known, n=1)
        meant = f"did you mean {known[close[0]]}?" if close else "remove it, or see docs/settings.md."
        problems.append(f"{name} is no setting and has no effect: {meant}")
    return problems
