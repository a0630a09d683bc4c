"""Chainlit page: questions, edits, settings and socket events."""
