"""Build the PDFs of the six demonstration guidelines from their Markdown sources in ``tools/guidelines/demo``."""
