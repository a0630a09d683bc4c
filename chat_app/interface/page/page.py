"""Turns on the page: delivery of their events to every browser and storage in the history.

A question starts a detached turn. Every socket of the conversation follows it with its own renderer: the first text is
sent at once, then in windows that a browser can keep up with. A reconnected socket or a second tab reads the log from
its beginning and so catches up without a gap.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import uuid4
from weakref import WeakValueDictionary

from chainlit.config import config
from chainlit.session import WebsocketSession, ws_sessions_id

from chat_app.events import AgentEvent
from chat_app.interface.conversation.page_options import page_options
from chat_app.interface.conversation.uploads import Upload
from chat_app.interface.history.branches import MAIN, conversations_of, forget, fork, is_conversation_key
from chat_app.interface.i18n.translation import language_of
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.page.pace import Pace
from chat_app.interface.page.page_settings import KEY, change
from chat_app.interface.page.question_events import question_events
from chat_app.interface.page.recent_turns import RecentTurns
from chat_app.interface.rendering.chainlit_renderer import TurnRenderer
from chat_app.interface.rendering.sockets import attachment, emit, is_there, owner_of, sessions_of, toast
from chat_app.interface.rendering.turn_steps import finished_run, part_id, run_step
from chat_app.interface.runtime import Runtime
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.sessions.turn_journal import OpenTurn

THREAD = "asclepius_thread"
Columns = Sequence[tuple[LiveTurn, TurnRenderer]]
"""The turns of a question and what renders each on one browser."""


class ChatPage:
    """Shows turns to the browsers of a conversation."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.pace = Pace()
        self.recent = RecentTurns()
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Held while a question of a conversation is begun: its tabs show the questions in one order."""
        self._viewers: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._shown: set[tuple[str, str]] = set()
        """Questions that other processes answer, with the sockets that they are shown on."""
        runtime.keeper.show_elsewhere = self.show_elsewhere

    def follow(self, question: PageQuestion, session: WebsocketSession) -> asyncio.Task[None]:
        """Show ``question``'s answer on ``session`` from its beginning, in place of a previous viewer."""
        columns = [(turn, self._renderer(question, turn)) for turn in question.turns.values()]
        return self._follow(question.message_id, columns, session)

    def _follow(self, question_id: str, columns: Columns, session: WebsocketSession) -> asyncio.Task[None]:
        key = (question_id, session.id)
        if (before := self._viewers.pop(key, None)) is not None:
            before.cancel()
        task = asyncio.create_task(self._show(question_id, columns, session))
        self._viewers[key] = task
        task.add_done_callback(lambda done: self._viewers.pop(key) if self._viewers.get(key) is done else None)
        return task

    async def reattach(self, session: WebsocketSession, running: Iterable[PageQuestion]) -> None:
        """Bring a (re)connected socket up to date and show answers: ``running`` ones, and those since then."""
        owner = owner_of(session)
        if owner is None:
            return
        questions = dict.fromkeys((*running, *self.running(session)))
        if session.restored and session.has_first_interaction:
            await self._repeat(session, owner)
        await self.recent.tell(session)
        for question in questions:
            self.follow(question, session)
        await self._follow_elsewhere(session, owner)

    async def show_earlier(self, session: WebsocketSession) -> None:
        """Show more of the conversation's earlier turns, and running answers from their beginning."""
        if (owner := owner_of(session)) is None:
            return
        questions = self.running(session)
        await self.recent.show_earlier(session, owner, self.runtime.history)
        for question in questions:
            self.follow(question, session)
        self._shown = {(question, socket) for question, socket in self._shown if socket != session.socket_id}
        await self._follow_elsewhere(session, owner)

    def running(self, session: WebsocketSession) -> Iterable[PageQuestion]:
        """Return the questions of the conversation of ``session`` whose answers are not stored yet."""
        running = self.runtime.turns.of_thread(session.thread_id, owner_of(session) or "")
        return dict.fromkeys(filter(None, map(self.runtime.keeper.question_of, running)))

    async def stop(self, session: WebsocketSession) -> None:
        if owner := owner_of(session):
            for turn in self.runtime.turns.of_thread(session.thread_id, owner):
                turn.stop()
            for turn in await self.runtime.elsewhere.of_thread(session.thread_id, owner):
                turn.stop()

    async def show_elsewhere(self, opened: Mapping[str, OpenTurn]) -> None:
        """Show the turns that other processes have begun to the browsers that have their conversation open."""
        questions = {turn.question_id: turn.thread_id for turn in opened.values()}
        self._shown = {(question, socket) for question, socket in self._shown if question in questions}
        for question, thread_id in questions.items():
            for session in list(ws_sessions_id.values()):
                owner = owner_of(session)
                if owner and session.thread_id == thread_id and (question, session.socket_id) not in self._shown:
                    await self._follow_elsewhere(session, owner)

    async def _follow_elsewhere(self, session: WebsocketSession, owner: str) -> None:
        elsewhere = await self.runtime.elsewhere.of_thread(session.thread_id, owner)
        for question_id in dict.fromkeys(turn.question_id for turn in elsewhere):
            turns, key = [t for t in elsewhere if t.question_id == question_id], (question_id, session.socket_id)
            if key in self._shown:
                continue
            self._shown.add(key)
            header = turns[0].header
            await emit(session, "new_message", header.question)
            await emit(session, "new_message", run_step(header.ids, question_id))
            for turn in turns:
                await emit(session, "remove_element", {"id": turn.header.ids.part("references")})
                shown = turn.header.renderer()
                shown.render(turn.log.events)
                if shown.answer_id not in shown.steps:
                    # The conversation has it empty; the tool calls to come would be shown below it.
                    await emit(session, "delete_message", {"id": shown.answer_id})
            self._follow(question_id, [(turn, turn.header.renderer()) for turn in turns], session)

    async def _repeat(self, session: WebsocketSession, owner: str) -> None:
        """Send the stored conversation again; messages that are already shown stay unchanged."""
        thread = await self.runtime.history.get_thread(session.thread_id)
        if thread is None or thread.get("userIdentifier") != owner:
            return
        self.recent.reopen(session, thread)
        for step in thread["steps"] or []:
            await emit(session, "new_message", step)
            if turn_id := (step.get("metadata") or {}).get("turn"):
                await emit(session, "delete_message", {"id": part_id(turn_id, "phase")})
        for element in thread["elements"] or []:
            await emit(session, "element", element)

    async def _show(self, question_id: str, renderers: Columns, session: WebsocketSession) -> None:
        socket = session.socket_id
        self.pace.begin(session)
        await emit(session, "task_start", {})
        await self.recent.asked(session, question_id)
        # On a phone Chainlit's page would keep the address of the start page, and a reload would lose the conversation.
        await emit(session, "window_message", {THREAD: session.thread_id})
        for _, renderer in renderers:
            for emission in renderer.begin():
                await emit(session, *emission)
        await asyncio.gather(*(self._show_turn(turn, renderer, session, socket) for turn, renderer in renderers))
        if is_there(session, socket):
            await emit(session, "task_end", {})

    async def _show_turn(self, turn: LiveTurn, renderer: TurnRenderer, session: WebsocketSession, socket: str) -> None:
        clock = asyncio.get_running_loop()
        async for batch in turn.events(ready=partial(self.pace.ready, session)):
            if not is_there(session, socket):
                return
            began, is_first = clock.time(), not renderer.written
            for emission in renderer.render(batch):
                await emit(session, *emission)
            if batch and renderer.written and not is_first:
                await self.pace.after_text(session, renderer.growing, began)

    def _renderer(self, question: PageQuestion, turn: LiveTurn) -> TurnRenderer:
        extracts = self.runtime.settings.uses_offline_model
        return TurnRenderer(question.ids_of(turn), extracts=extracts, options=question.options, titles=question.titles)

    # -- asking --------------------------------------------------------------------------------------------------

    async def ask(
        self, session: WebsocketSession, message_id: str, text: str, files: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Answer the question of ``session`` and wait until that has ended; ``files`` are as Chainlit keeps them."""
        if (owner := owner_of(session)) is None:
            return
        async with self._asking.setdefault(session.thread_id, asyncio.Lock()):
            question = self._question(session, owner, message_id, text, files)
            await self._begin(session, question, files)
        await asyncio.wait({self.follow(question, session)})
        for turn in question.turns.values():
            await turn.saved.wait()
        await emit(session, "update_message", finished_run(question.ids_of(question.first), message_id))
        if question.added:
            # Also without a selection, because the panel lists the files to choose from.
            chosen = question.options_now().documents
            await change(self.runtime, session, {"documents": chosen}, shown=False)

    async def edit(self, session: WebsocketSession, message_id: str, text: str) -> None:
        """Delete the messages after the question and ask the edited one in its place, going on from before it."""
        owner, thread_id = owner_of(session), session.thread_id
        await self.runtime.turns.save_ended(thread_id, owner or "")
        thread = await self.runtime.history.get_thread(thread_id)
        if owner is None or thread is None or thread.get("userIdentifier") != owner:
            return
        if self.runtime.turns.of_thread(thread_id, owner) or await self.runtime.elsewhere.of_thread(thread_id, owner):
            await toast(session, "toast.edit_wait", "warning")
            return
        steps = [cast("dict[str, Any]", step) for step in thread["steps"] or []]
        at = next((i for i, s in enumerate(steps) if s["id"] == message_id and s["type"] == "user_message"), None)
        if at is None:
            return
        later = [str(step["id"]) for step in steps[at + 1 :]]
        await self.runtime.history.delete_steps(later)
        await self._go_on_from(owner, thread_id, before=str(steps[at]["output"]))
        for other in sessions_of(thread_id, owner):
            for step_id in later:
                await emit(other, "delete_message", {"id": step_id})
            await emit(other, "update_message", {**steps[at], "output": text, "feedback": None})
        await self.ask(session, message_id, text)

    async def _go_on_from(self, owner: str, thread_id: str, *, before: str) -> None:
        app, history = await self.runtime.ready(), self.runtime.history
        known = await history.metadata_of(thread_id)
        forked = await fork(app.sessions, known.get(MAIN), owner, before=before)
        # Branches below the edited question are deleted: all models continue from the copy.
        left = {key: None for key in known if is_conversation_key(key)}
        await history.save_turn(thread_id, metadata={**left, MAIN: forked})
        await forget(app.sessions, owner, set(conversations_of(known)))

    async def _begin(
        self, session: WebsocketSession, question: PageQuestion, files: Sequence[Mapping[str, Any]]
    ) -> None:
        """Store the question, begin its answer and show both in every tab, below the questions before it."""
        earlier = self.running(session)
        is_first, session.has_first_interaction = not session.has_first_interaction, True
        run = run_step(question.ids_of(question.first), question.message_id)
        if earlier:
            # The tab shows its own question from the start, maybe above one that was asked in another tab.
            await emit(session, "delete_message", {"id": question.message_id})
            await emit(session, "new_message", question.step)
        await emit(session, "new_message", run)
        for file in files:
            await emit(session, "element", attachment(file, question.thread_id, question.message_id))
        with self.runtime.turns.expected():
            await self.runtime.keeper.begin(question, {KEY: question.options.model_dump(mode="json")})
            if is_first:
                # Not before: a conversation is listed once its question is stored.
                await emit(
                    session, "first_interaction", {"interaction": question.text, "thread_id": question.thread_id}
                )
            for model, turn in question.turns.items():
                events = question_events(self.runtime, question, model)
                self.runtime.turns.start(turn, self._answer(turn, events))
        for other in sessions_of(question.thread_id, question.owner):
            if other.id != session.id:
                await emit(other, "new_message", question.step)
                await emit(other, "new_message", run)
                self.follow(question, other)

    def _question(
        self, session: WebsocketSession, owner: str, message_id: str, text: str, files: Sequence[Mapping[str, Any]]
    ) -> PageQuestion:
        options = page_options(session.chat_settings)
        models = options.asked_models(self.runtime.settings)
        return PageQuestion(
            owner=owner,
            thread_id=session.thread_id,
            message_id=message_id,
            text=text,
            run_id=str(uuid4()),
            options=options,
            uploads=[Upload(file["name"], Path(file["path"])) for file in files],
            author=config.ui.name,
            language=language_of(session.language),
            # A file without a question needs no comparison.
            models=models if text.strip() else models[:1],
            extracts=self.runtime.settings.uses_offline_model,
            may_share=bool(files) and self.runtime.identity.may("upload", session.token),
        )

    # -- history -------------------------------------------------------------------------------------------------

    async def _answer(self, turn: LiveTurn, events: AsyncIterator[AgentEvent]) -> None:
        """Run the turn and store it; tell its readers when the history does not have it."""
        stored = await self.runtime.keeper.answer(turn, events)
        for session in sessions_of(turn.thread_id, turn.owner) if stored != "stored" else ():
            await toast(session, "toast.unsaved_yet" if stored == "later" else "toast.unsaved", "warning")
