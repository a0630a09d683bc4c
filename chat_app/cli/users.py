"""Whose conversations the shell has."""

from __future__ import annotations

import getpass

from chat_app.settings import Settings

DEMO_USER = "demo"


def shell_user(settings: Settings) -> str:
    """The demo user where there is only that one; else the account at the shell, apart from the page's users."""
    return DEMO_USER if settings.server.auth == "demo" else f"shell:{getpass.getuser()}"
