"""Answers as JSON, when the request asks for it: the extracts go into the fields that the schema has for them."""

from typing import Any

import orjson

from chat_app.offline.schema_filling.arguments import FillSource, fill_schema
from chat_app.offline.wire.model import Answer

Json = dict[str, Any]


def formatted(answer: Answer, question: str, wanted: Json) -> Answer:
    """``answer`` in the request's ``text.format``: as it is, or as JSON that fits the schema."""
    match wanted.get("type"):
        case "json_schema":
            schema: Json = wanted.get("schema") or {}
            body = fill_schema("answer", schema, FillSource(question, schema, answer.text), optional=False)
        case "json_object":
            body = {"answer": answer.text}
        case _:
            return answer
    return Answer(orjson.dumps(body).decode())
