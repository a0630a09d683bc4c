"""Export of a conversation as one Markdown document: questions, answers as they were sent, references, outcomes."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response

from chat_app.events import Outcome
from chat_app.interface.api.dependencies import OwnThread, ReaderLanguage, ServedRuntime, User
from chat_app.interface.i18n.translation import ENGLISH, Language, date_and_time, say, say_outcome
from chat_app.interface.rendering.turn_steps import COLUMN, GOES_ON
from tools.language.quotable_units import squeeze

_LONGEST_NAME = 80
_ANSWERS = {"assistant_message", COLUMN}


router = APIRouter(prefix="/api/v1", tags=["conversations"])


@router.get("/threads/{thread_id}/export.md")
async def export(runtime: ServedRuntime, user: User, thread_id: OwnThread, language: ReaderLanguage) -> Response:
    """Export the conversation as Markdown: questions, answers as they were sent, references."""
    await runtime.audit.record("export", user, conversation=thread_id)
    await runtime.turns.save_ended(thread_id, user)
    thread = await runtime.history.get_thread(thread_id)
    return Response(
        conversation_markdown(thread or {}, language),
        media_type="text/markdown; charset=utf-8",
        headers={"content-disposition": _attachment(str(thread["name"] or "") if thread else "")},
    )


def _attachment(title: str) -> str:
    name = re.sub(r"[^\w .()-]+", " ", title)[:_LONGEST_NAME].strip() or "conversation"
    return f"attachment; filename=\"conversation.md\"; filename*=UTF-8''{quote(name)}.md"


def conversation_markdown(thread: Mapping[str, Any], language: Language = ENGLISH) -> str:
    """Return ``thread``, as the history returns it, with its headings in ``language``."""
    lines = [
        f"# {squeeze(thread.get('name') or say(language, 'export.untitled'))}",
        "",
        date_and_time(language, thread.get("createdAt") or ""),
        "",
        f"> {say(language, 'export.purpose')}",
        "",
    ]
    elements = {element.get("forId"): element.get("props") or {} for element in thread.get("elements") or []}
    for step in thread.get("steps") or []:
        if step["type"] == "user_message":
            quoted = (f"> {line}" for line in step["output"].splitlines())
            lines += [f"## {say(language, 'export.question')}", "", *quoted, ""]
        elif step["type"] in _ANSWERS and not (step.get("metadata") or {}).get(GOES_ON):
            heading = say(language, "export.answer")
            if step["type"] == COLUMN:
                heading = say(language, "export.answer_of", model=squeeze(step["name"]))
            lines += [f"## {heading}", "", *_answer(step, elements.get(step["id"], {}), language), ""]
    return "\n".join(lines).rstrip() + "\n"


def _answer(step: Mapping[str, Any], props: Mapping[str, Any], language: Language) -> list[str]:
    metadata = step.get("metadata") or {}
    outcome = Outcome.model_validate(metadata.get("outcome") or {})
    shown = [str(props.get("plain") or metadata.get("answer") or "")]
    if outcome.kind != "completed":
        how = say_outcome(language, outcome) or outcome.message
        shown += ["", f"**{say(language, 'export.incomplete')}** {how}"]
    shown += [f"\n{say(language, 'export.note', notice=notice)}" for notice in props.get("notices") or []]
    return shown
