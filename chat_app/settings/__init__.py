"""Every setting of the app, as one typed tree read from the environment (and ``.env`` in the working directory)."""

from chat_app.settings.environment import variable_name
from chat_app.settings.model_settings import ModelSettings, OfflineSettings
from chat_app.settings.operation_settings import DiagnosticsSettings, GovernanceSettings, StorageSettings
from chat_app.settings.server_settings import OidcSettings, ServerSettings, is_loopback
from chat_app.settings.settings_tree import OFFLINE_MODEL, SECTIONS, Settings

__all__ = [
    "OFFLINE_MODEL",
    "SECTIONS",
    "DiagnosticsSettings",
    "GovernanceSettings",
    "ModelSettings",
    "OfflineSettings",
    "OidcSettings",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "is_loopback",
    "variable_name",
]
