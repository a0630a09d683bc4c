"""The page on which administrators see content, feedback, usage and the audit log."""
