"""Tables of the conversation history, the same for SQLite and PostgreSQL.

Names are those of Chainlit's queries. Structures are JSON in text columns.
"""

from __future__ import annotations

STEP_COLUMNS = (
    "id",
    "name",
    "type",
    "threadId",
    "parentId",
    "streaming",
    "waitForAnswer",
    "isError",
    "metadata",
    "tags",
    "input",
    "output",
    "createdAt",
    "command",
    "start",
    "end",
    "generation",
    "showInput",
    "language",
    "indent",
    "defaultOpen",
    "autoCollapse",
    "modes",
)
ELEMENT_COLUMNS = (
    "id",
    "threadId",
    "type",
    "url",
    "chainlitKey",
    "name",
    "display",
    "objectKey",
    "size",
    "page",
    "language",
    "forId",
    "mime",
    "props",
)

STATEMENTS = (
    """CREATE TABLE IF NOT EXISTS users (
        "id" TEXT PRIMARY KEY, "identifier" TEXT NOT NULL UNIQUE, "metadata" TEXT NOT NULL, "createdAt" TEXT)""",
    """CREATE TABLE IF NOT EXISTS threads (
        "id" TEXT PRIMARY KEY, "createdAt" TEXT, "name" TEXT, "userId" TEXT REFERENCES users("id") ON DELETE CASCADE,
        "userIdentifier" TEXT, "tags" TEXT, "metadata" TEXT, "updatedAt" TEXT)""",
    """CREATE TABLE IF NOT EXISTS steps (
        "id" TEXT PRIMARY KEY, "name" TEXT NOT NULL, "type" TEXT NOT NULL,
        "threadId" TEXT NOT NULL REFERENCES threads("id") ON DELETE CASCADE, "parentId" TEXT, "streaming" BOOLEAN,
        "waitForAnswer" BOOLEAN, "isError" BOOLEAN, "metadata" TEXT, "tags" TEXT, "input" TEXT, "output" TEXT,
        "createdAt" TEXT, "command" TEXT, "start" TEXT, "end" TEXT, "generation" TEXT, "showInput" TEXT,
        "language" TEXT, "indent" INTEGER, "defaultOpen" BOOLEAN, "autoCollapse" BOOLEAN, "modes" TEXT)""",
    """CREATE TABLE IF NOT EXISTS elements (
        "id" TEXT PRIMARY KEY, "threadId" TEXT NOT NULL REFERENCES threads("id") ON DELETE CASCADE, "type" TEXT,
        "url" TEXT, "chainlitKey" TEXT, "name" TEXT NOT NULL, "display" TEXT, "objectKey" TEXT, "size" TEXT,
        "page" INTEGER, "language" TEXT, "forId" TEXT, "mime" TEXT, "props" TEXT)""",
    """CREATE TABLE IF NOT EXISTS feedbacks (
        "id" TEXT PRIMARY KEY, "forId" TEXT NOT NULL UNIQUE REFERENCES steps("id") ON DELETE CASCADE,
        "threadId" TEXT REFERENCES threads("id") ON DELETE CASCADE, "value" INTEGER NOT NULL, "comment" TEXT,
        "createdAt" TEXT)""",
    """CREATE INDEX IF NOT EXISTS threads_of_user ON threads ("userId", "updatedAt")""",
    """CREATE INDEX IF NOT EXISTS steps_of_thread ON steps ("threadId", "createdAt")""",
    """CREATE INDEX IF NOT EXISTS elements_of_thread ON elements ("threadId")""",
)
