"""One call of a generator as a JSON object, redacted."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import JsonValue

from chat_app.generation.observers import GeneratorCall
from chat_app.generation.output import GenerationError, GeneratorOutput
from chat_app.tracing.redaction import Redactor, error_code, model_name
from chat_app.tracing.state_logger import PromptState

_ITEM_TYPES = frozenset(
    {"message", "function_call", "function_call_output", "reasoning", "file_search_call", "item_reference"}
)
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_IDS = ("id", "call_id", "response_id", "previous_response_id")
_NUMBERS = frozenset({"max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs"})
_WORDS = frozenset({"tool_choice", "service_tier", "truncation"})
_INCLUDE = re.compile(r"[a-z_]{1,40}(\.[a-z_]{1,40}){0,4}")


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
    if error is None or error.stage != "parsing":
        return None if error is None else error.message
    return redactor.value(error.message)


def _tool_names(tools: object) -> frozenset[str]:
    """Return the names of the declared tools, the only ones that the model cannot have made up."""
    if not isinstance(tools, list | tuple):
        return frozenset()
    declared = [tool for tool in tools if isinstance(tool, Mapping)]
    return frozenset(str(tool.get("name") or tool.get("type")) for tool in declared)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
