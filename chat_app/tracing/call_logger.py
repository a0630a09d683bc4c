"""The calls of generators, one JSON object per line, by default only those that failed.

    traces/<Project>/logger_metadata.json      {"generator": "traces/<Project>/generator_call.jsonl", ...}
    traces/<Project>/generator_call.jsonl      {"prompt_kwargs": ..., "model_kwargs": ..., "output": {"data": ...,
                                                "error_message": ..., "raw_response": ..., ...}, "time_stamp": ...}

A call failed when its output has an error, of whichever stage, or when it could not begin. One that its caller stopped
did not. Patients' text is written only where it is asked for; see ``redaction``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from chat_app.tracing.call_record import CallSnapshot, Settled, call_record
from chat_app.tracing.decorating import on_construction
from chat_app.tracing.protocols import TracedGenerator, TracedOutput
from chat_app.tracing.trace_files import append_line, update_document
from chat_app.tracing.trace_folder import DEFAULT_SAVE_DIR, TraceFolder
from chat_app.tracing.watching import Ended, WatchedCall, watch

C = TypeVar("C", bound=type)


class GeneratorCallLogger:
    """Writes the calls of the generators that are registered with it; see the module."""

    def __init__(
        self,
        save_dir: Path | str = DEFAULT_SAVE_DIR,
        project_name: str = "project",
        *,
        error_only: bool = True,
        folder: TraceFolder | None = None,
    ) -> None:
        self._folder = folder or TraceFolder(save_dir, project_name)
        self._error_only = error_only
        self.metadata_path = self._folder.path / "logger_metadata.json"

    def path(self, name: str) -> Path:
        """Where the calls of the generator called ``name`` stand."""
        return self._folder.file(name, "_call.jsonl")

    def register_generator(self, name: str, generator: TracedGenerator) -> Callable[[], None]:
        """Logs the calls of ``generator`` from now on, under ``name``; call the result to end that."""
        self._folder.submit(lambda: self._write_metadata(name))
        return watch(generator, lambda call: self._begin(name, call))

    def _begin(self, name: str, call: WatchedCall) -> Ended:
        snapshot = CallSnapshot.of(call)

        def ended(output: TracedOutput | None) -> None:
            failed = output is None or (output.error is not None and not call.stopped)
            if failed or not self._error_only:
                settled = None if output is None else Settled.of(output)
                self._folder.submit(lambda: self._write(name, snapshot, call, settled))

        return ended

    def _write(self, name: str, snapshot: CallSnapshot, call: WatchedCall, output: Settled | None) -> None:
        folder = self._folder
        line = json.dumps(call_record(snapshot, call, output, folder.redactor))
        if len(line) > folder.max_bytes // 4 and folder.keep_text:
            # A record must never push all others out of a file of bounded size.
            shapes = folder.redactor.without_text()
            line = json.dumps({**call_record(snapshot, call, output, shapes), "too_long": True})
        append_line(self.path(name), line, max_bytes=folder.max_bytes, backups=folder.backups)

    def _write_metadata(self, name: str) -> None:
        def add(document: dict[str, JsonValue]) -> bool:
            known = document.get(name)
            document[name] = str(self.path(name))
            return known != document[name]

        update_document(self.metadata_path, add)


def trace_generator_call(
    attributes: Sequence[str] | None = None,
    *,
    save_dir: Path | str = DEFAULT_SAVE_DIR,
    project_name: str | None = None,
    error_only: bool = True,
    keep_text: bool = False,
) -> Callable[[C], C]:
    """A class decorator: the calls of the generators that an object has as attributes are logged.

    ``attributes`` names them; without it every attribute that is a generator counts. The project is the class's name.
    ``error_only=False`` logs calls that went well, too.
    """

    def decorate(cls: C) -> C:
        folder = TraceFolder(save_dir, project_name or cls.__name__, keep_text=keep_text)
        logger = GeneratorCallLogger(error_only=error_only, folder=folder)
        return on_construction(cls, attributes, logger.register_generator)

    return decorate
