"""The history of prompts: every state of a generator's prompt, in one JSON file per project.

    traces/<Project>/generator_state_trace.json
    {"generator": [{"prompt_states": {"_template_string": ..., "prompt_variables": [...],
                                      "preset_prompt_kwargs": {...}}, "prompt_hash": ..., "time_stamp": ...}, ...]}

A state is added only when it differs from the last one of that name. A template is its developer's text and is kept;
preset values are kept only on request.
"""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import JsonValue

from chat_app.generation.generator import Generator
from chat_app.generation.observers import GeneratorCall, GeneratorObserver
from chat_app.generation.prompt import Prompt
from chat_app.tracing.redaction import Redactor
from chat_app.tracing.trace_files import DEFAULT_SAVE_DIR, TraceFolder, update_document

C = TypeVar("C", bound=type)

MAX_STATES = 500
"""States that are kept of one generator, the newest ones."""


@dataclass(frozen=True, slots=True)
class PromptState:
    """A prompt at one moment."""

    template: str
    variables: tuple[str, ...]
    preset: Mapping[str, Any]

    @classmethod
    def of(cls, prompt: Prompt) -> Self:
        """Return the present state of ``prompt``."""
        return cls(prompt.template_string, tuple(prompt.variables), dict(prompt.preset))

    def record(self, redactor: Redactor) -> dict[str, JsonValue]:
        """Return the state as JSON, redacted."""
        return {
            "_template_string": self.template,
            "prompt_variables": list(self.variables),
            "preset_prompt_kwargs": redactor.named(self.preset),
        }

    def hash(self, redactor: Redactor) -> str:
        """Return the hash by which a recorded call refers to the state of its prompt."""
        return redactor.hash(json.dumps(self.record(redactor), sort_keys=True))


class GeneratorStateLogger:
    """Writes the states of generators' prompts to ``folder``, that of a project."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder
        self._last: dict[str, PromptState] = {}
        self.path = folder.path / "generator_state_trace.json"

    def log_prompt(self, prompt: Prompt, name: str) -> None:
        """Add the state of ``prompt`` under ``name`` if it has changed; returns at once."""
        state = PromptState.of(prompt)
        if self._last.get(name) != state:
            self._last[name] = state
            self._folder.submit(lambda: self._write(name, state))

    def register_generator(self, name: str, generator: Generator[Any]) -> None:
        """Log the prompt now, and before each call if it has changed."""
        self.log_prompt(generator.prompt, name)
        generator.add_observer(_StateObserver(lambda prompt: self.log_prompt(prompt, name)))

    def _write(self, name: str, state: PromptState) -> None:
        redactor = self._folder.redactor
        entry: dict[str, JsonValue] = {
            "prompt_states": state.record(redactor),
            "prompt_hash": state.hash(redactor),
            "time_stamp": datetime.now(UTC).isoformat(),
        }

        def add(document: dict[str, JsonValue]) -> bool:
            history = document.get(name)
            states: list[JsonValue] = history if isinstance(history, list) else []
            last = states[-1] if states else None
            if isinstance(last, dict) and last.get("prompt_states") == entry["prompt_states"]:
                return False
            states.append(entry)
            document[name] = states[-MAX_STATES:]
            return True

        update_document(self.path, add)


@dataclass(frozen=True, slots=True)
class _StateObserver(GeneratorObserver):
    log: Callable[[Prompt], None]

    def call_started(self, call: GeneratorCall) -> None:
        self.log(call.prompt)


def trace_generator_states(
    attributes: Sequence[str] | None = None,
    *,
    save_dir: Path | str = DEFAULT_SAVE_DIR,
    project_name: str | None = None,
    keep_text: bool = False,
) -> Callable[[C], C]:
    """Decorate a class to log the prompts of the generators among its objects' attributes.

    A prompt is logged when an object is made, and before each call when it has changed. Without ``attributes`` every
    generator is logged, without ``project_name`` under the class's name. Preset values are kept with ``keep_text``.
    """

    def decorate(cls: C) -> C:
        folder = TraceFolder(save_dir, project_name or cls.__name__, keep_text=keep_text)
        return on_construction(cls, attributes, GeneratorStateLogger(folder).register_generator)

    return decorate


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
