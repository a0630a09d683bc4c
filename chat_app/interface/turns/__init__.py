"""Running turns, independent of the browser that asked."""
