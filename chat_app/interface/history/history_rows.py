"""Rows of the history as Chainlit's page expects them, with decoded JSON and feedback."""

import json
import re
from typing import Any, cast

from chainlit.element import ElementDict
from chainlit.step import StepDict
from chainlit.types import ThreadDict

from chat_app.database.versions.r0001_history import TABLES

STEP_COLUMNS, ELEMENT_COLUMNS = tuple(TABLES["steps"]), tuple(TABLES["elements"])
Row = dict[str, Any]
_CITATION = re.compile(r"\[\\\[(\d+)\\\]\]\(#cite-[^)]*\)")
_MARKUP = re.compile(r"^\s*(?:[-*>]|#+)\s|[\\*]", re.MULTILINE)
_BEFORE, _SNIPPET = 40, 110
_UNKEPT = re.compile("[\0\ud800-\udfff]")


def encoded_value(column: str, value: Any) -> Any:
    """Encode ``value`` for ``column``."""
    if column == "showInput":
        return None if value is None else str(value).lower()
    return encoded_json(value) if isinstance(value, dict | list) else kept(value)


def encoded_json(value: Any) -> str:
    """Encode ``value`` as JSON that both databases accept."""
    return json.dumps(kept(value))


def kept(value: Any) -> Any:
    """Remove from ``value`` what PostgreSQL text cannot hold: NUL and lone surrogates."""
    if isinstance(value, str):
        return _UNKEPT.sub("\ufffd", value)
    if isinstance(value, dict):
        return {kept(key): kept(entry) for key, entry in value.items()}
    return [kept(entry) for entry in value] if isinstance(value, list | tuple) else value


def decoded_value(value: Any, default: Any) -> Any:
    """Decode a JSON column; return ``default`` when it is empty or invalid."""
    if not isinstance(value, str):
        return default if value is None else value
    try:
        return json.loads(value)
    except ValueError:
        return default


def thread_of(row: Row) -> ThreadDict:
    """Decode a conversation without its messages."""
    decoded = {column: row[column] for column in ("id", "createdAt", "name", "userId", "userIdentifier")}
    decoded |= {"tags": decoded_value(row["tags"], None), "metadata": decoded_value(row["metadata"], {})}
    return cast("ThreadDict", {**decoded, "steps": [], "elements": []})


def hit(row: Row, words: str) -> str:
    """Return the name of a conversation that a search found, with its day and the text around ``words``."""
    plain = _MARKUP.sub("", _CITATION.sub(r"[\1]", row["found"] or ""))
    shown = " ".join(plain.split())
    at = max(0, shown.lower().find(words.lower()) - _BEFORE)
    snippet = f"{'…' if at else ''}{shown[at : at + _SNIPPET]}{'…' if shown[at + _SNIPPET :] else ''}"
    return "\n".join(filter(None, (row["name"], " · ".join(filter(None, (row["updatedAt"][:10], snippet))))))


def step_of(row: Row) -> StepDict:
    """Decode a message or step with its feedback."""
    shown = row["showInput"] not in (None, "false")
    feedback = {"forId": row["id"]} | {key: row[f"feedback_{key}"] for key in ("id", "value", "comment")}
    decoded = {column: row[column] for column in STEP_COLUMNS}
    decoded |= {column: bool(row[column]) for column in ("isError", "defaultOpen", "autoCollapse", "waitForAnswer")}
    decoded |= {column: decoded_value(row[column], None) for column in ("tags", "modes", "generation")}
    decoded |= {
        "streaming": False,
        "metadata": decoded_value(row["metadata"], {}),
        "input": row["input"] or "" if shown else "",
        "output": row["output"] or "",
        "feedback": feedback if feedback["value"] is not None else None,
        "showInput": row["showInput"] if shown else False,
    }
    return cast("StepDict", decoded)


def element_of(row: Row) -> ElementDict:
    """Decode an element with its properties."""
    return cast("ElementDict", {**row, "props": decoded_value(row["props"], {})})
