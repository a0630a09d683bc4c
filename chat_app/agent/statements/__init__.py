"""Checks the statements of an answer against the passages that they cite."""
