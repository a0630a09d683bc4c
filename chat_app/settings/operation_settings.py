"""Settings of storage, logs, traces, audit and retention."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from chat_app.settings.environment import AbsolutePath, Section


class StorageSettings(Section):
    """Where things are kept. An unset URL means: the app starts that service itself, in the data directory."""

    data_dir: AbsolutePath = Path(".asclepius")
    """Directory for everything the app keeps: index, sessions, history, guideline files."""
    milvus_uri: str | None = Field(None, validation_alias="MILVUS_URI")
    """A Milvus server, such as http://milvus:19530."""
    milvus_token: SecretStr | None = Field(None, validation_alias="MILVUS_TOKEN")
    """Token of that Milvus server, when it asks for one."""
    redis_url: SecretStr | None = Field(None, validation_alias="REDIS_URL")
    """A Redis server, such as redis://redis:6379/0."""
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")
    """Database of history and feedback, such as postgresql://user:password@db/asclepius; it must exist, and its driver
    is the extra `postgres`. The tables are made at the first start."""
    session_ttl: int = Field(86_400, ge=60)
    """Seconds after the last question for which a conversation can go on."""


class DiagnosticsSettings(Section):
    """Logs and traces."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much is logged. No level logs questions or answers."""
    log_format: Literal["text", "json"] = "text"
    """Lines of text, or one JSON object per line with the ids of the request, the turn and the conversation."""
    access_log: bool = False
    """Log every request with its route, status and duration, without its address or query."""
    metrics_port: int | None = Field(None, ge=0, le=65_535)
    """Port of the Prometheus metrics, at /metrics; 0 takes a free one. Unset: none. They contain no text and no ids."""
    metrics_host: str = "127.0.0.1"
    """Address that the metrics' port listens on. It asks for no password but the token: keep it inside your network."""
    metrics_token: SecretStr | None = None
    """Token required to read the metrics, sent as `Authorization: Bearer TOKEN`. Unset: no token is required."""
    trace_dir: AbsolutePath | None = None
    """Directory for traces: the history of the prompt, and a record of the model's calls. Unset: none are written."""
    trace_calls: Literal["failures", "all"] = "failures"
    """Which calls of the model are recorded in the trace directory."""
    trace_text: bool = False
    """Write questions, answers and tool results into traces and spans as they are; else only their lengths and hashes.
    With patients' data this makes the trace directory, and whatever collects the spans, as sensitive as the charts."""
    otel: bool = False
    """Send OpenTelemetry spans and timings of each turn to where the OTEL_EXPORTER_OTLP_... variables say."""


class GovernanceSettings(Section):
    """Audit log, retention and erasure."""

    audit: Literal["required", "lenient", "off"] = "required"
    """required: an action that cannot be recorded is refused. lenient: it is carried out and logged. off: no audit
    log. Entries wait in the data directory while the database is down."""
    audit_text: bool = False
    """Keep the text of questions in the audit log."""
    audit_file: Path | None = None
    """File that also gets every audit entry, as a line of JSON."""
    audit_syslog: str | None = None
    """Syslog that also gets every audit entry: the path of its socket, or host:port (UDP)."""
    audit_retention_days: int | None = Field(None, ge=1)
    """Days after which audit entries are deleted; unset keeps them."""
    retention_days: int | None = Field(None, ge=1)
    """Days after their last use for which conversations, with their files and feedback, are kept; unset keeps them."""
