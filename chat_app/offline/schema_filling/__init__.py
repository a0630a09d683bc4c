"""Fills JSON schemas with words and numbers of a text: arguments of calls, and answers as JSON."""
