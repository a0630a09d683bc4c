"""Conversation history in SQLite or PostgreSQL."""
