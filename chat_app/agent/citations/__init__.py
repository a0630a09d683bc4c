"""Find, number, verify and format citations."""
