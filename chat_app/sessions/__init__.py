"""Conversations between turns: their chain, messages, retrieved passages and the lock of the turn that runs."""

from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import (
    Message,
    ResumableTurn,
    RetrievedPassage,
    Session,
    SessionSummary,
    StreamingState,
    is_session_id,
    new_session_id,
)

__all__ = [
    "Message",
    "RedisSessionStore",
    "ResumableTurn",
    "RetrievedPassage",
    "Session",
    "SessionSummary",
    "StreamingState",
    "is_session_id",
    "new_session_id",
]
