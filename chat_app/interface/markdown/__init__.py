"""Escape and repair Markdown so that the page shows every character."""
