"""The names of a conversation's keys in Redis."""

from __future__ import annotations


def session_key(session_id: str, part: str) -> str:
    """Return the key of ``part``; the braces keep all parts of a conversation in one hash slot."""
    return f"asclepius:{{{session_id}}}:{part}"
