"""Embedding models and the scales of their scores."""
