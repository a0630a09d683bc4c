"""The calls of generators, one JSON object per line, by default only those that failed.

    traces/<Project>/logger_metadata.json      {"generator": "traces/<Project>/generator_call.jsonl", ...}
    traces/<Project>/generator_call.jsonl      {"prompt_kwargs": ..., "model_kwargs": ..., "output": {"data": ...,
                                                "error_message": ..., "raw_response": ..., ...}, "time_stamp": ...}

A call failed when its output has an error of any stage, or when it could not start. A call that its caller stopped did
not fail. Patients' text is written only on request; see ``redaction``.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import JsonValue

from chat_app.generation.generator import Generator
from chat_app.generation.observers import GeneratorCall, GeneratorObserver
from chat_app.generation.output import GenerationError, GeneratorOutput
from chat_app.response_objects import error_code
from chat_app.tracing.redaction import Redactor, model_name
from chat_app.tracing.state_logger import PromptState, on_construction
from chat_app.tracing.trace_files import DEFAULT_SAVE_DIR, TraceFolder, append_line, keep_lines, update_document

_ITEM_TYPES = frozenset(
    {"message", "function_call", "function_call_output", "reasoning", "file_search_call", "item_reference"}
)
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_IDS = ("id", "call_id", "response_id", "previous_response_id")
_NUMBERS = frozenset({"max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs"})
_WORDS = frozenset({"tool_choice", "service_tier", "truncation"})
_INCLUDE = re.compile(r"[a-z_]{1,40}(\.[a-z_]{1,40}){0,4}")
C = TypeVar("C", bound=type)
_NAMES_TURN = b'"turn_id": '


@dataclass(frozen=True)
class GeneratorCallLogger:
    """Writes the calls of the generators that are registered with it to ``folder``, that of a project."""

    folder: TraceFolder
    error_only: bool = True
    turn: Callable[[], str] = str
    """Returns the id of the turn that the present call belongs to; empty outside of turns."""

    def path(self, name: str) -> Path:
        """Return the file of the generator called ``name``."""
        return self.folder.file(name, "_call.jsonl")

    def register_generator(self, name: str, generator: Generator[Any]) -> None:
        """Log every call of ``generator`` under ``name``."""
        self.folder.submit(lambda: self._write_metadata(name))
        generator.add_observer(_CallObserver(self, self.path(name)))

    def erase(self, name: str, turns: Sequence[str]) -> None:
        """Remove the calls of ``turns`` from the file of ``name``; blocks. Raises ``OSError``.

        Records that name no turn, as older versions wrote them, may be of one of these: they are removed, too.
        """
        # Only the records of a turn contain its mark: within a text, the quotation marks are escaped.
        marks = [_NAMES_TURN + json.dumps(turn).encode() for turn in turns]
        keep_lines(self.path(name), lambda line: _NAMES_TURN in line and not any(mark in line for mark in marks))

    def _write_metadata(self, name: str) -> None:
        def add(document: dict[str, JsonValue]) -> bool:
            known = document.get(name)
            document[name] = str(self.path(name))
            return known != document[name]

        update_document(self.folder.path / "logger_metadata.json", add)


@dataclass(frozen=True, slots=True)
class _CallObserver(GeneratorObserver):
    log: GeneratorCallLogger
    path: Path

    def call_ended(self, call: GeneratorCall, output: GeneratorOutput[Any] | None) -> None:
        failed = output is None or (output.error is not None and not call.stopped)
        if failed or not self.log.error_only:
            # Copies, because the caller may change both before the writer's thread gets there.
            prompt, ended, settled, turn = PromptState.of(call.prompt), copy(call), copy(output), self.log.turn()
            self.log.folder.submit(lambda: self._write(prompt, ended, settled, turn))

    def _write(self, prompt: PromptState, call: GeneratorCall, output: GeneratorOutput[Any] | None, turn: str) -> None:
        folder = self.log.folder
        line = json.dumps({**call_record(prompt, call, output, folder.redactor), "turn_id": turn})
        if len(line) > folder.max_bytes // 4 and folder.keep_text:
            # A record must never displace all others from a file of bounded size.
            shapes = folder.redactor.without_text()
            line = json.dumps({**call_record(prompt, call, output, shapes), "too_long": True, "turn_id": turn})
        append_line(self.path, line, max_bytes=folder.max_bytes)


def trace_generator_call(
    attributes: Sequence[str] | None = None,
    *,
    save_dir: Path | str = DEFAULT_SAVE_DIR,
    project_name: str | None = None,
    error_only: bool = True,
    keep_text: bool = False,
) -> Callable[[C], C]:
    """Decorate a class to log the calls of the generators among its objects' attributes.

    Without ``attributes`` those of every generator are logged, without ``project_name`` under the class's name.
    Patients' text is written as it is with ``keep_text``.
    """

    def decorate(cls: C) -> C:
        folder = TraceFolder(save_dir, project_name or cls.__name__, keep_text=keep_text)
        return on_construction(cls, attributes, GeneratorCallLogger(folder, error_only).register_generator)

    return decorate


def call_record(
    prompt: PromptState, call: GeneratorCall, output: GeneratorOutput[Any] | None, redactor: Redactor
) -> dict[str, JsonValue]:
    """Return the record of ``call``; ``output`` is None when it could not start."""
    tools = _tool_names(call.model_kwargs.get("tools"))
    return {
        "prompt_kwargs": redactor.named(call.prompt_kwargs),
        "model_kwargs": {name: _setting(name, value, tools, redactor) for name, value in call.model_kwargs.items()},
        "input": [_item(item, tools, redactor) for item in call.items],
        "output": None if output is None else _output(output, tools, redactor),
        "exception": call.error_type,
        "stopped": call.stopped,
        "seconds_to_first_event": _rounded(call.seconds_to_first_event),
        "seconds": _rounded(call.seconds),
        "prompt_hash": prompt.hash(redactor),
        "time_stamp": call.time_stamp.isoformat(),
    }


def _setting(name: str, value: object, tools: Collection[str], redactor: Redactor) -> JsonValue:
    """Return a field of the request: configuration is kept, text that may be a patient's is not."""
    if redactor.keep_text:
        return redactor.value(value)
    match value:
        case str() if name == "model":
            return model_name(value) or redactor.value(value)
        case str() if name in _IDS:
            return redactor.identifier(value)
        case str() if name in _WORDS:
            return error_code(value) or redactor.value(value)
        case int() | float() if name in _NUMBERS:
            return value
        case list() | tuple() if name == "tools":
            return [*sorted(tools)]
        case list() | tuple() if name == "include":
            return [word if isinstance(word, str) and _INCLUDE.fullmatch(word) else "?" for word in value]
        case _:
            return redactor.value(value)


def _item(item: Mapping[str, Any], tools: Collection[str], redactor: Redactor) -> JsonValue:
    if redactor.keep_text:
        return redactor.value(item)
    record: dict[str, JsonValue] = {}
    for name, known in (("type", _ITEM_TYPES), ("role", _ROLES), ("name", tools)):
        if isinstance(item.get(name), str):
            record[name] = redactor.known(item[name], known)
    record |= {name: redactor.identifier(item[name]) for name in _IDS if isinstance(item.get(name), str)}
    record |= {name: redactor.value(item[name]) for name in ("content", "arguments", "output") if name in item}
    return record


def _output(output: GeneratorOutput[Any], tools: Collection[str], redactor: Redactor) -> dict[str, JsonValue]:
    usage, outcome, error, response = output.usage, output.outcome, output.error, output.api_response
    return {
        "data": redactor.value(output.data),
        "error_message": _error_message(error, redactor),
        "error_stage": error.stage if error else None,
        "error_code": error_code(response.error.code) if response and response.error else None,
        "raw_response": redactor.value(output.raw_response),
        "thinking": redactor.value(output.thinking),
        "tool_use": [
            {
                "name": redactor.known(function.name, tools) if not redactor.keep_text else function.name,
                "call_id": redactor.identifier(function.call_id),
                "arguments": redactor.value(function.arguments),
            }
            for function in output.tool_use
        ],
        "outcome": {"kind": outcome.kind, "reason": outcome.reason},
        "usage": usage.model_dump(include={"input_tokens", "output_tokens", "total_tokens"}) if usage else None,
        "response_id": redactor.identifier(response.id if response else None),
        "model": model_name(response.model if response else None),
        "status": error_code(response.status if response else None),
    }


def _error_message(error: GenerationError | None, redactor: Redactor) -> JsonValue:
    """Return our own sentences; an error of parsing may quote the text, and is redacted."""
    if error is None:
        return None
    return redactor.value(error.message) if error.stage == "parsing" else error.message


def _tool_names(tools: object) -> frozenset[str]:
    """Return the names of the declared tools, the only ones that the model cannot have made up."""
    if not isinstance(tools, list | tuple):
        return frozenset()
    declared = [tool for tool in tools if isinstance(tool, Mapping)]
    return frozenset(str(tool.get("name") or tool.get("type")) for tool in declared)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
