"""Finds the calculator that a question wants, and its inputs in the words of the question."""
