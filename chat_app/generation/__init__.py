"""Prompts, model servers and their output: the public names of one generation."""

from typing import TYPE_CHECKING

from tools.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from chat_app.events import RawResponsesStreamEvent as RawResponsesStreamEvent
    from chat_app.generation.generator import Generator as Generator
    from chat_app.generation.generator import input_message as input_message
    from chat_app.generation.model_client import ModelClient as ModelClient
    from chat_app.generation.model_client import ResponseRequest as ResponseRequest
    from chat_app.generation.observers import GeneratorCall as GeneratorCall
    from chat_app.generation.observers import GeneratorObserver as GeneratorObserver
    from chat_app.generation.output import GenerationError as GenerationError
    from chat_app.generation.output import GeneratorOutput as GeneratorOutput
    from chat_app.generation.output import OutputProcessor as OutputProcessor
    from chat_app.generation.output import PydanticProcessor as PydanticProcessor
    from chat_app.generation.prompt import Prompt as Prompt
    from chat_app.generation.response_api_adapter import ResponseAPIAdapter as ResponseAPIAdapter

__getattr__ = lazy_exports(__name__)
