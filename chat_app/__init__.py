"""Asclepius: a self-hosted clinical assistant with streamed, checkable answers."""

__version__ = "0.1.0"
