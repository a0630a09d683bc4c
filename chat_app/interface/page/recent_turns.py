"""Recent turns of a long conversation: what each browser shows, and earlier ones when it asks for them.

Chainlit's page renders every message that it holds again when an answer begins and ends, so that a turn would take
longer with every turn before it. The page therefore opens a conversation with its last ``OPENED`` turns and holds at
most ``TURNS`` while questions are asked. Its ``SHOW_EARLIER`` message asks for earlier ones.
"""

from typing import Any, Final
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from chat_app.interface.history.history_layer import History
from chat_app.interface.rendering.sockets import emit

OPENED: Final = 2
"""Turns that a page shows of a conversation that it opens; the last question is at the top of the screen."""
TURNS: Final = 6
"""Most turns that a page shows after a question, and turns that it adds when the reader asks for earlier ones."""
EARLIER: Final = "asclepius_earlier"
"""Key of the message that tells the page how many earlier turns there are."""
SHOW_EARLIER: Final = "asclepius_show_earlier"
"""Key of the page's message that asks for earlier turns."""


class RecentTurns:
    """Questions that each browser shows, oldest first, and the number of earlier ones."""

    def __init__(self) -> None:
        self._shown: WeakKeyDictionary[WebsocketSession, list[str]] = WeakKeyDictionary()
        self._earlier: WeakKeyDictionary[WebsocketSession, int] = WeakKeyDictionary()

    def open(self, session: WebsocketSession, thread: Any, count: int = OPENED) -> None:
        """Cut the stored conversation that ``session`` opens to its last ``count`` turns."""
        questions = _questions(thread)
        shown = questions[max(0, len(questions) - count) :]
        self._shown[session], self._earlier[session] = shown, len(questions) - len(shown)
        hidden = set(questions) - set(shown)
        below = {step["id"]: step.get("parentId") for step in thread["steps"]}
        thread["steps"] = [step for step in thread["steps"] if _root(step["id"], below) not in hidden]
        kept = {step["id"] for step in thread["steps"]}
        thread["elements"] = [element for element in thread["elements"] if element.get("forId") in kept]

    def reopen(self, session: WebsocketSession, thread: Any) -> None:
        """Cut the stored conversation to the turns that ``session`` shows already, and those after them."""
        questions, shown = _questions(thread), self._shown.get(session, [])
        first = next((at for at, known in enumerate(questions) if known in shown), len(questions) - OPENED)
        self.open(session, thread, len(questions) - first)

    async def tell(self, session: WebsocketSession) -> None:
        await emit(session, "window_message", {EARLIER: self._earlier.get(session, 0)})

    async def asked(self, session: WebsocketSession, question_id: str) -> None:
        """Add a question that the page shows, and take the oldest ones away from it."""
        shown = self._shown.setdefault(session, [])
        if question_id in shown:
            # Those after an edited question are deleted.
            del shown[shown.index(question_id) :]
        shown.append(question_id)
        if len(shown) <= TURNS:
            return
        gone, shown[:] = shown[:-TURNS], shown[-TURNS:]
        self._earlier[session] = self._earlier.get(session, 0) + len(gone)
        for question in gone:
            await emit(session, "delete_message", {"id": question})
        await self.tell(session)

    async def show_earlier(self, session: WebsocketSession, owner: str, history: History) -> None:
        """Send the conversation again with more of its earlier turns."""
        thread: Any = await history.get_thread(session.thread_id)
        if thread is None or thread.get("userIdentifier") != owner:
            return
        self.open(session, thread, len(self._shown.get(session, ())) + TURNS)
        await emit(session, "resume_thread", thread)
        await self.tell(session)


def _questions(thread: Any) -> list[str]:
    return [step["id"] for step in thread["steps"] or [] if step["type"] == "user_message"]


def _root(step: str, parents: dict[str, str | None]) -> str:
    """Return the step that contains ``step`` and is in no other."""
    while (parent := parents.get(step)) is not None and parent in parents:
        step = parent
    return step
