"""Import drug sources into one record per ingredient set."""
