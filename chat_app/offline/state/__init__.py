"""Stored responses, conversations, files and vector stores."""
