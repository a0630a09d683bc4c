"""The Lua scripts that Redis runs for the session store, from the folder ``lua``; each is atomic.

Those of a conversation take the same keys, so that it is in one hash slot and its keys expire together:
1 session (hash), 2 messages (list), 3 numbers (hash: passage id -> number), 4 passages (hash: passage id -> JSON),
5 streaming states and kept responses (hash: request id, or ``response:`` and the turn id -> JSON), 6-10 the same for
unreadable records that were moved aside.

``prelude`` precedes each of them. ``ARGV[1]`` is the time to live in seconds. Each returns ``{records moved aside,
status, ...}``; the status is ``ok``, ``gone`` (no such conversation, or another user's) or ``conflict``.

``peek`` and ``remember`` go without. They serve the index of a user's conversations, a sorted set of session ids by the
time of their last use. A conversation in it may have expired.
"""

from functools import cache
from pathlib import Path
from typing import Final

PARTS: Final = ("session", "messages", "numbers", "passages", "streaming")


def session_key(session_id: str, part: str) -> str:
    """Return the key of ``part``; the braces keep all parts of a conversation in one hash slot."""
    return f"asclepius:{{{session_id}}}:{part}"


@cache
def script(name: str) -> str:
    """Return the script of that name."""
    return Path(__file__).with_name("lua").joinpath(f"{name}.lua").read_text("utf-8")
