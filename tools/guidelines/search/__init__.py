"""Search guideline passages and rank the results."""
