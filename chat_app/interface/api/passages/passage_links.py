"""Addresses that other programs get: of the page with a question filled in, and of passages.

A signed link opens without a login until it expires, for clients whose users have none here. Without a valid signature
the page asks for a login. Links to a conversation's own files are never signed.
"""

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlencode

from chat_app.events import Reference
from tools.guidelines import scope_of

LINK_SECONDS: Final = 7 * 86_400
MOST_QUOTES: Final = 3
LONGEST_QUOTE: Final = 400


def page_link(base: str, question: str) -> str:
    """Return the address of the page with ``question`` filled in. A fragment reaches no server and no log."""
    return f"{base}/#ask={quote(question)}"


class PassageLinks:
    """Makes and checks links with the secret that signs logins; ``clock`` returns seconds since 1970."""

    def __init__(self, secret: str, *, clock: Callable[[], float] = time.time) -> None:
        self._key = hashlib.sha256(f"passage links\n{secret}".encode()).digest()
        self._clock = clock

    def of(self, reference: Reference, base: str) -> str | None:
        """Return the address of the reference's passage below ``base``; one that is stored nowhere has its source's."""
        passage = reference.passage
        if passage.kind in {"calculation", "external"}:
            return passage.url
        shown = [one for one in reference.quotes if len(one) <= LONGEST_QUOTE][:MOST_QUOTES]
        query = [("quote", one) for one in shown]
        if scope_of(passage.id) is None:
            until = int(self._clock()) + LINK_SECONDS
            query += [("until", str(until)), ("key", self._signature(passage.id, until))]
        return f"{base}/passages/{quote(passage.id, safe=':@')}?{urlencode(query)}".rstrip("?")

    def is_valid(self, passage_id: str, until: int, key: str) -> bool:
        right = hmac.compare_digest(key.encode(), self._signature(passage_id, until).encode())
        return right and until > self._clock() and scope_of(passage_id) is None

    def _signature(self, passage_id: str, until: int) -> str:
        return hmac.new(self._key, f"{until}\n{passage_id}".encode(), hashlib.sha256).hexdigest()[:32]
