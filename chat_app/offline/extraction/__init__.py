"""How the extractive model reads: questions, tools and evidence in; calls and quoted sentences out."""
