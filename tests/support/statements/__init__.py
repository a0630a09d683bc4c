"""Labelled pairs of a statement and a passage."""
