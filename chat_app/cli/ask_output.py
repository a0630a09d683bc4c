"""Printers for ``asclepius ask``: text, or one JSON event per line."""

import sys
from collections.abc import Sequence
from typing import assert_never

import typer

from chat_app.agent.citations.reference_formats import ReferenceFormat, demo_note, formatted
from chat_app.events import (
    AgentEvent,
    CitationAdded,
    ModelEvent,
    Notice,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    StatementsChecked,
    TextDelta,
    TextReplaced,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
    event_json,
)

_CORRECTED = "\n\n[The model server corrected its text. The answer from its beginning:]\n\n"


class JsonLines:
    """One event per line; with ``compared`` models, each line names its model."""

    def __init__(self, *, compared: bool) -> None:
        self._compared = compared

    def show(self, model: str, event: AgentEvent) -> None:
        """Print one event."""
        shown = ModelEvent(model=model, event=event).model_dump_json() if self._compared else event_json(event).decode()
        sys.stdout.write(shown + "\n")
        sys.stdout.flush()


class Sections:
    """The answers of several models, each printed under its name when it is complete."""

    def __init__(self, models: Sequence[str], references: ReferenceFormat | None = None) -> None:
        self._references: ReferenceFormat | None = references
        self._waiting: dict[str, list[AgentEvent]] = {}
        self._printed = 0
        typer.secho(f"· Asking {', '.join(models)}", err=True, dim=True)

    def show(self, model: str, event: AgentEvent) -> None:
        """Keep an event, and print its model's section when the turn ends."""
        waiting = self._waiting.setdefault(model, [])
        waiting.append(event)
        if isinstance(event, TurnEnded):
            typer.secho(f"{chr(10) if self._printed else ''}── {model} ──", bold=True)
            self._printed += 1
            section = Plain(self._references)
            for part in waiting:
                section.show(model, part)


class Plain:
    """The answer on standard output; notices and tool calls on standard error."""

    def __init__(self, references: ReferenceFormat | None = None) -> None:
        self._references: ReferenceFormat | None = references
        self._conversation_id = ""
        self._at_line_start = True

    def show(self, _model: str, event: AgentEvent) -> None:
        """Print one event."""
        match event:
            case TurnStarted():
                self._conversation_id = event.conversation_id
            case TextDelta() | TextReplaced():
                self._write(_CORRECTED if isinstance(event, TextReplaced) else event.text)
            case CitationAdded():
                self._write(f"[{event.number}]")
            case Notice():
                self._notice(event)
            case RunItemStreamEvent():
                self._item(event)
            case StatementsChecked():
                for found in event.unsupported:
                    self._note(f"Not found in its source {found.marks}: “{found.text}”{found.missing}")
            case ReferencesReady():
                self._write(f"\n\nReferences\n{self._reference_list(event.references)}")
            case TurnEnded():
                self._end(event)
            case _:
                assert_never(event)

    def _reference_list(self, references: Sequence[Reference]) -> str:
        if self._references is None:
            return "\n".join(map(reference_line, references))
        # RIS files end lines with CRLF; text mode writes the line ends of the platform.
        return formatted(references, self._references).replace("\r\n", "\n")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._at_line_start = text.endswith("\n")

    def _notice(self, notice: Notice) -> None:
        """Write a notice that comes first to standard output, where the answer goes; others are for the terminal."""
        if notice.comes_first:
            self._write(f"{notice.message}\n\n")
        else:
            self._note(notice.message)

    def _note(self, message: str) -> None:
        if not self._at_line_start and sys.stderr.isatty():
            sys.stderr.write("\n")
        typer.secho(f"· {message}", err=True, dim=True)

    def _item(self, event: RunItemStreamEvent) -> None:
        if isinstance(event.item, ToolOutputRunItem):
            output = event.item.function_output
            name = f"{output.name} ({output.subject})" if output.subject else output.name
            result = f"failed: {output.error}" if output.error else output.summary or "done"
            self._note(f"{name}: {result} ({output.duration_ms:.0f} ms)")

    def _end(self, event: TurnEnded) -> None:
        if not self._at_line_start:
            sys.stdout.write("\n")
        if event.outcome.kind != "completed":
            typer.secho(f"asclepius: {event.outcome.message}", err=True)
        typer.secho(f'· To go on: asclepius ask --session {self._conversation_id} "…"', err=True, dim=True)


def reference_line(reference: Reference) -> str:
    """Return a reference such as ``[1] Title, edition. Section, p. 4. Strong recommendation. “Quote.”``."""
    passage = reference.passage
    title = ", ".join(filter(None, [passage.title, "" if passage.summarises else passage.version]))
    page = f"p. {passage.page_label or passage.page}" if passage.page or passage.page_label else ""
    place = ", ".join(filter(None, [reference.section, page]))
    quotes = " ".join(f"“{' '.join(quote.split())}”" for quote in reference.quotes)
    parts = [f"{part}." for part in (title, place, "; ".join(reference.strengths), demo_note(passage)) if part]
    return " ".join(filter(None, [f"[{reference.number}]", *parts, quotes]))
