"""``asclepius backup`` and ``asclepius restore``: the data directory as one file, consistent while the app runs.

SQLite files are copied by SQLite and the embedded Redis key by key, so that each is whole. Other files are copied again
when they change meanwhile. A PostgreSQL, Redis or Milvus that a setting names is backed up by its own tools.
"""

import json
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from chat_app import __version__
from chat_app.cli import shell
from chat_app.errors import ConfigurationError
from chat_app.settings import Settings

_LEFT_OUT: Final = frozenset({"run", "logs", "page", "redis"})
_SQLITE: Final = (".sqlite3", ".sqlite3-wal", ".sqlite3-shm", ".sqlite3-journal")
_REDIS: Final = "redis.jsonl"
_MANIFEST: Final = "asclepius-backup.json"
_COPIES: Final = 5

File = Annotated[Path, typer.Argument(help="The backup, a .zip file.", dir_okay=False)]


async def backup(file: File) -> None:
    """Write everything in the data directory to FILE, also while the app runs. Protect FILE like patient records."""
    from chat_app.embedded import embedded_services
    from chat_app.sessions.redis_copy import dump

    settings = shell.settings()
    data_dir = settings.storage.data_dir
    if not data_dir.is_dir():
        raise ConfigurationError(f"There is nothing to back up in {data_dir}: set ASCLEPIUS_DATA_DIR.")
    place = file.absolute().parent
    if not place.is_dir():
        raise ConfigurationError(f"{place} is no directory: create it, or name another place for the backup.")
    with tempfile.TemporaryDirectory(prefix="asclepius-backup-", dir=place) as folder:
        copy = Path(folder) / "content"
        copy.mkdir()
        async with embedded_services(settings, on_progress=shell.note_if_terminal) as services:
            await shell.recorded(settings, "backup", str(file))
            shell.note_if_terminal("Copying the data directory ...")
            if settings.storage.redis_url is None:
                await dump(services.urls.redis_url, copy / _REDIS)
            _copy_files(data_dir, copy / "data")
        manifest = {"version": __version__, "not_included": _external(settings)}
        (copy / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        shell.note_if_terminal("Packing the copy ...")
        _pack(copy, file)
    typer.echo(f"Wrote {file} ({file.stat().st_size / 1e6:,.1f} MB).")
    _tell_external(manifest)


async def restore(file: File) -> None:
    """Restore FILE into an empty data directory."""
    from chat_app.embedded import embedded_services
    from chat_app.sessions.redis_copy import load

    settings = shell.settings()
    data_dir = settings.storage.data_dir
    if data_dir.exists() and any(data_dir.iterdir()):
        raise ConfigurationError(
            f"{data_dir} is not empty: move it away, or set ASCLEPIUS_DATA_DIR to a new directory."
        )
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".asclepius-restore-", dir=data_dir.parent) as folder:
        shell.note_if_terminal("Unpacking the backup ...")
        try:
            shutil.unpack_archive(file, folder, "zip")
            manifest: dict[str, Any] = json.loads((Path(folder) / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise ConfigurationError(f"{file} is not a backup that can be read ({type(error).__name__}).") from None
        shutil.rmtree(data_dir, ignore_errors=True)
        (Path(folder) / "data").rename(data_dir)
        data_dir.chmod(0o700)
        keys = Path(folder) / _REDIS
        async with embedded_services(settings, on_progress=shell.note_if_terminal) as services:
            if settings.storage.redis_url is None and keys.exists():
                await load(services.urls.redis_url, keys)
            await shell.recorded(settings, "restore", str(file))
    typer.echo(f"Restored {file} into {data_dir}. Check it with `asclepius doctor --start`.")
    _tell_external(manifest)


def _pack(content: Path, file: Path) -> None:
    """Write ``content`` as one file that only its owner can read."""
    written = Path(shutil.make_archive(str(content.with_name("backup")), "zip", content))
    written.chmod(0o600)
    written.replace(file)


def _copy_files(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        if place.parts[0] in _LEFT_OUT or not path.is_file() or path.is_symlink():
            continue
        kept = target / place
        kept.parent.mkdir(parents=True, exist_ok=True)
        if path.name.endswith(_SQLITE[0]):
            address = f"{path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(kept)) as new:
                old.backup(new)
        elif not path.name.endswith(_SQLITE[1:]):
            _copy_unchanged(path, kept)


def _copy_unchanged(path: Path, kept: Path) -> None:
    """Copy a file, and again while it changes; a file that is removed meanwhile is left out."""
    try:
        for _ in range(_COPIES):
            before = path.stat()
            shutil.copy2(path, kept)
            after = path.stat()
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                return
    except FileNotFoundError:
        kept.unlink(missing_ok=True)
        return
    raise ConfigurationError(f"{path} changes all the time: back up when no guideline or drug data is being loaded.")


def _external(settings: Settings) -> list[str]:
    storage = settings.storage
    named = {
        "the history, which is in PostgreSQL: use pg_dump": storage.database_url,
        "the conversations, which are in the Redis of REDIS_URL": storage.redis_url,
        "the search index, which is in the Milvus of MILVUS_URI: use milvus-backup": storage.milvus_uri,
    }
    return [what for what, url in named.items() if url is not None]


def _tell_external(manifest: dict[str, Any]) -> None:
    for what in manifest["not_included"]:
        shell.note(f"Not included: {what}.")
