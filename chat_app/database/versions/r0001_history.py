"""Conversations, messages, elements and feedback.

Names are those of Chainlit's queries. Structures are JSON in text columns. Databases of versions without migrations
have these tables already, so only what is missing is made.
"""

import tomllib
from pathlib import Path

from alembic import op
from sqlalchemy import inspect

revision = "0001"
down_revision = None

TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""The type of each column of each table."""
INDEXES = (
    'CREATE INDEX IF NOT EXISTS threads_of_user ON threads ("userId", "updatedAt")',
    'CREATE INDEX IF NOT EXISTS steps_of_thread ON steps ("threadId", "createdAt")',
    'CREATE INDEX IF NOT EXISTS elements_of_thread ON elements ("threadId")',
)


def upgrade() -> None:
    """Create missing tables, and missing columns of tables that exist."""
    found = inspect(op.get_bind())
    known = set(found.get_table_names())
    for table, columns in TABLES.items():
        if table not in known:
            listed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            op.execute(f"CREATE TABLE {table} ({listed})")
            continue
        present = {column["name"] for column in found.get_columns(table)}
        for name in columns.keys() - present:
            # A constraint cannot be added to rows that exist.
            op.execute(f'ALTER TABLE {table} ADD COLUMN "{name}" {columns[name].split()[0]}')
    for index in INDEXES:
        op.execute(index)
