"""Routes of the HTTP API and its OpenAPI document."""
