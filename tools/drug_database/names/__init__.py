"""Resolve what a question calls a drug."""
