"""Requests of ``/v1`` as OpenAI's clients send them: one question, and the messages before it.

Parameters that only tune a model, such as ``temperature``, are ignored, as are a client's own tools, which a model need
not call. A parameter that would change what the client gets back, such as a JSON schema or a tool that it must get a
call of, is refused.
"""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from chat_app.agent.chat_manager import TRANSCRIPT_MESSAGES
from chat_app.answer_options import AnswerLength
from chat_app.errors import InputRejected
from chat_app.interface.api.model_api.model_answer import without_references
from chat_app.interface.api.model_api.model_errors import UnknownModel
from chat_app.interface.api.question_start import ModelName
from chat_app.sessions.session_store import Message

Verbosity = Literal["low", "medium", "high"]
_LENGTHS: Final[dict[Verbosity | None, AnswerLength]] = {"low": "brief", "high": "full"}


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class GivenText(_Given):
    """A part of a message."""

    type: Literal["text", "input_text", "output_text"]
    text: str


class GivenRefusal(_Given):
    """A refusal of a model, which is part of the conversation like any other text."""

    type: Literal["refusal"]
    refusal: str


class GivenMessage(_Given):
    """A message of the conversation."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[Annotated[GivenText | GivenRefusal, Field(discriminator="type")], ...] | None = None

    @property
    def text(self) -> str:
        parts = (self.content,) if isinstance(self.content, str) else self.content or ()
        return "\n".join(
            part if isinstance(part, str) else part.text if isinstance(part, GivenText) else part.refusal
            for part in parts
        )

    def stored(self) -> Message:
        """Return the message as a conversation keeps it. What a client instructs has the weight of a user's words."""
        if self.role == "assistant":
            return Message(role="assistant", content=without_references(self.text))
        return Message(role="user", content=self.text)


class PlainText(_Given):
    """The only format of an answer."""

    type: Literal["text"] = "text"


class ChatStreamOptions(_Given):
    """``include_usage``: the stream ends with a chunk that holds the token counts."""

    include_usage: bool | None = None


class AnswerTextOptions(_Given):
    """The ``text`` of a Responses request."""

    format: PlainText | None = None
    verbosity: Verbosity | None = None


class _ModelRequest(_Given):
    model: ModelName
    stream: bool | None = None
    tool_choice: Literal["auto", "none"] | None = None

    def named_model(self) -> str | None:
        """Return the model behind ``asclepius/NAME``, None for ``asclepius`` alone. Raises ``UnknownModel``."""
        own, slash, name = self.model.partition("/")
        if own != OWN_NAME or (slash and not name):
            raise UnknownModel
        return name or None


class ChatRequest(_ModelRequest):
    """The body of ``/v1/chat/completions``."""

    messages: Annotated[tuple[GivenMessage, ...], Field(min_length=1)]
    stream_options: ChatStreamOptions | None = None
    verbosity: Verbosity | None = None
    n: Literal[1] | None = None
    function_call: Literal["auto", "none"] | None = None
    response_format: PlainText | None = None

    @property
    def length(self) -> AnswerLength:
        return _LENGTHS.get(self.verbosity, "standard")


class ResponsesRequest(_ModelRequest):
    """The body of ``/v1/responses``."""

    input: str | Annotated[tuple[GivenMessage, ...], Field(min_length=1)]
    instructions: str | None = None
    previous_response_id: str | None = Field(None, max_length=200)
    text: AnswerTextOptions | None = None
    background: Literal[False] | None = None
    conversation: None = None
    prompt: None = None

    @property
    def length(self) -> AnswerLength:
        return _LENGTHS.get(self.text.verbosity if self.text else None, "standard")

    @property
    def messages(self) -> tuple[GivenMessage, ...]:
        given = (GivenMessage(role="user", content=self.input),) if isinstance(self.input, str) else self.input
        return (GivenMessage(role="developer", content=self.instructions), *given) if self.instructions else given


OWN_NAME: Final = "asclepius"


def question_of(messages: Sequence[GivenMessage]) -> tuple[str, tuple[Message, ...]]:
    """Return the question and the messages before it. Raises ``InputRejected`` when the last one asks nothing."""
    *before, last = messages
    if last.role != "user":
        raise InputRejected("The last message must be the user's question.")
    return last.text, tuple(message.stored() for message in before if message.text.strip())


def fitting(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return ``messages`` as no more than a model gets to see, the earliest ones joined to one."""
    surplus = len(messages) - TRANSCRIPT_MESSAGES
    if surplus <= 0:
        return tuple(messages)
    joined = "\n\n".join(f"{message.role}: {message.content}" for message in messages[: surplus + 1])
    return (Message(role="user", content=joined), *messages[surplus + 1 :])
