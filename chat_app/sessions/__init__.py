"""Conversations between turns: their chain, messages, retrieved passages and the lock of the turn that runs."""
