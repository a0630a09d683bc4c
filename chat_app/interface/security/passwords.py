"""Password hashes for ``ASCLEPIUS_USERS``: scrypt with a random salt.

A hash reads ``scrypt$<log2 n>$<r>$<p>$<salt>$<key>``, base64url without padding, so it holds neither ``:`` nor ``,``.
"""

import base64
import hashlib
import hmac
import secrets
from functools import lru_cache

from chat_app.errors import ConfigurationError

# OWASP Password Storage Cheat Sheet (2024): scrypt with N=2^17, r=8, p=1; about 128 MiB and 0.3 s per check.
_LOG_N, _R, _P = 17, 8, 1
_KEY_BYTES = 32
_MEMORY = 192 * 1024 * 1024


def hash_password(password: str) -> str:
    """Return the hash for ``ASCLEPIUS_USERS``."""
    salt = secrets.token_bytes(16)
    return f"scrypt${_LOG_N}${_R}${_P}${_encode(salt)}${_encode(_derive(password, salt, _LOG_N, _R, _P))}"


def verify_password(password: str, hashed: str) -> bool:
    """Return whether ``password`` matches ``hashed``; a malformed hash matches nothing."""
    try:
        scheme, log_n, r, p, salt, key = hashed.split("$")
        if scheme != "scrypt" or not 14 <= int(log_n) <= 18:
            return False
        return hmac.compare_digest(_derive(password, _decode(salt), int(log_n), int(r), int(p)), _decode(key))
    except ValueError:
        return False


def parse_users(users: str) -> dict[str, str]:
    """Parse ``name:hash,name:hash``; raise ``ConfigurationError`` for a malformed entry."""
    found: dict[str, str] = {}
    for position, entry in enumerate((part.strip() for part in users.split(",") if part.strip()), start=1):
        name, separator, hashed = entry.partition(":")
        if not separator or not name or not hashed.startswith("scrypt$"):
            raise ConfigurationError(
                f"Entry {position} of ASCLEPIUS_USERS is not name:hash with a hash made by `asclepius hash-password`."
            )
        found[name] = hashed
    return found


@lru_cache(maxsize=1)
def decoy() -> str:
    """Return a hash without a known password; checking it makes an unknown name take as long as a known one."""
    return hash_password(secrets.token_urlsafe(32))


def _derive(password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=1 << log_n, r=r, p=p, maxmem=_MEMORY, dklen=_KEY_BYTES)


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode(value: str) -> bytes:
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
