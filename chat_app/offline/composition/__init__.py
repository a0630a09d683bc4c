"""Writes the answer of the offline model: its quotes, tables and fixed phrases, each with its citation."""
