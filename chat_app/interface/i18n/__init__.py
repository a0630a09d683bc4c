"""Translated texts of the page."""
