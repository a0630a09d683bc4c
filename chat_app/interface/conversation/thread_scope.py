"""The guideline library's scope for the files of one conversation."""

from __future__ import annotations

from uuid import UUID

from tools.guidelines import Scope


def scope_of_thread(thread_id: str) -> Scope | None:
    """The key of a conversation on the page; None for one that can have no files.

    A name is a conversation's only in the one way that the history writes it: another spelling is another conversation
    there, and must not find the files of this one.
    """
    try:
        known = UUID(thread_id)
    except ValueError:
        return None
    return Scope(known.hex) if str(known) == thread_id else None
