"""Start of the turns of a question that comes over the API or from the shell."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated
from uuid import uuid4

from pydantic import Field, StringConstraints

from chat_app.answer_options import AnswerLanguage, AnswerLength, ConsultOptions
from chat_app.bootstrap import App
from chat_app.database.database_engine import DATABASE_ERRORS
from chat_app.errors import InputRejected
from chat_app.events import AgentEvent
from chat_app.interface.conversation.own_documents import searched_in
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.i18n.translation import Language
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.runtime import Runtime
from chat_app.interface.turns.asked_questions import AskedQuestion
from chat_app.interface.turns.live_turn import LiveTurn
from tools.guidelines import Document, Scope
from tools.types import Frozen

ModelName = Annotated[str, StringConstraints(max_length=200, pattern=r"^[\w./:@+-]+$")]
DocumentId = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ConsultBody(Frozen):
    """A question and its options."""

    message: str = Field(description="The question.", examples=["What are the contraindications for ACE inhibitors?"])
    conversation_id: str | None = Field(
        None, max_length=100, description="Continue this conversation; an unknown or expired one starts a new one."
    )
    use_clinical_guidelines: bool = Field(True, description="Search the guidelines.")
    use_drug_database: bool = Field(True, description="Look drugs up.")
    enable_tool_execution: bool = Field(True, description="False: no tool at all.")
    model: ModelName | None = Field(None, description="Ask this model; see `models` of `/api/v1/status`.")
    models: tuple[ModelName, ...] = Field(
        (), max_length=8, description="Ask each of these models side by side, each in a separate conversation."
    )
    language: AnswerLanguage = Field(
        "auto", description="The answer's language by its ISO 639-1 code; `auto` is that of the question."
    )
    documents: tuple[DocumentId, ...] = Field(
        (), max_length=200, description="Search only these guidelines; see `guidelines` of `/api/v1/status`."
    )
    length: AnswerLength = Field("standard", description="How much detail the answer is to have.")
    stream: bool = Field(True, description="Server-sent events; false: one JSON answer at the end.")

    def consult_options(self, user: str, scope: Scope | None) -> ConsultOptions:
        """Return the options of the question of ``user``, without its model."""
        return replace(
            self.page_options().consult_options(self.documents),
            conversation_id=self.conversation_id,
            user_id=user,
            enable_tool_execution=self.enable_tool_execution,
            scope=scope,
        )

    def page_options(self) -> PageOptions:
        return PageOptions(
            guidelines=self.use_clinical_guidelines,
            documents=self.documents,
            drugs=self.use_drug_database,
            length=self.length,
            language=self.language,
        )


async def begin(runtime: Runtime, body: ConsultBody, user: str, language: Language) -> AskedQuestion:
    """Start the turns of a question. Raises ``InputRejected`` and ``TooManyQuestions`` before any has started."""
    app = await runtime.ready()
    scope, files = await searched_in(runtime.history, app.guidelines, body.conversation_id, user)
    await _check(runtime, app, body, files)
    async with runtime.gate.admitted(user, max(1, len(set(body.models)))):
        asked = await _asked(runtime, body, user, language)
        compared = bool(body.models)
        question = AskedQuestion(user, asked.turns, compared, id=asked.message_id if compared else asked.first.id)
        runtime.asked.add(question)
        options = body.consult_options(user, scope)
        for model, turn in asked.turns.items():
            chosen = replace(options, model=model, turn_id=turn.id, asked_at=turn.asked_at)
            events = app.agent.consult(body.message, chosen)
            runtime.turns.start(turn, _answered(runtime, turn, events))
    return question


async def _check(runtime: Runtime, app: App, body: ConsultBody, files: Sequence[Document]) -> None:
    """Check the request before anything starts; raise ``InputRejected`` when it cannot be answered."""
    app.agent.check_message(body.message)
    if body.models and body.model:
        raise InputRejected("Name one model in `model`, or several in `models`, not both.")
    if body.models and body.conversation_id:
        raise InputRejected("Models that are compared begin conversations of their own: leave `conversation_id` out.")
    named = body.models or ((body.model,) if body.model else ())
    if not all(map(runtime.settings.may_ask, named)):
        raise InputRejected(f"Models that may be asked are: {', '.join(runtime.settings.models)}.")
    if in_library := set(body.documents).difference(document.id for document in files):
        loaded = {document.id for document in await app.guidelines.documents()}
        if not in_library <= loaded:
            listed = ", ".join(sorted(loaded)) or "none"
            raise InputRejected(f"There is no loaded guideline of that id. Loaded are: {listed}.")


async def _asked(runtime: Runtime, body: ConsultBody, user: str, language: Language) -> PageQuestion:
    """Store the question in the history before anything is asked, in the conversation that it continues there."""
    threads: list[str] = []
    with suppress(*DATABASE_ERRORS):
        threads = await runtime.history.threads_with(body.conversation_id, user) if body.conversation_id else []
    question = PageQuestion(
        owner=user,
        thread_id=threads[0] if threads else str(uuid4()),
        message_id=str(uuid4()),
        text=body.message,
        run_id=str(uuid4()),
        options=body.page_options(),
        models=tuple(dict.fromkeys(body.models)) or (body.model or runtime.settings.default_model,),
        language=language,
        extracts=runtime.settings.uses_offline_model,
        continues=body.conversation_id or "",
    )
    for turn in question.turns.values():
        await runtime.keeper.record_question(question, turn)
    await runtime.keeper.begin(question)
    return question


async def _answered(runtime: Runtime, turn: LiveTurn, events: AsyncIterator[AgentEvent]) -> None:
    """Run the turn and store it, then keep it for readers that come back."""
    await runtime.keeper.answer(turn, events)
    runtime.asked.keep_a_while(turn)
