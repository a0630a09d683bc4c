"""Sentences, terms, stems and word lists."""
