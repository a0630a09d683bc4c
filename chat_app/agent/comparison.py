"""Events of one question to several models side by side."""

from chat_app.events import AgentEvent
from tools.types import Frozen


class ModelEvent(Frozen):
    """An event of the turn of ``model``."""

    model: str
    event: AgentEvent
