"""A real PostgreSQL server for tests, from the installed binaries.

PostgreSQL refuses to run as root, so it then runs as the user ``postgres`` or ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import asyncpg

from tests.support.services import running


def postgres_binary(name: str) -> str | None:
    """Return the path of a PostgreSQL program, or None; Debian keeps them outside PATH."""
    newest_first = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or next(map(str, newest_first), None)


@contextmanager
def postgres_server() -> Generator[str]:
    """Run a server on a Unix socket; yield the URL of its first database."""
    initdb, server, is_ready = (_program(name) for name in ("initdb", "postgres", "pg_isready"))
    with tempfile.TemporaryDirectory(prefix="asc-pg-") as folder:
        user = _unprivileged()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = str(Path(folder) / "data")
        subprocess.run(
            [initdb, "-D", data, "-U", "asclepius", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            user=user.pw_uid if user else None,
        )
        command = [server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        drop = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []
        url = f"postgresql+asyncpg://asclepius@/postgres?host={folder}"
        asking = [is_ready, "-q", "-h", folder]
        with running(drop + command, lambda: subprocess.run(asking, check=False).returncode == 0, what="PostgreSQL"):
            yield url


async def fresh_database(url: str) -> str:
    """Create an empty database on the server of ``url``; return its URL."""
    folder = url.partition("host=")[2]
    name = f"test_{uuid4().hex}"
    connection = await asyncpg.connect(host=folder, user="asclepius", database="postgres")
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
    return url.replace("/postgres?", f"/{name}?")


def _program(name: str) -> str:
    found = postgres_binary(name)
    assert found is not None, f"{name} is missing"
    return found


def _unprivileged() -> pwd.struct_passwd | None:
    if os.geteuid():
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")
