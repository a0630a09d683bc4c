"""The scope of a document: the library, for everybody, or a single conversation.

A conversation is identified by a key that the app chooses. The ids of its documents consist of that key and a hash of
the file's name: ids are in addresses and in the index, and the name of a file may contain a patient's name.
"""

import hashlib
import re
from typing import NewType

Scope = NewType("Scope", str)
"""A conversation's key: 32 hexadecimal digits."""
_OWN = re.compile(r"(?:guideline:)?own-([0-9a-f]{32})-[0-9a-f]{16}(?![a-z0-9-])")


def own_id(scope: Scope, file_name: str) -> str:
    """Return the id of a conversation's own document; a changed file of the same name is another version of it."""
    digest = hashlib.sha256(f"{scope}:{file_name}".encode(errors="surrogatepass")).hexdigest()
    return f"own-{scope}-{digest[:16]}"


def scope_of(name: str) -> Scope | None:
    """Return the conversation that owns a document, version or passage id; None for the library."""
    match = _OWN.match(name)
    return Scope(match[1]) if match else None
