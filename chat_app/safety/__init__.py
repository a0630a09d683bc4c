"""Recognise questions about an immediate danger to life, and say first what to do."""
