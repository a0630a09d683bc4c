"""Find tables on a page and read their rows."""
