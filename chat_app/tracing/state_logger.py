"""The history of prompts: each state that a generator's prompt went through, in one JSON file per project.

    traces/<Project>/generator_state_trace.json
    {"generator": [{"prompt_states": {"_template_string": ..., "prompt_variables": [...],
                                      "preset_prompt_kwargs": {...}}, "prompt_hash": ..., "time_stamp": ...}, ...]}

A state is added only when it differs from the last one of that name. A template is its developer's text and is kept;
preset values are kept only where text is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import JsonValue

from chat_app.tracing.decorating import on_construction
from chat_app.tracing.protocols import TracedGenerator, TracedPrompt
from chat_app.tracing.redaction import Redactor
from chat_app.tracing.trace_files import update_document
from chat_app.tracing.trace_folder import DEFAULT_SAVE_DIR, TraceFolder
from chat_app.tracing.watching import watch

C = TypeVar("C", bound=type)

MAX_STATES = 500
"""States kept of one generator; the oldest go first."""


@dataclass(frozen=True, slots=True)
class PromptState:
    """What a prompt was at one moment."""

    template: str
    variables: tuple[str, ...]
    preset: Mapping[str, Any]

    @classmethod
    def of(cls, prompt: TracedPrompt) -> PromptState:
        return cls(prompt.template_string, tuple(prompt.variables), dict(prompt.preset))

    def record(self, redactor: Redactor) -> dict[str, JsonValue]:
        return {
            "_template_string": self.template,
            "prompt_variables": list(self.variables),
            "preset_prompt_kwargs": redactor.named(self.preset),
        }

    def hash(self, redactor: Redactor) -> str:
        """By it a recorded call finds the state of its prompt."""
        return redactor.hash(json.dumps(self.record(redactor), sort_keys=True))


class GeneratorStateLogger:
    """Writes the states of generators' prompts; see the module."""

    def __init__(
        self,
        save_dir: Path | str = DEFAULT_SAVE_DIR,
        project_name: str = "project",
        *,
        filename: str = "generator_state_trace.json",
        folder: TraceFolder | None = None,
    ) -> None:
        self._folder = folder or TraceFolder(save_dir, project_name)
        self._last: dict[str, PromptState] = {}
        self.path = self._folder.path / filename

    def log_prompt(self, generator: TracedGenerator, name: str) -> None:
        """Adds the state of ``generator``'s prompt under ``name`` if it has changed. Returns at once."""
        state = PromptState.of(generator.prompt)
        if self._last.get(name) != state:
            self._last[name] = state
            self._folder.submit(lambda: self._write(name, state))

    def register_generator(self, name: str, generator: TracedGenerator) -> Callable[[], None]:
        """Logs the prompt now, and at each call if it has changed by then; call the result to end that."""
        self.log_prompt(generator, name)
        return watch(generator, lambda call: self.log_prompt(call.generator, name))

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


def trace_generator_states(
    attributes: Sequence[str] | None = None,
    *,
    save_dir: Path | str = DEFAULT_SAVE_DIR,
    project_name: str | None = None,
    filename: str = "generator_state_trace.json",
    keep_text: bool = False,
) -> Callable[[C], C]:
    """A class decorator: the prompts of the generators that an object has as attributes are logged.

    ``attributes`` names them; without it every attribute that is a generator counts. The project is the class's name.
    A prompt is looked at when the object is made and at each call, so that one that is replaced is seen.
    """

    def decorate(cls: C) -> C:
        folder = TraceFolder(save_dir, project_name or cls.__name__, keep_text=keep_text)
        logger = GeneratorStateLogger(filename=filename, folder=folder)
        return on_construction(cls, attributes, logger.register_generator)

    return decorate
