"""The tool loop, conversations and the assistant: the public names of an agent."""

from typing import TYPE_CHECKING

from tools.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent as AsclepiusHealthcareAgent
    from chat_app.agent.chat_manager import ChatManager as ChatManager
    from chat_app.agent.citation_manager import CitationManager as CitationManager
    from chat_app.agent.response_manager import OpenAIResponseManager as OpenAIResponseManager
    from chat_app.agent.run_types import OutputRenderer as OutputRenderer
    from chat_app.agent.run_types import RunnerEvent as RunnerEvent
    from chat_app.agent.run_types import RunRequest as RunRequest
    from chat_app.agent.runner import Runner as Runner
    from chat_app.agent.runner import RunnerStreamingResult as RunnerStreamingResult
    from chat_app.agent.stream_manager import StreamManager as StreamManager
    from chat_app.answer_options import ConsultOptions as ConsultOptions
    from chat_app.events import FinalOutputItem as FinalOutputItem
    from chat_app.events import RunItemStreamEvent as RunItemStreamEvent
    from chat_app.events import RunnerResult as RunnerResult
    from chat_app.events import StepOutput as StepOutput
    from chat_app.events import StepRunItem as StepRunItem
    from chat_app.events import TextDelta as TextDelta
    from chat_app.events import TextReplaced as TextReplaced
    from chat_app.events import ToolCallRunItem as ToolCallRunItem
    from chat_app.events import ToolOutputRunItem as ToolOutputRunItem
    from chat_app.turn_facts import TurnFacts as TurnFacts

__getattr__ = lazy_exports(__name__)
