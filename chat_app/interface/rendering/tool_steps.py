"""Tool calls as steps of the page: a title with the subject, and the results as tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from chat_app.interface.conversation.uploads import MAY_SHARE, OWN
from chat_app.interface.i18n.translation import ENGLISH, Language, elapsed, say, say_phrase, say_tool_error
from chat_app.interface.markdown.markdown_text import cell, literal, short, table
from tools.types import Function, FunctionOutput, Phrase, ToolPresentation

_LONGEST_SUBJECT = 72
_RAW_LIMIT = 60_000
_INTERNAL = (OWN, MAY_SHARE, "cite")


def step_name(
    call: Function, tool: ToolPresentation | None = None, language: Language = ENGLISH, *, found: str = ""
) -> str:
    """Return a step's title, the tool and what the call is about: ``Drug database: metformin``.

    ``found`` is what the call was found to be about; before that, its arguments tell.
    """
    tool = tool or ToolPresentation.of_name(call.name)
    name, subject = _told(tool, language, tool.title), found or _subject(_arguments(call), tool.subjects)
    return f"{name}: {subject}" if subject else name


def finished_name(output: FunctionOutput, tool: ToolPresentation | None = None, language: Language = ENGLISH) -> str:
    """Return the title of a finished step: ``Drug database: metformin · 5 products · 40 ms``."""
    parts = [step_name(output.input, tool, language, found=_short(output.subject))]
    if output.error is not None:
        parts.append(say(language, "step.failed"))
    elif output.summary:
        parts.append(" ".join(_told(tool, language, output.summary_phrase or output.summary).split()))
    parts.append(elapsed(language, output.duration_ms))
    return " · ".join(parts)


def progress_name(
    call: Function, item: JsonValue, tool: ToolPresentation | None = None, language: Language = ENGLISH
) -> str:
    """Return the title of a step whose tool reports progress."""
    text = item.get("message") if isinstance(item, dict) else item
    words = " ".join(cell(language, text).split())[:_LONGEST_SUBJECT]
    name = step_name(call, tool, language)
    return f"{name} · {_told(tool, language, words)}" if words else name


def _told(tool: ToolPresentation | None, language: Language, phrase: Phrase | str) -> str:
    phrase = Phrase(text=phrase) if isinstance(phrase, str) else phrase
    return say_phrase(language, phrase, tool.translations if tool else {})


def _told_fields(
    tool: ToolPresentation | None, language: Language, fields: Mapping[str, JsonValue]
) -> list[tuple[str, str]]:
    return [(_told(tool, language, _name(k)), cell(language, _worded(tool, language, v))) for k, v in fields.items()]


def _worded(tool: ToolPresentation | None, language: Language, value: JsonValue) -> JsonValue:
    """Return ``value`` with the words that the tool knows, such as units and options, in ``language``."""
    if isinstance(value, dict):
        known = value.keys() == {"value", "unit"}
        return {k if known else _told(tool, language, k): _worded(tool, language, v) for k, v in value.items()}
    if isinstance(value, list):
        return [_worded(tool, language, item) for item in value]
    return _told(tool, language, value) if isinstance(value, str) else value


def step_content(
    output: FunctionOutput, tool: ToolPresentation | None = None, language: Language = ENGLISH, *, question: str = ""
) -> str:
    """Return the step's Markdown: the arguments and the result as tables, or the failure.

    An argument that only repeats the ``question``, which is shown above, is left out.
    """
    given = _arguments(output.input)
    arguments = {key: value for key, value in given.items() if str(value).split() != question.split()}
    shown: list[str] = []
    heading = f"**{say(language, 'step.arguments')}**\n\n"
    if arguments:
        shown.append(heading + _titled(language, ("argument", "value"), _told_fields(tool, language, arguments)))
    elif not given and output.input.arguments.strip() not in ("", "{}"):
        shown.append(heading + literal(output.input.arguments[:_LONGEST_SUBJECT]))
    if output.error is not None:
        failure = say_tool_error(language, output.error_code, output.error_params, output.error)
        shown.append(f"**{say(language, 'step.error')}** " + literal(failure))
    else:
        shown.append(f"**{say(language, 'step.result')}**\n\n" + _result(output.output, tool, language))
    return "\n\n".join(shown)


def raw_result(output: FunctionOutput, language: Language = ENGLISH) -> str:
    """Return the result as JSON text, cut when it is very long."""
    text = json.dumps(output.output, indent=2, ensure_ascii=False)
    if (cut := len(text) - _RAW_LIMIT) <= 0:
        return text
    return f"{text[:_RAW_LIMIT]}\n{say(language, 'step.more_characters', count=cut)}"


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
            return _short(cell(ENGLISH, value))
    return ""


def _name(key: str) -> str:
    return key.replace("_", " ")


def _short(text: str) -> str:
    return short(" ".join(text.split()), _LONGEST_SUBJECT)


def _result(output: JsonValue, tool: ToolPresentation | None, language: Language) -> str:
    nothing = say(language, "step.nothing")
    if not isinstance(output, dict):
        return _rows_of(output, language) or literal(cell(language, output)) or nothing
    shown: list[str] = []
    results, pairs = (_records(output.get(key)) for key in ("results", "pairs"))
    notes = [pair["note"] for pair in pairs if pair.get("note")]
    if any({"label", "section"} <= row.keys() for row in results):
        shown.append(_statements(results, language))
    elif any("generic_name" in row for row in results):
        shown.append(_drugs(results, language))
    elif output.get("results") == []:
        shown.append("" if notes else say(language, "step.no_match"))
    elif isinstance(passages := output.get("passages"), list):
        columns = ("document", "section", "page", "text")
        rows = ([passage.get(column) for column in columns] for passage in _records(passages))
        shown.append(_titled(language, columns, rows) or say(language, "step.no_passage"))
    else:
        listed = next((value for value in output.values() if isinstance(value, list) and value), None)
        fields = _told_fields(tool, language, {k: v for k, v in output.items() if k not in _INTERNAL})
        shown.append(_rows_of(listed, language) or _titled(language, ("field", "value"), fields))
    notes += [output.get("note")]
    for label, value in (("did_you_mean", output.get("did_you_mean")), *(("note", note) for note in notes)):
        if words := cell(language, value):
            shown.append(f"{say(language, f'step.{label}')}: {literal(words)}")
    return "\n\n".join(part for part in shown if part) or nothing


def _records(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _statements(results: list[dict[str, JsonValue]], language: Language) -> str:
    """Return the sentences of drug labels as a table with a row for each section."""
    rows: list[Sequence[JsonValue]] = []
    for row in results:
        label = row.get("label")
        sections = label.values() if isinstance(label, dict) else ()
        said = " ".join(str(sentence) for section in sections if isinstance(section, list) for sentence in section)
        rows.append((row.get("label_of") or row.get("generic_name"), row.get("section"), said))
    return _titled(language, ("drug", "section", "text"), rows)


def _drugs(results: list[dict[str, JsonValue]], language: Language) -> str:
    rows: list[Sequence[JsonValue]] = []
    for record in results:
        listed = _records(record.get("products"))
        for product in listed or [{}]:
            # Brands of the whole record are not attributed to a single product.
            brands = product.get("brand_names") if listed else record.get("brand_names")
            form = (product.get(key) for key in ("dosage_form", "routes", "strengths"))
            name = record.get("generic_name")
            if record.get("discontinued") or product.get("discontinued"):
                name = say(language, "step.discontinued", name=str(name))
            rows.append((name, *form, brands, product.get("labelers")))
    return _titled(language, ("drug", "form", "route", "strengths", "brands", "labelers"), rows)


def _titled(language: Language, columns: Iterable[str], rows: Iterable[Sequence[JsonValue]]) -> str:
    titles = [say(language, f"step.{column}") for column in columns]
    return table(language, titles, [[cell(language, value) for value in row] for row in rows])


def _rows_of(value: JsonValue, language: Language) -> str:
    rows = _records(value)
    keys = list(dict.fromkeys(key for row in rows for key in row))[:8]
    return table(language, [*map(_name, keys)], [[cell(language, row.get(key)) for key in keys] for row in rows])
