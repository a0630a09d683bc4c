"""Where one project's traces stand: ``<save_dir>/<project>/``, who writes them, and what is kept in them."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from chat_app.tracing.redaction import Redactor
from chat_app.tracing.trace_files import BACKUPS, MAX_BYTES, shared_key
from chat_app.tracing.writer import Job, TraceWriter, shared_writer

DEFAULT_SAVE_DIR = "traces"
_KEY_FILE = ".hash_key"


class TraceFolder:
    """A project's folder. ``keep_text``: patients' text is written as it is; else only its shape.

    Files of calls are rotated at ``max_bytes``; ``backups`` older ones are kept.
    """

    def __init__(
        self,
        save_dir: Path | str = DEFAULT_SAVE_DIR,
        project_name: str = "project",
        *,
        keep_text: bool = False,
        writer: TraceWriter | None = None,
        max_bytes: int = MAX_BYTES,
        backups: int = BACKUPS,
    ) -> None:
        self.save_dir = Path(save_dir)
        self.path = self.save_dir / _file_name(project_name)
        self.keep_text = keep_text
        self.max_bytes = max_bytes
        self.backups = backups
        self._writer = writer

    @property
    def writer(self) -> TraceWriter:
        return self._writer or shared_writer()

    def submit(self, job: Job) -> None:
        """Has ``job`` run in the writer's thread."""
        self.writer.submit(self.path, job)

    def file(self, name: str, suffix: str) -> Path:
        """The file for what is called ``name``, such as ``generator`` and ``_call.jsonl``."""
        return self.path / f"{_file_name(name)}{suffix}"

    @cached_property
    def redactor(self) -> Redactor:
        """Reads a file: for the writer's thread. Its hashes can be compared between runs and processes."""
        return Redactor(key=shared_key(self.save_dir / _KEY_FILE), keep_text=self.keep_text)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name).strip(".") or "_"
