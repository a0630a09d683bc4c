"""Migrations of the database, run at start, one process at a time."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import AsyncEngine

from chat_app.database.database_engine import configured_url, database_engine, lock_database
from chat_app.database.versions.r0001_history import TABLES
from chat_app.errors import ConfigurationError
from chat_app.settings import Settings

_FOLDER: Final = Path(__file__).parent
_NEWER: Final = (
    "The database was written by a newer version of Asclepius: install that version, or restore a backup of this one."
)


@asynccontextmanager
async def migrated_database(settings: Settings) -> AsyncGenerator[AsyncEngine]:
    """Open the configured database with this version's schema until the block ends."""
    engine = database_engine(configured_url(settings))
    try:
        await migrate(engine)
        yield engine
    finally:
        await engine.dispose()


async def migrate(engine: AsyncEngine) -> None:
    """Bring the database to this version's schema. Raises ``ConfigurationError`` when a newer version wrote it."""
    async with engine.begin() as connection:
        await connection.run_sync(lock_database)
        await connection.run_sync(_upgrade)


async def schema_problems(engine: AsyncEngine) -> list[str]:
    """Return in what the database's schema differs from this version's; empty when it fits."""
    async with engine.connect() as connection:
        return await connection.run_sync(_problems)


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(_FOLDER), version_locations=[str(_FOLDER / "versions")])


def _upgrade(connection: Connection) -> None:
    scripts = _scripts()

    def steps(revision: Any, _context: object) -> Any:
        return scripts._upgrade_revs("head", revision)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  (as alembic's own command)

    try:
        with EnvironmentContext(Config(), scripts, fn=steps) as environment:
            environment.configure(connection=connection, transactional_ddl=False)
            environment.run_migrations()
    except CommandError:
        raise ConfigurationError(_NEWER) from None


def _problems(connection: Connection) -> list[str]:
    scripts = _scripts()
    current, wanted = MigrationContext.configure(connection).get_current_revision(), scripts.get_current_head()
    if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
        return [_NEWER]
    if current != wanted:
        return [f"The database has schema {current or 'none'}, and this version needs {wanted}: restart the app."]
    found = inspect(connection)
    tables: Sequence[str] = found.get_table_names()
    missing = [
        f"{table}.{column}"
        for table, columns in TABLES.items()
        for column in columns.keys() - ({c["name"] for c in found.get_columns(table)} if table in tables else set())
    ]
    return [f"The database lacks {', '.join(sorted(missing))}: restore a backup."] if missing else []
