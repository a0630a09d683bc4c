"""General vocabulary: common words of three languages, clinical words and abbreviations."""
