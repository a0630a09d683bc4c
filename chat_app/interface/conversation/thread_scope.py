"""The guideline library's scope for the files of one conversation."""

from uuid import UUID

from tools.guidelines import Scope


def scope_of_thread(thread_id: str) -> Scope | None:
    """Return the scope of a conversation on the page; None for one that can have no files.

    Only the spelling that the history writes is accepted: another spelling is another conversation there.
    """
    try:
        known = UUID(thread_id)
    except ValueError:
        return None
    return Scope(known.hex) if str(known) == thread_id else None
