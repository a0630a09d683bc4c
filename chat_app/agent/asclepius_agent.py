"""The domain façade: which tools a question may use, which instructions the model gets, then hand over.

Everything about clinics is decided here; everything about streaming, steps and sessions is below.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from chat_app.agent.chat_manager import ChatManager
from chat_app.agent.guideline_route import GuidelineRoute
from chat_app.agent.response_manager import ConsultResult, OpenAIResponseManager, TurnRequest
from chat_app.answer_options import LANGUAGES, AnswerLanguage, AnswerLength
from chat_app.errors import InputRejected
from chat_app.events import AgentEvent, Notice, TurnEnded
from chat_app.generation.prompt import Prompt
from tools.guidelines import Scope
from tools.guidelines.guideline_tool import DOCUMENTS, SCOPE
from tools.tool_manager import ToolManager

logger = logging.getLogger(__name__)

INSTRUCTIONS = Prompt.from_file(
    Path(__file__).with_name("instructions.jinja"),
    preset={"length": "standard", "language": "", "some": False, "own": False},
)
ONLY_EXTRACTS = Notice(
    code="language_of_sources",
    message="Answers are extracts and stand in the language of their sources: nothing is translated.",
)


class AsclepiusHealthcareAgent:
    """Answers clinicians' questions. ``guideline_tools`` and ``drug_tools`` are names in ``tool_manager``.

    ``route`` says, question by question, whether the model server's own file search takes the guideline tools' place.
    """

    def __init__(
        self,
        *,
        responses: OpenAIResponseManager,
        chats: ChatManager,
        tool_manager: ToolManager,
        guideline_tools: frozenset[str],
        drug_tools: frozenset[str],
        default_model: str,
        max_message_length: int = 20_000,
        route: GuidelineRoute | None = None,
        only_extracts: bool = False,
    ) -> None:
        self._responses = responses
        self.chats = chats
        self._tools = tool_manager
        self._guideline_tools = guideline_tools
        self._drug_tools = drug_tools
        self._default_model = default_model
        self._max_length = max_message_length
        self._route = route
        self._only_extracts = only_extracts

    async def consult(
        self,
        message: str,
        *,
        conversation_id: str | None = None,
        user_id: str = "demo",
        use_clinical_guidelines: bool = True,
        use_drug_database: bool = True,
        enable_tool_execution: bool = True,
        model: str | None = None,
        length: AnswerLength = "standard",
        language: AnswerLanguage = "auto",
        documents: Sequence[str] = (),
        scope: Scope | None = None,
        vector_store_id: str | None = None,
        include_raw: bool = False,
        turn_id: str | None = None,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Answers ``message`` as a stream of events; closing it stops the turn. ``turn_id`` is the name that the turn
        goes by; one is made when none is given. Of the guidelines only ``documents`` are searched, by their ids; all
        when there are none. ``scope`` is the key of a conversation that has files of its own: they are searched beside
        the library, here and never at the model server.

        Raises ``InputRejected`` before the first event when the message is empty or too long. Nothing else is raised:
        every other failure is the turn's outcome.
        """
        request = self._request(
            message,
            guidelines=use_clinical_guidelines and enable_tool_execution,
            drugs=use_drug_database and enable_tool_execution,
            tools=enable_tool_execution,
            prompt_kwargs={
                "length": length,
                "language": LANGUAGES.get(language, ""),
                "some": bool(documents),
                "own": scope is not None,
            },
        ).model_copy(
            update={
                "documents": tuple(documents),
                "given": self._given(documents, scope),
                "notices": (ONLY_EXTRACTS,) if self._only_extracts and language != "auto" else (),
                "conversation_id": conversation_id,
                "user_id": user_id,
                "model": model or self._default_model,
                "vector_store_id": vector_store_id,
                "include_raw": include_raw,
                **({"turn_id": turn_id} if turn_id else {}),
            }
        )
        async with aclosing(self._responses.process_streaming_query(await self._routed(request, scope))) as events:
            async for event in events:
                if isinstance(event, TurnEnded) and event.outcome.kind == "failed" and self._route is not None:
                    self._route.doubt()
                yield event

    async def answer(self, message: str, *, conversation_id: str | None = None, user_id: str = "demo") -> ConsultResult:
        """The whole answer at once, for callers that do not stream. Raises ``InputRejected``."""
        request = self._request(message, guidelines=True, drugs=True, tools=True)
        request = request.model_copy(update={"conversation_id": conversation_id, "user_id": user_id})
        return await self._responses.handle_standard_query(await self._routed(request))

    async def aclose(self) -> None:
        """Closes the connections to the model server."""
        await self._responses.aclose()

    def check_message(self, message: str) -> None:
        """Raises ``InputRejected`` when ``consult`` would."""
        if not message.strip():
            raise InputRejected("The message is empty. Type a question.", code="message_empty")
        if not message.isprintable() and any("\ud800" <= character <= "\udfff" for character in message):
            raise InputRejected(
                "The message holds half a character (a lone surrogate). Type that character again.",
                code="message_malformed",
            )
        if len(message) > self._max_length:
            raise InputRejected(
                f"The message has {len(message):,} characters; at most {self._max_length:,} can be taken. Shorten it.",
                code="message_too_long",
                params={"limit": self._max_length},
            )

    def _given(self, documents: Sequence[str], scope: Scope | None) -> dict[str, dict[str, Any]]:
        """Hidden parameters of the guideline tools."""
        values = ({DOCUMENTS: tuple(documents)} if documents else {}) | ({SCOPE: scope} if scope else {})
        return dict.fromkeys(self._guideline_tools, values) if values else {}

    async def _routed(self, request: TurnRequest, scope: Scope | None = None) -> TurnRequest:
        """``request`` with the model server's file search in place of the app's own, where that is the way in.

        It does not have the files of a conversation (``scope``): one search over both is better than two.
        """
        searched = self._guideline_tools.intersection(request.tools)
        if scope is not None or self._route is None or request.vector_store_id or not searched:
            return request
        try:
            store = await self._route.vector_store()
        except Exception as error:  # noqa: BLE001 - a question is never without its guidelines: the own index has them
            logger.error("The way to the guidelines could not be chosen: %s", type(error).__name__)  # noqa: TRY400
            return request
        if store is None:
            return request
        others = tuple(name for name in request.tools if name not in self._guideline_tools)
        return request.model_copy(update={"vector_store_id": store, "tools": others})

    def _request(
        self, message: str, *, guidelines: bool, drugs: bool, tools: bool, prompt_kwargs: dict[str, Any] | None = None
    ) -> TurnRequest:
        self.check_message(message)
        left_out = (frozenset() if guidelines else self._guideline_tools) | (frozenset() if drugs else self._drug_tools)
        names = tuple(name for name in self._tools.names() if name not in left_out) if tools else ()
        return TurnRequest(
            message=message,
            model=self._default_model,
            tools=names,
            prompt_kwargs={"guidelines": guidelines, "drugs": drugs, **(prompt_kwargs or {})},
        )
