"""Options, uploads and documents of one conversation."""
