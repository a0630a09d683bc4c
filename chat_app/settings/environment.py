"""How settings are read from the environment: their names, and values that are lists."""

from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from chat_app.errors import ConfigurationError
from chat_app.roles import Role

CONFIG: Final = SettingsConfigDict(
    env_prefix="ASCLEPIUS_",
    env_file=".env",
    env_ignore_empty=True,
    extra="ignore",
    frozen=True,
    populate_by_name=True,
    use_attribute_docstrings=True,
)
"""A setting that has a conventional name keeps it; the others begin with ``ASCLEPIUS_``."""

S = TypeVar("S", bound=BaseSettings)


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
            f"{variable_name(kind, str(e['loc'][0]))}: {e['msg']}" for e in error.errors(include_input=False)
        )
        raise ConfigurationError(f"A setting is wrong. {problems}.") from None


def variable_name(kind: type[BaseSettings], field: str) -> str:
    """Return the environment variable that sets ``field`` of ``kind``."""
    info = kind.model_fields.get(field)
    alias = info.validation_alias if info else None
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    if isinstance(alias, str):
        return alias
    return field if info is None else f"ASCLEPIUS_{field}".upper()
