"""Stored responses, files and vector stores."""
