"""Render agent events as Chainlit messages, steps and references."""
