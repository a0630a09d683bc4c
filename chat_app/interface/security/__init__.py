"""Request guard, identity, passwords and per-user limits."""
