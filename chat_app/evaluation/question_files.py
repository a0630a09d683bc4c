"""Read the files of an evaluation: a JSON list, or one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from tools.errors import SourceRejected

Row = TypeVar("Row", bound=BaseModel)


def read_rows(file: Path, model: type[Row], needs: str) -> list[Row]:
    """Read at least one row; ``needs`` says what a row holds. Raises ``SourceRejected`` that names the bad row."""
    rows: list[Row] = []
    try:
        text = file.read_bytes()
        is_list = text.lstrip().startswith(b"[")
        objects: Iterable[Any] = orjson.loads(text) if is_list else map(orjson.loads, filter(None, text.splitlines()))
        rows.extend(map(model.model_validate, objects))
    except (OSError, ValueError):
        raise SourceRejected(f"{file.name}, row {len(rows) + 1}: each row needs {needs}.") from None
    if not rows:
        raise SourceRejected(f"{file.name} holds no rows; each needs {needs}.")
    return rows
