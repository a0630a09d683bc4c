"""How the served app logs: lines of text, or one JSON object per line with the ids of request, turn and conversation.

A line's ``extra={"fields": {...}}`` become members of its object.
"""

import json
import logging
from datetime import UTC, datetime

from chat_app.observability.log_ids import log_ids
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing.log_guard import guard_logs

_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's object; ``error`` describes its exception."""
        ids = log_ids.get()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **(ids.known() if ids else {}),
            **getattr(record, "fields", {}),
        }
        if record.exc_text or record.exc_info:
            line["error"] = record.exc_text or self.formatException(record.exc_info)  # type: ignore[arg-type]
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up_logs(settings: DiagnosticsSettings) -> None:
    """Log to standard error as ``settings`` say, with patients' text kept out."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    guard_logs()
    # Lower levels of Chainlit do not help operators, Alembic's come with each health check, httpx logs queries.
    for name in ("alembic", "chainlit", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
