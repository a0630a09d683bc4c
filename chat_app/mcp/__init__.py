"""The Model Context Protocol: the app's tools for other programs."""
