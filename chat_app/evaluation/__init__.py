"""Measure retrieval, page accuracy, citations and drug search against files of questions."""
