"""The errors of the app, as a small tree below ``AsclepiusError``.

A message says in English, for operators and API clients, what happened and what to do. It never holds patient text, a
key or a server's payload. ``code`` and ``params`` identify the sentence that readers see, in their own language.
"""

from collections.abc import Mapping
from typing import Literal

ErrorCode = Literal[
    "answer_damaged",
    "answer_stalled",
    "answer_truncated",
    "audit_unavailable",
    "configuration",
    "conversation_busy",
    "conversation_moved_on",
    "files_unavailable",
    "guidelines_unavailable",
    "input_rejected",
    "internal",
    "message_empty",
    "message_malformed",
    "message_too_long",
    "model_server_busy",
    "model_server_error",
    "model_server_refused",
    "model_server_unreachable",
    "server_stopped",
    "session_store_unavailable",
    "too_many_at_once",
    "too_many_models",
    "too_many_per_minute",
]
MessageParams = Mapping[str, str | int]
"""Values for the placeholders of a reader's message."""


class AsclepiusError(Exception):
    """Base of every error the app raises on purpose."""

    code: ErrorCode = "internal"

    def __init__(self, message: str, *, code: ErrorCode | None = None, params: MessageParams | None = None) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.params: MessageParams = params or {}


class ConfigurationError(AsclepiusError):
    """A setting is missing, malformed or unsafe."""

    code: ErrorCode = "configuration"


class InputRejected(AsclepiusError):
    """The message cannot be taken as it is."""

    code: ErrorCode = "input_rejected"


class ProviderError(AsclepiusError):
    """The model server did not do what was asked. ``retry_after``: seconds, when it said how long to wait."""

    code: ErrorCode = "model_server_error"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderUnavailable(ProviderError):
    """The model server cannot be reached, fails (5xx), or is not a Responses server."""

    code: ErrorCode = "model_server_unreachable"


class ProviderRejected(ProviderError):
    """The model server refused the request (400, 401, 403, 404); sent again unchanged it would be refused again."""

    code: ErrorCode = "model_server_refused"

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class RateLimited(ProviderError):
    """The model server asks to wait (429)."""

    code: ErrorCode = "model_server_busy"


class PreviousResponseNotFound(ProviderError):
    """The response that this turn would chain to is unknown to the server; not ``supported``: it never keeps any."""

    def __init__(self, message: str, *, supported: bool = True) -> None:
        super().__init__(message)
        self.supported = supported


class ProtocolViolation(ProviderError):
    """The stream sent something that the protocol does not allow; the message never holds it."""

    code: ErrorCode = "answer_damaged"


class StreamTruncated(ProviderError):
    """The stream ended before the event that says how it ended."""

    code: ErrorCode = "answer_truncated"


class StreamStalled(ProviderError):
    """No event arrived within the deadline; ``time_is_up``: the one for the whole response has passed."""

    code: ErrorCode = "answer_stalled"

    def __init__(self, message: str, *, time_is_up: bool = False) -> None:
        super().__init__(message)
        self.time_is_up = time_is_up


class SessionError(AsclepiusError):
    """The conversation's stored state."""

    code: ErrorCode = "session_store_unavailable"


class SessionStoreUnavailable(SessionError):
    """Redis cannot be reached or did not answer in time."""


class SessionBusy(SessionError):
    """Another question of the same conversation is still being answered."""

    code: ErrorCode = "conversation_busy"


class TurnTakenOver(SessionError):
    """Another process writes the turn, because this one seemed dead."""


class ChainConflict(SessionError):
    """The conversation's last response changed while this turn ran."""

    code: ErrorCode = "conversation_moved_on"


class EmbeddedServiceError(AsclepiusError):
    """A service that the app starts itself did not come up or stay up."""


class AuditUnavailable(AsclepiusError):
    """An action cannot be recorded in the audit log, so it is refused."""

    code: ErrorCode = "audit_unavailable"
