"""Users with the hashes of their passwords, and API keys.

Both are in files of the data directory, which are read again when they change.

``asclepius users`` and ``asclepius keys`` write them. A running app follows at once: a removed user, a changed password
and a revoked key count from the next request on.

The hash of a password reads ``scrypt$<log2 n>$<r>$<p>$<salt>$<key>``, base64url without padding, so it holds neither
``:`` nor ``,``.
"""

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar

from jwt.utils import base64url_decode, base64url_encode
from pydantic import BaseModel, Field, ValidationError

from chat_app.data_protection import file_lock, replace_private
from chat_app.errors import AsclepiusError, ConfigurationError
from chat_app.roles import Role
from chat_app.settings import Settings
from tools.types import Frozen

Scope = Literal["read", "ask"]
"""A key with ``read`` may fetch; one with ``ask`` may also ask, change and delete."""
KEY_PREFIX: Final = "ask_"
# OWASP Password Storage Cheat Sheet (2024): scrypt with N=2^17, r=8, p=1; about 128 MiB and 0.3 s per check.
_LOG_N, _R, _P = 17, 8, 1
_KEY_BYTES = 32
_MEMORY = 192 * 1024 * 1024

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)


class SignInUnavailable(AsclepiusError):
    """The file of users or keys cannot be read, so nobody can be let in; the log says why."""

    def __init__(self) -> None:
        super().__init__("Nobody can sign in at the moment. Tell whoever runs this server.")


class Account(Frozen):
    """A user. Logins from before ``changed``, in seconds since 1970, are not valid."""

    password: str = Field(repr=False)
    role: Role = "reader"
    changed: float


class Accounts(Frozen):
    """All users by name."""

    users: dict[str, Account] = Field(default_factory=dict)


class ApiKey(Frozen):
    """A key without its secret. ``expires``: seconds since 1970."""

    user: str
    digest: str = Field(repr=False)
    scope: Scope
    created: int
    expires: int


class ApiKeys(Frozen):
    """All keys by id."""

    keys: dict[str, ApiKey] = Field(default_factory=dict)


class FollowedFile(Generic[M]):
    """A JSON file that is parsed again when it has changed, and replaced as a whole."""

    def __init__(self, path: Path, kind: type[M]) -> None:
        self.path = path
        self._kind = kind
        self._seen: tuple[int, int] | None = None
        self._value = kind()
        self._logged = ""

    def read(self) -> M:
        """Return the content; an absent file is empty. Raises ``ConfigurationError`` for one that cannot be read."""
        try:
            found = self.path.stat()
            seen = (found.st_mtime_ns, found.st_ino)
            if seen != self._seen:
                self._value, self._seen = self._kind.model_validate_json(self.path.read_bytes()), seen
        except (FileNotFoundError, NotADirectoryError):
            self._seen, self._value = None, self._kind()
        except ValidationError:
            raise ConfigurationError(f"{self.path} is damaged: restore it from a backup, or remove it.") from None
        except OSError as error:
            raise ConfigurationError(
                f"{self.path} cannot be read ({error.strerror}): make it readable for the user who runs Asclepius."
            ) from None
        return self._value

    def current(self) -> M:
        """Like ``read``, for requests, whose senders must not see the path. Raises ``SignInUnavailable``.

        A failure is logged once, until the file can be read again.
        """
        try:
            value = self.read()
        except ConfigurationError as error:
            if str(error) != self._logged:
                logger.error("%s Its users are refused until then.", error)  # noqa: TRY400 - no traceback
                self._logged = str(error)
            raise SignInUnavailable from None
        self._logged = ""
        return value

    def change(self, change: Callable[[M], M]) -> None:
        """Replace the content by ``change`` of it; two processes wait for one another."""
        with file_lock(self.path.with_suffix(".lock")):
            replace_private(self.path, change(self.read()).model_dump_json(indent=2))


def accounts_at(data_dir: Path) -> FollowedFile[Accounts]:
    """Return the users' file of a data directory."""
    return FollowedFile(data_dir / "users.json", Accounts)


def api_keys_at(data_dir: Path) -> FollowedFile[ApiKeys]:
    """Return the keys' file of a data directory."""
    return FollowedFile(data_dir / "api_keys.json", ApiKeys)


def account_problems(settings: Settings) -> list[str]:
    """Return why the users and keys that ``settings`` name cannot be read."""
    data_dir, users = settings.storage.data_dir, settings.server.users
    readers: list[Callable[[], object]] = [api_keys_at(data_dir).read]
    if settings.server.auth == "password":
        readers += [accounts_at(data_dir).read, lambda: parse_users(users.get_secret_value() if users else "")]
    problems = []
    for read in readers:
        try:
            read()
        except ConfigurationError as error:
            problems.append(str(error))
    return problems


def account_warnings(settings: Settings) -> list[str]:
    """Return that nobody can sign in, if the settings and the readable file of users name no user."""
    file, users = accounts_at(settings.storage.data_dir), settings.server.users
    if settings.server.auth != "password" or (users and users.get_secret_value().strip()):
        return []
    with suppress(ConfigurationError):
        return [] if file.read().users else [no_user(file.path)]
    return []


def no_user(path: Path) -> str:
    """Return the warning that the file of users is empty."""
    return f"Nobody can sign in: {path} holds no user. Run `asclepius users add NAME`."


def create_key(file: FollowedFile[ApiKeys], user: str, scope: Scope, days: int) -> str:
    """Store a new key of ``user`` and return it with its secret, which is kept nowhere."""
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    now = int(time.time())
    key = ApiKey(user=user, digest=_digest(secret), scope=scope, created=now, expires=now + days * 86_400)
    file.change(lambda held: ApiKeys(keys={**held.keys, name: key}))
    return f"{KEY_PREFIX}{name}_{secret}"


def key_id(given: str) -> str:
    """Return the id within a key, which names it without its secret."""
    return given.removeprefix(KEY_PREFIX).partition("_")[0]


def find_key(file: FollowedFile[ApiKeys], given: str) -> ApiKey | None:
    """Return the key that was given, unless it is unknown, wrong or expired. Raises ``SignInUnavailable``."""
    secret = given.removeprefix(KEY_PREFIX).partition("_")[2]
    key = file.current().keys.get(key_id(given))
    if key is None or not hmac.compare_digest(key.digest, _digest(secret)) or key.expires <= time.time():
        return None
    return key


def _digest(secret: str) -> str:
    # The secret is random and long, so that a fast hash is enough.
    return hashlib.sha256(secret.encode()).hexdigest()


def hash_password(password: str) -> str:
    """Return the hash for ``ASCLEPIUS_USERS``."""
    salt = secrets.token_bytes(16)
    coded = (base64url_encode(part).decode() for part in (salt, _derive(password, salt, _LOG_N, _R, _P)))
    return f"scrypt${_LOG_N}${_R}${_P}${'$'.join(coded)}"


def verify_password(password: str, hashed: str) -> bool:
    """Return whether ``password`` matches ``hashed``; a malformed hash matches nothing."""
    try:
        scheme, log_n, r, p, salt, key = hashed.split("$")
        if scheme != "scrypt" or not 14 <= int(log_n) <= 18:
            return False
        derived = _derive(password, base64url_decode(salt), int(log_n), int(r), int(p))
        return hmac.compare_digest(derived, base64url_decode(key))
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
