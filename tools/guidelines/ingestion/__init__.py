"""Ingest guideline files: read them, store the originals and index their passages."""
