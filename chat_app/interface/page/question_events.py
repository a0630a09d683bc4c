"""Events of a question on the page: uploads first, then the agent, one stream per model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace

from chat_app.answer_options import ConsultOptions
from chat_app.bootstrap import App
from chat_app.database.database_engine import DATABASE_ERRORS
from chat_app.errors import InputRejected, SessionBusy
from chat_app.events import AgentEvent, Notice, Outcome, TextDelta, TextReplaced, TurnEnded
from chat_app.interface.conversation.own_documents import ConversationFiles, searched_beside
from chat_app.interface.conversation.uploads import upload_events
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.keeping.turn_keeper import STORE_SECONDS
from chat_app.interface.runtime import Runtime
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.sessions.session_lock import BUSY
from tools.errors import ToolError

_FOUND_DEAD_SECONDS = 20.0
"""Seconds after which a process that died is known to be dead, and its turns have been ended."""

NOT_KNOWN = "The guidelines that you chose cannot be searched alone at the moment. Ask again, or choose none."

NO_HISTORY = Notice(
    code="history_unavailable",
    message="The history is not available at the moment: this question is answered without the earlier ones, and "
    "stored later.",
)


async def question_events(runtime: Runtime, question: PageQuestion, model: str) -> AsyncIterator[AgentEvent]:
    """Yield the events of one turn of ``question``.

    Raises ``AsclepiusError`` when the question is rejected; the turn shows its message.
    """
    turn = question.turns[model]
    await _follow_earlier_turns(runtime, question, turn)
    await runtime.gate.admit(turn.owner, besides=turn)
    if loading := runtime.loading:
        yield Notice(code="starting", params={"part": runtime.loading_part}, message=f"{loading}…")
    app = await runtime.ready()
    written: list[str] = []
    async for event in _ingest(runtime, app, question, first=turn is question.first):
        if isinstance(event, TextDelta):
            written.append(event.text)
        yield event
    if question.uploads and not question.text.strip():
        yield TurnEnded(outcome=Outcome(), answer="".join(written))
        return
    await runtime.keeper.record_question(question, turn)
    async with app.agent.queue.place(turn.asked_at, turn.id) as notices:
        async for notice in notices:
            yield notice
        conversation_id = None
        try:
            async with asyncio.timeout(STORE_SECONDS):
                conversation_id = await question.conversation_of(model, runtime.history, app)
        except DATABASE_ERRORS:
            yield NO_HISTORY
        options = replace(
            await _options(runtime, app, question),
            conversation_id=conversation_id,
            model=model,
            turn_id=turn.id,
            asked_at=turn.asked_at,
        )
        async with aclosing(app.agent.consult(question.text, options)) as stream:
            async for event in stream:
                if isinstance(event, TurnEnded) and written:
                    yield event.model_copy(update={"answer": "".join(written) + event.answer})
                else:
                    yield event
                if isinstance(event, TextReplaced) and written:
                    yield TextDelta(text="".join(written))


async def _follow_earlier_turns(runtime: Runtime, question: PageQuestion, turn: LiveTurn) -> None:
    """Wait until earlier questions of the conversation are saved; raise ``SessionBusy`` while one is answered.

    The turn of another process may be that of a dead one, which is ended some seconds later.
    """
    own = question.turns.values()
    others = [other for other in runtime.turns.of_thread(turn.thread_id, turn.owner) if other not in own]
    if any(other.log.ended is None for other in others):
        raise SessionBusy(BUSY)
    others += await runtime.elsewhere.of_thread(turn.thread_id, turn.owner)
    with suppress(TimeoutError):
        async with asyncio.timeout(_FOUND_DEAD_SECONDS):
            for other in others:
                # This question continues from its result.
                await other.saved.wait()
    if any(other.log.ended is None for other in others):
        raise SessionBusy(BUSY)


async def _options(runtime: Runtime, app: App, question: PageQuestion) -> ConsultOptions:
    """Return the options that all turns share.

    Raises ``InputRejected`` when the guidelines to choose from are unknown, rather than search all.
    """
    scope, files = await searched_beside(runtime.history, app.guidelines, question.thread_id, question.owner)
    try:
        loaded = [*await app.guidelines.documents(), *files] if question.options.documents else []
    except ToolError:
        raise InputRejected(NOT_KNOWN, code="guidelines_unavailable") from None
    titles = {document.id: document.title for document in loaded}
    question.titles.update(titles)
    return replace(question.options_now().consult_options(titles), user_id=question.owner, scope=scope)


async def _ingest(runtime: Runtime, app: App, question: PageQuestion, *, first: bool) -> AsyncIterator[AgentEvent]:
    """Ingest the question's files in the ``first`` turn; the others wait for it."""
    if not first:
        await _wait_for_files(question)
        return
    try:
        files = ConversationFiles(runtime.history, app.guidelines, question.thread_id, question.owner)
        for upload in question.uploads:
            await runtime.audit.record("upload", question.owner, conversation=question.thread_id)
            asked, may_share = bool(question.text.strip()), question.may_share
            async for event in upload_events(files, upload, question.language, may_share=may_share, asked=asked):
                yield event
        question.added = files.added
    finally:
        question.ingested.set()


async def _wait_for_files(question: PageQuestion) -> None:
    """Wait until the files are ingested or refused, or the turn that ingests them has ended."""
    waits = {asyncio.ensure_future(event.wait()) for event in (question.ingested, question.first.saved)}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
