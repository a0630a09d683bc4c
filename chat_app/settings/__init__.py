"""Every setting of the app, as one typed tree read from the environment (and ``.env`` in the working directory)."""

from chat_app.settings.environment import plain as plain
from chat_app.settings.environment import variable_name as variable_name
from chat_app.settings.model_settings import OfflineSettings as OfflineSettings
from chat_app.settings.operation_settings import DiagnosticsSettings as DiagnosticsSettings
from chat_app.settings.server_settings import ServerSettings as ServerSettings
from chat_app.settings.server_settings import is_loopback as is_loopback
from chat_app.settings.settings_tree import SECTIONS as SECTIONS
from chat_app.settings.settings_tree import Settings as Settings
