"""Milvus connection, filter expressions and the Milvus Lite server."""
