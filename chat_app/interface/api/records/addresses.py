"""Addresses that other systems are given."""

from urllib.parse import quote

from fastapi import Request

from chat_app.interface.runtime import Runtime


def base_address(runtime: Runtime, request: Request) -> str:
    """Return the public address of the app, without a slash at its end."""
    server = runtime.settings.server
    return (server.public_url or str(request.base_url).rstrip("/")) + server.root_path


def page_link(base: str, question: str) -> str:
    """Return the address of the page with ``question`` filled in. A fragment reaches no server and no log."""
    return f"{base}/#ask={quote(question)}"
