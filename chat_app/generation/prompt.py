"""Prompts as Jinja2 templates that know their variables.

A variable without a value is an error, not an empty string. Templates come from the developer, never from a user, and
values are inserted unchanged.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from jinja2 import Environment, StrictUndefined, UndefinedError, meta

from chat_app.errors import ConfigurationError

# Prompts are plain text for a model; HTML escaping would change them.
_ENVIRONMENT = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701


class Prompt:
    """A template with preset values; ``render`` fills in the rest."""

    def __init__(self, template: str, *, preset: Mapping[str, Any] | None = None, name: str = "prompt") -> None:
        self.name = name
        self.template_string = template
        self.preset = dict(preset or {})
        self._template = _ENVIRONMENT.from_string(template)
        self.variables: tuple[str, ...] = tuple(sorted(meta.find_undeclared_variables(_ENVIRONMENT.parse(template))))
        """The variables of the template, sorted."""

    @classmethod
    def from_file(cls, path: Path, *, preset: Mapping[str, Any] | None = None) -> Self:
        """Read the template from a file, whose stem is the prompt's name."""
        return cls(path.read_text(encoding="utf-8"), preset=preset, name=path.stem)

    def render(self, **values: Any) -> str:
        """Return the text; raise ``ConfigurationError`` that names a variable without a value."""
        try:
            return self._template.render(**{**self.preset, **values})
        except UndefinedError as error:
            raise ConfigurationError(f"The prompt {self.name} lacks a value: {error.message}.") from None
