"""One call of a generator as one JSON object, with what may be written of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from chat_app.events import Outcome
from chat_app.response_objects import Usage
from chat_app.tracing.protocols import TracedError, TracedOutput
from chat_app.tracing.redaction import Redactor, error_code, model_name
from chat_app.tracing.state_logger import PromptState
from chat_app.tracing.watching import WatchedCall
from tools.types import Function

_ITEM_TYPES = frozenset(
    {"message", "function_call", "function_call_output", "reasoning", "file_search_call", "item_reference"}
)
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_IDS = ("id", "call_id", "response_id", "previous_response_id")
_NUMBERS = frozenset({"max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs"})
_WORDS = frozenset({"tool_choice", "service_tier", "truncation"})
_INCLUDE = re.compile(r"[a-z_]{1,40}(\.[a-z_]{1,40}){0,4}")


@dataclass(frozen=True, slots=True)
class Settled:
    """What an output held when its call had ended; it may be changed afterwards."""

    data: Any = None
    raw_response: str | None = None
    thinking: str | None = None
    tool_use: tuple[Function, ...] = ()
    error: TracedError | None = None
    usage: Usage | None = None
    outcome: Outcome | None = None
    response_id: str | None = None
    response_model: str | None = None
    status: str | None = None
    error_code: str | None = None

    @classmethod
    def of(cls, output: TracedOutput) -> Settled:
        response = output.api_response
        return cls(
            data=output.data,
            raw_response=output.raw_response,
            thinking=output.thinking,
            tool_use=tuple(output.tool_use),
            error=output.error,
            usage=output.usage,
            outcome=output.outcome,
            response_id=response.id if response else None,
            response_model=response.model if response else None,
            status=response.status if response else None,
            error_code=response.error.code if response and response.error else None,
        )


@dataclass(frozen=True, slots=True)
class CallSnapshot:
    """A call with everything that may change afterwards copied out of it."""

    items: tuple[Mapping[str, Any], ...]
    prompt_kwargs: Mapping[str, Any]
    model_kwargs: Mapping[str, Any]
    prompt: PromptState
    time_stamp: datetime

    @classmethod
    def of(cls, call: WatchedCall) -> CallSnapshot:
        return cls(
            items=call.items,
            prompt_kwargs=call.prompt_kwargs,
            model_kwargs={**call.generator.model_kwargs, **call.fields},
            prompt=PromptState.of(call.generator.prompt),
            time_stamp=call.time_stamp,
        )


def call_record(
    call: CallSnapshot, ended: WatchedCall, output: Settled | None, redactor: Redactor
) -> dict[str, JsonValue]:
    """The record; ``output`` is None when the call could not begin."""
    tools = _tool_names(call.model_kwargs.get("tools"))
    return {
        "prompt_kwargs": redactor.named(call.prompt_kwargs),
        "model_kwargs": {name: _setting(name, value, tools, redactor) for name, value in call.model_kwargs.items()},
        "input": [_item(item, tools, redactor) for item in call.items],
        "output": None if output is None else _output(output, tools, redactor),
        "exception": ended.error_type,
        "stopped": ended.stopped,
        "seconds_to_first_event": _rounded(ended.seconds_to_first_event),
        "seconds": _rounded(ended.seconds),
        "prompt_hash": call.prompt.hash(redactor),
        "time_stamp": call.time_stamp.isoformat(),
    }


def _setting(name: str, value: object, tools: Collection[str], redactor: Redactor) -> JsonValue:
    """A field of the request: what configures is kept, what may hold a patient's text is not."""
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


def _output(output: Settled, tools: Collection[str], redactor: Redactor) -> dict[str, JsonValue]:
    usage, outcome, error = output.usage, output.outcome, output.error
    return {
        "data": redactor.value(output.data),
        "error_message": _error_message(error, redactor),
        "error_stage": error.stage if error else None,
        "error_code": error_code(output.error_code),
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
        "outcome": None if outcome is None else {"kind": outcome.kind, "reason": outcome.reason},
        "usage": None
        if usage is None
        else {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
        },
        "response_id": redactor.identifier(output.response_id),
        "model": model_name(output.response_model),
        "status": error_code(output.status),
    }


def _error_message(error: TracedError | None, redactor: Redactor) -> JsonValue:
    """The sentence of an error of ours is kept; one from parsing may quote what could not be parsed."""
    if error is None or error.stage != "parsing":
        return None if error is None else error.message
    return redactor.value(error.message)


def _tool_names(tools: object) -> frozenset[str]:
    """Names of the tools that the request declares: the only ones that are certainly not a model's invention."""
    if not isinstance(tools, list | tuple):
        return frozenset()
    declared = [tool for tool in tools if isinstance(tool, Mapping)]
    return frozenset(str(tool.get("name") or tool.get("type")) for tool in declared)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
