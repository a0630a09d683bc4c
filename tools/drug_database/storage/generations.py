"""Names the states of the drug index in Milvus, and removes those that killed imports left.

A generation's name tells when, on which machine and by which process it was begun, so that a later import on that
machine can tell whether it is still being written.
"""

import hashlib
import os
import secrets
import socket
import time
from typing import Final, NamedTuple

from tools.milvus.connection import Client

WRITE_SECONDS: Final = 120.0
_OTHERS_MAY_WRITE: Final = 3600
"""Seconds for which an unfinished generation may still be another machine's running import."""


class Generation(NamedTuple):
    """The three collections of one state."""

    records: str

    @property
    def parts(self) -> str:
        """Return the collection of pieces."""
        return f"{self.records}_parts"

    @property
    def facts(self) -> str:
        """Return the collection of what each source said."""
        return f"{self.records}_facts"

    @property
    def all(self) -> tuple[str, str, str]:
        """Return all collections of the generation."""
        return (self.records, self.parts, self.facts)


def new_generation(alias: str) -> Generation:
    """Name a generation by time, machine and process."""
    return Generation(f"{alias}_{int(time.time()):x}_{_machine()}_{os.getpid():x}_{secrets.token_hex(3)}")


def _machine() -> str:
    """Return this machine or container in six letters."""
    return hashlib.blake2s(socket.gethostname().encode(), digest_size=3).hexdigest()


def drop(client: Client, generation: Generation) -> None:
    """Drop the collections of a generation."""
    for name in generation.all:
        if client.has_collection(name, timeout=WRITE_SECONDS):
            client.drop_collection(name, timeout=WRITE_SECONDS)


def drop_leftovers(client: Client, alias: str, keep: Generation | None) -> int:
    """Remove what killed imports left behind and return the number."""
    dropped = 0
    for name in client.list_collections(timeout=WRITE_SECONDS):
        if not name.startswith(f"{alias}_") or name.endswith(("_parts", "_facts")):
            continue
        if (keep is None or name != keep.records) and _is_abandoned(name.removeprefix(f"{alias}_")):
            drop(client, Generation(name))
            dropped += 1
    return dropped


def _is_abandoned(begun: str) -> bool:
    """Return whether the generation is stale: its start is too old, or its process on this machine has ended."""
    try:
        started, machine, pid, _ = begun.split("_")
        age = time.time() - int(started, 16)
        return age > _OTHERS_MAY_WRITE or (machine == _machine() and not _lives(int(pid, 16)))
    except ValueError:
        return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
