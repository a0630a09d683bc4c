"""The database of history, feedback and audit log: SQLite or PostgreSQL, its engine and its migrations."""
