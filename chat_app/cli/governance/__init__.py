"""Commands for those who answer for the data: audit log, backup, erasure and export."""
