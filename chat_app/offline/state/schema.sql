CREATE TABLE responses (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, status TEXT NOT NULL,
    previous_id TEXT, body BLOB NOT NULL, input BLOB NOT NULL, request BLOB
);
CREATE INDEX responses_by_age ON responses (created_at);
CREATE INDEX responses_unfinished ON responses (status) WHERE status IN ('queued', 'in_progress');
CREATE TABLE items (
    id TEXT PRIMARY KEY, response_id TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX items_of_response ON items (response_id);
CREATE TABLE files (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, expires_at INTEGER, filename TEXT NOT NULL,
    purpose TEXT NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE vector_stores (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, last_active_at INTEGER NOT NULL, expire_days INTEGER,
    name TEXT NOT NULL, metadata BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE vector_store_files (
    store_id TEXT NOT NULL REFERENCES vector_stores (id) ON DELETE CASCADE,
    file_id TEXT NOT NULL, created_at INTEGER NOT NULL, status TEXT NOT NULL,
    usage_bytes INTEGER NOT NULL, error BLOB, attributes BLOB NOT NULL, chunking BLOB NOT NULL,
    PRIMARY KEY (store_id, file_id)
) WITHOUT ROWID;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, store_id TEXT NOT NULL, file_id TEXT NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL,
    FOREIGN KEY (store_id, file_id) REFERENCES vector_store_files (store_id, file_id) ON DELETE CASCADE
);
CREATE INDEX chunks_by_file ON chunks (store_id, file_id, ordinal);
CREATE VIRTUAL TABLE chunk_index USING fts5 (
    text, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_index (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO chunk_index (chunk_index, rowid, text) VALUES ('delete', old.id, old.text);
END;
