"""Chooses the quotes of an answer: reads the question, scores every sentence and row, and selects the best."""
