"""Store guideline documents, versions and their index."""
