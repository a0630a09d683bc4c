"""The tool loop, conversations and the assistant: the public names of an agent."""

from typing import TYPE_CHECKING

from tools.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from chat_app.agent.run_types import RunnerEvent as RunnerEvent
    from chat_app.agent.run_types import RunRequest as RunRequest
    from chat_app.agent.runner import Runner as Runner
    from chat_app.events import RunItemStreamEvent as RunItemStreamEvent
    from chat_app.events import RunnerResult as RunnerResult
    from chat_app.events import TextDelta as TextDelta
    from chat_app.events import TextReplaced as TextReplaced

__getattr__ = lazy_exports(
    __name__,
    {
        "chat_app.agent.run_types": ("RunRequest", "RunnerEvent"),
        "chat_app.agent.runner": ("Runner",),
        "chat_app.events": ("RunItemStreamEvent", "RunnerResult", "TextDelta", "TextReplaced"),
    },
)
