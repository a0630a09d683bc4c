"""A tool call as a step of the page: a title that says what was looked up, and what came back as tables."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from chat_app.interface.conversation.uploads import MAY_SHARE, OWN
from chat_app.interface.i18n.translation import Language, say, translated
from chat_app.interface.markdown.markdown_text import cell, literal, table
from tools.types import Function, FunctionOutput, Phrase, ToolPresentation

_LONGEST_SUBJECT = 72
_RAW_LIMIT = 60_000


def step_name(call: Function, tool: ToolPresentation | None = None, language: Language = "en") -> str:
    """``Drug database: metformin``: the tool and what it was asked for."""
    tool = tool or ToolPresentation.of_name(call.name)
    name, subject = _told(tool, language, tool.title), _subject(_arguments(call), tool.subjects)
    return f"{name}: {subject}" if subject else name


def finished_name(output: FunctionOutput, tool: ToolPresentation | None = None, language: Language = "en") -> str:
    """``Drug database: metformin · 5 products · 40 ms``; a failure says so."""
    parts = [step_name(output.input, tool, language)]
    if output.error is not None:
        parts.append(say(language, "failed"))
    elif output.summary:
        parts.append(" ".join(_told(tool, language, output.summary_phrase or output.summary).split()))
    parts.append(_duration(output.duration_ms))
    return " · ".join(parts)


def progress_name(
    call: Function, item: JsonValue, tool: ToolPresentation | None = None, language: Language = "en"
) -> str:
    """The title while a tool reports progress."""
    text = item.get("message") if isinstance(item, dict) else item
    words = " ".join(cell(text).split())[:_LONGEST_SUBJECT]
    name = step_name(call, tool, language)
    return f"{name} · {_told(tool, language, words)}" if words else name


def _told(tool: ToolPresentation | None, language: Language, phrase: Phrase | str) -> str:
    """``phrase`` in ``language``, by the tool's own translations or else the app's."""
    phrase = Phrase(text=phrase) if isinstance(phrase, str) else phrase
    own = tool.translations.get(language, {}) if tool else {}
    return str(phrase.model_copy(update={"text": own.get(phrase.text) or say(language, phrase.text)}))


def step_content(output: FunctionOutput, language: Language = "en") -> str:
    """Markdown inside the step: the tool's name, its arguments and its result as tables, or why it failed."""
    arguments = _arguments(output.input)
    shown = [f"{say(language, 'Tool')} `{_code_name(output.name)}`"]
    heading = f"**{say(language, 'Arguments')}**\n\n"
    if arguments:
        titles = say(language, "Argument"), say(language, "Value")
        shown.append(heading + table(titles, [(k, cell(v)) for k, v in arguments.items()]))
    elif output.input.arguments.strip() not in ("", "{}"):
        shown.append(heading + literal(output.input.arguments[:_LONGEST_SUBJECT]))
    if output.error is not None:
        shown.append(f"**{say(language, 'Failed:')}** " + literal(translated(language, output.error)))
    else:
        shown.append(f"**{say(language, 'Result')}**\n\n" + _result(output.output, language))
    return "\n\n".join(shown)


def raw_result(output: FunctionOutput) -> str:
    """The result as JSON text, cut when it is very long."""
    text = json.dumps(output.output, indent=2, ensure_ascii=False)
    return text if len(text) <= _RAW_LIMIT else text[:_RAW_LIMIT] + f"\n… {len(text) - _RAW_LIMIT} more characters"


def _arguments(call: Function) -> dict[str, Any]:
    try:
        parsed = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in parsed.items() if value is not None} if isinstance(parsed, dict) else {}


def _subject(arguments: dict[str, Any], preferred: tuple[str, ...]) -> str:
    for key in preferred or arguments:
        value = arguments.get(key)
        if value and isinstance(value, str | list):
            words = " ".join(cell(value).split())
            return words if len(words) <= _LONGEST_SUBJECT else words[: _LONGEST_SUBJECT - 1].rstrip() + "…"
    return ""


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _code_name(name: str) -> str:
    return name.replace("`", "'")


def _result(output: JsonValue, language: Language) -> str:
    nothing = say(language, "Nothing.")
    if not isinstance(output, dict):
        return _rows_of(output) or literal(cell(output)) or nothing
    shown: list[str] = []
    if isinstance(results := output.get("results"), list):
        shown.append(_drugs(results, language) or say(language, "No match."))
    elif isinstance(passages := output.get("passages"), list):
        shown.append(_passages(passages, language) or say(language, "No passage was found."))
    else:
        listed = next((value for value in output.values() if isinstance(value, list) and value), None)
        fields = [(k, cell(v)) for k, v in output.items() if k not in (OWN, MAY_SHARE)]
        shown.append(_rows_of(listed) or table(_said(language, "Field", "Value"), fields))
    for key, label in (("did_you_mean", "Did you mean"), ("note", "Note")):
        if words := cell(output.get(key)):
            shown.append(f"{say(language, label)}: {literal(words)}")
    return "\n\n".join(part for part in shown if part) or nothing


def _said(language: Language, *headings: str) -> list[str]:
    return [say(language, heading) for heading in headings]


def _drugs(results: list[JsonValue], language: Language) -> str:
    rows: list[tuple[str, ...]] = []
    for record in results:
        if not isinstance(record, dict):
            continue
        products = record.get("products")
        listed = [p for p in products if isinstance(p, dict)] if isinstance(products, list) else []
        for product in listed or [{}]:
            brands = product.get("brand_names") or record.get("brand_names")
            rows.append(
                (
                    cell(record.get("generic_name")),
                    cell(product.get("dosage_form")),
                    cell(product.get("routes")),
                    cell(product.get("strengths")),
                    cell(brands),
                    cell(product.get("labelers")),
                )
            )
    return table(_said(language, "Drug", "Form", "Route", "Strengths", "Brands", "Labelers"), rows)


def _passages(passages: list[JsonValue], language: Language) -> str:
    keys = ("document", "section", "page", "text")
    rows = [tuple(cell(p.get(key)) for key in keys) for p in passages if isinstance(p, dict)]
    return table(_said(language, "Document", "Section", "Page", "Text"), rows)


def _rows_of(value: JsonValue) -> str:
    rows = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    keys = list(dict.fromkeys(key for row in rows for key in row))[:8]
    return table(keys, [[cell(row.get(key)) for key in keys] for row in rows])
