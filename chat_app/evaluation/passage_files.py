"""Guidelines of an evaluation: a folder of files, or a JSON list of passages, each written as a file."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tools.errors import SourceRejected


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
