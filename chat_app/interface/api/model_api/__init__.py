"""The app as a model: OpenAI's ``/v1/models``, ``/v1/chat/completions`` and ``/v1/responses``."""
