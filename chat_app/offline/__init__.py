"""The built-in model server: the Responses API on a socket, answered by an extractive model.

It is started as a process of its own (``python -m chat_app.offline``) and sees nothing but what a client sends.
"""
