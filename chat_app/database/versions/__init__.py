"""Migrations of the database, oldest first. A released one is never changed."""
