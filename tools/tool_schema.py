"""From a function's signature, type hints and docstring to the schema the model is given, and back to arguments.

The schema is valid in the Responses API's strict mode: every property is required, objects take no further
properties, and a parameter with a default may also be null, which means "take the default". A function whose
parameters strict mode cannot express (a ``dict`` of any keys, a tuple, a set) is declared without it.
"""

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, cast, get_type_hints

import docstring_parser
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from tools.errors import ToolArgumentsInvalid

_MAX_PROBLEMS = 8
_LEFT_OUT = frozenset({"default", "title", "examples", "discriminator"})
_NOT_IN_STRICT = frozenset({"prefixItems", "uniqueItems", "patternProperties"})
"""Source: OpenAI's guide to structured outputs, section on supported schemas."""


class ToolSchema:
    """The parameters of one function, as JSON schema and as a validator; those that are ``hidden`` are left out."""

    def __init__(self, fn: Callable[..., Any], *, hidden: Collection[str] = ()) -> None:
        doc = docstring_parser.parse(_documentation(fn))
        self.description = "\n".join(filter(None, [doc.short_description, doc.long_description]))
        described = {p.arg_name: p.description or "" for p in doc.params}
        hints = _hints(fn)
        fields: dict[str, Any] = {}
        self._defaults: set[str] = set()
        for parameter in inspect.signature(fn).parameters.values():
            if parameter.name in hidden:
                continue
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
                raise TypeError(f"{name_of(fn)}: a tool takes named parameters only, not {parameter}")
            required = parameter.default is parameter.empty
            if not required:
                self._defaults.add(parameter.name)
            fields[parameter.name] = (
                hints.get(parameter.name, str),
                Field(... if required else parameter.default, description=described.get(parameter.name) or None),
            )
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
        self._model: type[BaseModel] = create_model(name_of(fn), __config__=config, **fields)
        schema = self._model.model_json_schema()
        self.strict = _can_be_strict(schema)
        self.parameters = _strict(schema, self._defaults) if self.strict else schema

    def parse(self, arguments: str) -> dict[str, Any]:
        """Parse the JSON text ``arguments`` into keyword arguments.

        Raises ``ToolArgumentsInvalid`` with a sentence the model can act on: which parameter, and what is wrong.
        Values are not repeated.
        """
        body = json_object(arguments)
        given = {k: v for k, v in body.items() if not (v is None and k in self._defaults)}
        try:
            model = self._model.model_validate(given)
        except ValidationError as error:
            raise ToolArgumentsInvalid(_explain(error, self._model.model_fields)) from None
        return {name: getattr(model, name) for name in type(model).model_fields}


def json_object(arguments: str) -> dict[str, Any]:
    """Parse the JSON text ``arguments``; raise ``ToolArgumentsInvalid`` when it is no object."""
    try:
        body = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise ToolArgumentsInvalid(f"The arguments are not valid JSON ({error.msg} at {error.pos}).") from None
    if not isinstance(body, dict):
        raise ToolArgumentsInvalid("The arguments must be a JSON object.")
    return body


def name_of(fn: Callable[..., Any]) -> str:
    """Return the name of ``fn``: of a partial that of its function, of a callable object that of its class."""
    fn = unwrapped(fn)
    return str(getattr(fn, "__name__", None) or type(fn).__name__)


def unwrapped(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function or callable object behind partials of it."""
    while isinstance(fn, partial):
        fn = fn.func
    return fn


def _documentation(fn: Callable[..., Any]) -> str:
    fn = unwrapped(fn)
    if hasattr(fn, "__name__"):
        return inspect.getdoc(fn) or ""
    # A callable object: what its call says about itself comes before what its class says.
    return inspect.cleandoc(type(fn).__call__.__doc__ or type(fn).__doc__ or "")


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    fn = unwrapped(fn)
    return get_type_hints(fn if hasattr(fn, "__name__") else type(fn).__call__, include_extras=True)


def _explain(error: ValidationError, known: Iterable[str]) -> str:
    problems = [
        # A name that the model made up may hold what the question said.
        f"there is no such argument; known are {', '.join(known)}"
        if e["type"] == "extra_forbidden"
        else f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}"
        for e in error.errors(include_input=False, include_url=False, include_context=False)
    ]
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    return "The arguments do not fit: " + "; ".join(problems[:_MAX_PROBLEMS]) + more + "."


def _can_be_strict(node: Any) -> bool:
    if isinstance(node, list):
        return all(_can_be_strict(part) for part in node)
    if not isinstance(node, dict):
        return True
    if "additionalProperties" in node and node["additionalProperties"] is not False:
        return False
    return not _NOT_IN_STRICT & node.keys() and all(_can_be_strict(part) for part in node.values())


def _strict(schema: dict[str, Any], nullable: set[str]) -> dict[str, Any]:
    """Convert ``schema`` for strict mode; properties in ``nullable`` may also be null."""
    result = cast("dict[str, Any]", _strict_node(schema))
    for name in nullable & set(result.get("properties", {})):
        result["properties"][name] = _or_null(result["properties"][name])
    return result


def _strict_node(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict_node(part) for part in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key in {"properties", "$defs"}:
            # The names in here are the author's own: a parameter may well be called "title".
            result[key] = {name: _strict_node(part) for name, part in value.items()}
        elif key not in _LEFT_OUT:
            result["anyOf" if key == "oneOf" else key] = _strict_node(value)
    if result.get("type") == "object":
        result.setdefault("properties", {})
        result["required"] = list(result["properties"])
        result["additionalProperties"] = False
    if "$ref" in result and len(result) > 1:
        # Strict mode takes nothing beside a reference.
        result["anyOf"] = [{"$ref": result.pop("$ref")}]
    return result


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in node:
        if {"type": "null"} in node["anyOf"]:
            return node
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    if isinstance(node.get("type"), str) and "enum" not in node:
        return {**node, "type": [node["type"], "null"]} if node["type"] != "null" else node
    description = {"description": node["description"]} if "description" in node else {}
    return {**description, "anyOf": [{k: v for k, v in node.items() if k != "description"}, {"type": "null"}]}
