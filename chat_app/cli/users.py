"""The user who owns the shell's conversations."""

from __future__ import annotations

import getpass

from chat_app.settings import Settings

DEMO_USER = "demo"


def shell_user(settings: Settings) -> str:
    """Return the demo user, or with other sign-in the shell account under a separate name."""
    return DEMO_USER if settings.server.auth == "demo" else f"shell:{getpass.getuser()}"
