"""The errors of the app, as a small tree.

    AsclepiusError
    ├── ConfigurationError           a setting is missing, wrong or unsafe; names the setting
    ├── InputRejected                the message itself cannot be taken (empty, too long)
    ├── ProviderError                the model server
    │   ├── ProviderUnavailable      cannot be reached, 5xx, or what answers is no Responses server
    │   ├── ProviderRejected         400/401/403/404: will not work again unchanged; names the setting to mend
    │   ├── RateLimited              429: the server asks to wait
    │   ├── PreviousResponseNotFound the chain's last response is gone, or the server does not chain
    │   ├── ProtocolViolation        the stream broke the protocol; the payload is never in the message
    │   ├── StreamTruncated          the stream ended before its terminal event
    │   └── StreamStalled            no event within the idle or total deadline
    ├── SessionError
    │   ├── SessionStoreUnavailable  Redis cannot be reached
    │   ├── SessionBusy              another question of the same conversation is being answered
    │   └── ChainConflict            the conversation moved on under this turn
    └── EmbeddedServiceError         a service that the app starts itself did not come up

A message says what happened and what to do. It never holds patient text, a key or a server's payload.
"""

from __future__ import annotations


class AsclepiusError(Exception):
    """Base of every error the app raises on purpose."""


class ConfigurationError(AsclepiusError):
    """A setting is missing, malformed or unsafe."""


class InputRejected(AsclepiusError):
    """The message cannot be taken as it is."""


class ProviderError(AsclepiusError):
    """The model server did not do what was asked. ``retry_after``: seconds, when it said how long to wait."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderUnavailable(ProviderError):
    """The model server cannot be reached, fails, or is not a Responses server."""


class ProviderRejected(ProviderError):
    """The model server refused the request; sending it again unchanged will not help."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class RateLimited(ProviderError):
    """The model server asks to wait."""


class PreviousResponseNotFound(ProviderError):
    """The response that this turn would chain to is unknown to the server; not ``supported``: it never keeps any."""

    def __init__(self, message: str, *, supported: bool = True) -> None:
        super().__init__(message)
        self.supported = supported


class ProtocolViolation(ProviderError):
    """The stream sent something that the protocol does not allow."""


class StreamTruncated(ProviderError):
    """The stream ended before the event that says how it ended."""


class StreamStalled(ProviderError):
    """No event arrived within the deadline; ``time_is_up``: the one for the whole response has passed."""

    def __init__(self, message: str, *, time_is_up: bool = False) -> None:
        super().__init__(message)
        self.time_is_up = time_is_up


class SessionError(AsclepiusError):
    """The conversation's stored state."""


class SessionStoreUnavailable(SessionError):
    """Redis cannot be reached or did not answer in time."""


class SessionBusy(SessionError):
    """Another question of the same conversation is still being answered."""


class ChainConflict(SessionError):
    """The conversation's last response changed while this turn ran."""


class EmbeddedServiceError(AsclepiusError):
    """A service that the app starts itself did not come up or stay up."""
