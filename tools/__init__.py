"""Everything that the model may call, and the registry that calls it. Never imports ``chat_app``."""
