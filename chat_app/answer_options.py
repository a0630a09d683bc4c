"""The options of a question. Imports only the standard library, so that the shell starts fast."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

if TYPE_CHECKING:
    from tools.guidelines import Scope

AnswerLength = Literal["brief", "standard", "full"]
AnswerLanguage = Literal["auto", "en", "de", "fr", "es", "it", "nl", "pl", "pt", "tr", "uk", "ar", "zh"]
"""The language of an answer by its ISO 639-1 code; ``auto`` is that of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultOptions:
    """Everything that can be chosen for one question, from the page, the API and the shell down to the agent."""

    conversation_id: str | None = None
    """Continue this conversation; an unknown or expired one starts a new one."""
    user_id: str = "demo"
    model: str | None = None
    """None for the app's default model."""
    use_clinical_guidelines: bool = True
    use_drug_database: bool = True
    enable_tool_execution: bool = True
    """False offers no tool at all."""
    length: AnswerLength = "standard"
    language: AnswerLanguage = "auto"
    documents: tuple[str, ...] = ()
    """Ids of the guidelines to search; empty for all."""
    scope: Scope | None = None
    """Key of a conversation that has private files. They are searched beside the library, never at the model server."""
    vector_store_id: str | None = None
    """Search this vector store of the model server instead of the guidelines."""
    turn_id: str = field(default_factory=lambda: uuid4().hex)
    asked_at: float = field(default_factory=time.time)
    """When the question was asked, in seconds since the epoch: those who asked first are answered first."""
    resumed: tuple[str, ...] = ()
    """Background responses of the same turn in a process that died; their events are read again."""
