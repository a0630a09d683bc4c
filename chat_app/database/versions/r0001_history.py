"""Conversations, messages, elements and feedback.

Names are those of Chainlit's queries. Structures are JSON in text columns. Databases of versions without migrations
have these tables already, so only what is missing is made.
"""

from alembic import op
from sqlalchemy import inspect

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES: dict[str, dict[str, str]] = {
    "users": {
        "id": "TEXT PRIMARY KEY",
        "identifier": "TEXT NOT NULL UNIQUE",
        "metadata": "TEXT NOT NULL",
        "createdAt": "TEXT",
    },
    "threads": {
        "id": "TEXT PRIMARY KEY",
        "createdAt": "TEXT",
        "name": "TEXT",
        "userId": 'TEXT REFERENCES users("id") ON DELETE CASCADE',
        "userIdentifier": "TEXT",
        "tags": "TEXT",
        "metadata": "TEXT",
        "updatedAt": "TEXT",
    },
    "steps": {
        "id": "TEXT PRIMARY KEY",
        "name": "TEXT NOT NULL",
        "type": "TEXT NOT NULL",
        "threadId": 'TEXT NOT NULL REFERENCES threads("id") ON DELETE CASCADE',
        "parentId": "TEXT",
        "streaming": "BOOLEAN",
        "waitForAnswer": "BOOLEAN",
        "isError": "BOOLEAN",
        "metadata": "TEXT",
        "tags": "TEXT",
        "input": "TEXT",
        "output": "TEXT",
        "createdAt": "TEXT",
        "command": "TEXT",
        "start": "TEXT",
        "end": "TEXT",
        "generation": "TEXT",
        "showInput": "TEXT",
        "language": "TEXT",
        "indent": "INTEGER",
        "defaultOpen": "BOOLEAN",
        "autoCollapse": "BOOLEAN",
        "modes": "TEXT",
    },
    "elements": {
        "id": "TEXT PRIMARY KEY",
        "threadId": 'TEXT NOT NULL REFERENCES threads("id") ON DELETE CASCADE',
        "type": "TEXT",
        "url": "TEXT",
        "chainlitKey": "TEXT",
        "name": "TEXT NOT NULL",
        "display": "TEXT",
        "objectKey": "TEXT",
        "size": "TEXT",
        "page": "INTEGER",
        "language": "TEXT",
        "forId": "TEXT",
        "mime": "TEXT",
        "props": "TEXT",
    },
    "feedbacks": {
        "id": "TEXT PRIMARY KEY",
        "forId": 'TEXT NOT NULL UNIQUE REFERENCES steps("id") ON DELETE CASCADE',
        "threadId": 'TEXT REFERENCES threads("id") ON DELETE CASCADE',
        "value": "INTEGER NOT NULL",
        "comment": "TEXT",
        "createdAt": "TEXT",
    },
}
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


def downgrade() -> None:
    """Refuse: an older version keeps its data by restoring a backup."""
    raise NotImplementedError("Restore a backup of the older version instead.")
