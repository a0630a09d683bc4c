"""Define what the drug database stores, is asked and reports."""
