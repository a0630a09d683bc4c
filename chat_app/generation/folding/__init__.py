"""The meaning of a response's events: its messages, its calls, and the text that readers see."""
