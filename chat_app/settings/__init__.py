"""Every setting of the app, as one typed tree read from the environment (and ``.env`` in the working directory)."""

from chat_app.settings.environment import variable_name
from chat_app.settings.model_settings import OfflineSettings
from chat_app.settings.operation_settings import DiagnosticsSettings
from chat_app.settings.server_settings import ServerSettings, is_loopback
from chat_app.settings.settings_tree import SECTIONS, Settings

__all__ = [
    "SECTIONS",
    "DiagnosticsSettings",
    "OfflineSettings",
    "ServerSettings",
    "Settings",
    "is_loopback",
    "variable_name",
]
