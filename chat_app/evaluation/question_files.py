"""Read the files of an evaluation: a JSON list, or one JSON object a line."""

from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from tools.errors import SourceRejected

Row = TypeVar("Row", bound=BaseModel)


def read_rows(file: Path, model: type[Row], needs: str) -> list[Row]:
    """Read at least one row; ``needs`` says what a row holds. Raises ``SourceRejected`` that names the bad row.

    Blank lines are no rows, but count.
    """
    rows: list[Row | None] = []
    try:
        text = file.read_bytes()
        if text.lstrip().startswith(b"["):
            rows.extend(map(model.model_validate, orjson.loads(text)))
        else:
            lines = text.splitlines()
            rows.extend(model.model_validate(orjson.loads(line)) if line.strip() else None for line in lines)
    except (OSError, ValueError):
        raise SourceRejected(f"{file.name}, row {len(rows) + 1}: each row needs {needs}.") from None
    found = [row for row in rows if row is not None]
    if not found:
        raise SourceRejected(f"{file.name} holds no rows; each needs {needs}.")
    return found


def guideline_folder(path: Path, scratch: Path) -> Path:
    """Return ``path`` when it is a folder; else write its passages under ``scratch``. Raises ``SourceRejected``."""
    if path.is_dir():
        return path
    try:
        texts = TypeAdapter(list[str]).validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise SourceRejected(f"{path.name} is neither a folder of guidelines nor a JSON list of passages.") from None
    folder = scratch / "passages"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"passage-{number:05}.txt").write_text(f"{text}\n", encoding="utf-8")
    return folder
