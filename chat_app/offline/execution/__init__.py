"""Run one response: input items, model, events, storage."""
