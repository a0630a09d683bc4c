"""The built-in model server: the Responses API on a socket, answered by an extractive model.

It runs in a separate process (``python -m chat_app.offline``) and knows only what clients send.
"""
