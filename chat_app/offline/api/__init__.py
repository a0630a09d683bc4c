"""ASGI routes of the offline Responses server."""
