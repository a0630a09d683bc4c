"""Reads a conversation, and the outputs of its tools as evidence."""
