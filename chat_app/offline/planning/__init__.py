"""Decides what to search for: makes follow-up questions complete and fills the calls of the declared functions."""
