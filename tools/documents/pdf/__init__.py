"""Read PDF pages into blocks."""
