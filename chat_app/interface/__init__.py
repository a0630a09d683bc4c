"""Page and HTTP API."""
