"""One module per drug data format, and the recognition of a file by its content."""
