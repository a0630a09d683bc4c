"""The audit log: an append-only table, and the ends of its hash chain."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables."""
    op.execute(
        """CREATE TABLE audit ("seq" BIGINT PRIMARY KEY, "at" TEXT NOT NULL, "action" TEXT NOT NULL,
        "actor" TEXT NOT NULL, "address" TEXT NOT NULL, "conversation" TEXT NOT NULL, "turn" TEXT NOT NULL,
        "model" TEXT NOT NULL, "detail" TEXT NOT NULL, "text" TEXT NOT NULL, "previous" TEXT NOT NULL,
        "hash" TEXT NOT NULL)"""
    )
    op.execute(
        """CREATE TABLE audit_ends ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), "first" BIGINT NOT NULL,
        "before" TEXT NOT NULL, "last" BIGINT NOT NULL, "hash" TEXT NOT NULL)"""
    )
    op.execute("""INSERT INTO audit_ends VALUES (1, 1, '', 0, '')""")
    op.execute('CREATE INDEX audit_of_actor ON audit ("actor", "seq")')
