"""Reads the outputs of tools as evidence.

Known shapes are ``passages`` (text with a ``cite`` marker), ``results`` (drug records with ``products`` and ``label``)
and ``pairs`` (what labels say of one another). Of any other output the sentences that stand beside a ``cite`` are
read, and else its plain fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import orjson

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.dialogue import ToolOutput
from chat_app.offline.extraction.evidence import (
    Evidence,
    EvidencePassage,
    EvidenceRecord,
    Lookup,
    Pair,
    TitledLines,
    WeightedTerm,
)
from chat_app.offline.wire.model import Found
from tools.language.quotable_units import sentences, squeeze
from tools.language.vocabulary.text_language import language_of

Json = dict[str, Any]
_DRUG_KEY: Final = re.compile(r"drug|medicine|medication|^names?$", re.IGNORECASE)


def gather(outputs: Sequence[ToolOutput], found: Sequence[Found] = (), *, searched: bool = False) -> Evidence:
    """The evidence in function outputs and hosted file search results."""
    evidence = Evidence()
    for output in outputs:
        _read(output, evidence)
    if searched:
        evidence.searched_documents = evidence.hosted = True
        evidence.passages += [
            EvidencePassage(item.text, document=item.filename, file_id=item.file_id, rank=rank)
            for rank, item in enumerate(found)
        ]
    return evidence


def _read(output: ToolOutput, evidence: Evidence) -> None:
    body = _decoded(output.output)
    if isinstance(body, dict):
        if body.get("error"):
            evidence.failures.append(output.name)
            return
        if isinstance(body.get("needs"), str) or isinstance(body.get("calculation"), str):
            evidence.calculations.append(_calculated(body))
            return
        if isinstance(body.get("passages"), list):
            _read_passages(body, evidence)
            return
        if isinstance(body.get("pairs"), list):
            _read_pairs(body, evidence)
            return
        if isinstance(body.get("results"), list) and _is_drug_output(body):
            _read_records(body, output, evidence)
            return
    _read_other(output.name, body, evidence)


def _calculated(body: Json) -> TitledLines:
    """Return every field of a calculation as a line, as its passage has it; the reference names the source."""
    if needs := _text(body.get("needs")):
        return TitledLines(needs)
    shown = {key: value for key, value in body.items() if key not in {"cite", "calculation", "source"}}
    lines = (f"{key.replace('_', ' ').capitalize()}: {'; '.join(_texts(value))}" for key, value in shown.items())
    return TitledLines(f"**{_text(body.get('calculation'))}**", tuple(lines), _text(body.get("cite")))


def _decoded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _read_passages(body: Json, evidence: Evidence) -> None:
    evidence.searched_documents = True
    foreign = body.get("question_language", "en") != "en"
    rows = [row for row in _rows(body["passages"]) if isinstance(row.get("text"), str)]
    evidence.passages += [
        EvidencePassage(
            row["text"], cite=_text(row.get("cite")), document=_text(row.get("document")),
            section=_text(row.get("section")), rank=rank,
            title=phrases.FROM_ENGLISH_GUIDELINES if foreign and language_of(row["text"]) == "en" else "",
        )
        for rank, row in enumerate(rows)
    ]  # fmt: skip
    for row in _rows(body.get("terms")):
        if isinstance(row.get("weight"), int | float):
            evidence.terms.append(WeightedTerm(_text(row.get("term")), float(row["weight"]), _texts(row.get("also"))))


def _is_drug_output(body: Json) -> bool:
    return "did_you_mean" in body or any("generic_name" in row for row in _rows(body["results"]))


def _read_records(body: Json, output: ToolOutput, evidence: Evidence) -> None:
    asked = looked_up(output)
    rows = _rows(body["results"])
    records = tuple(_record(row) for row in rows)
    if "generic_name" in body and records:
        records = (_whole_label(body, rows),)
    suggestions = _texts(body.get("did_you_mean"))
    absent = _text(body.get("note")) if body.get("absent") is True else ""
    evidence.lookups.append(Lookup(asked, records, suggestions, absent, _texts(body.get("also_named"))))


def looked_up(output: ToolOutput) -> str:
    """The drug or drugs that a call asked for; empty for a call about something else."""
    arguments = _decoded(output.arguments)
    return asked_for(arguments) if isinstance(arguments, dict) else ""


def asked_for(arguments: Json) -> str:
    """The argument that names a drug, or several."""
    value = next((value for key, value in arguments.items() if _DRUG_KEY.search(key) and value), "")
    return phrases.listed([str(part) for part in value]) if isinstance(value, list) else str(value)


def _read_pairs(body: Json, evidence: Evidence) -> None:
    """What labels say of one another: the pairs, and the quotations with whose label they are of and about whom."""
    for row in _rows(body.get("pairs")):
        names = _texts(row.get("medicines"))
        of = {*names, *_texts(row.get("labels_of"))}
        said = [
            _record({**found, "generic_name": found.get("label_of")})
            for found in _rows(body.get("results"))
            if found.get("label_of") in of and found.get("about") in names
        ]
        evidence.pairs.append(Pair(names, tuple(said), _text(row.get("note"))))
    for row in _rows(body.get("unknown")):
        evidence.lookups.append(Lookup(_text(row.get("name")), (), _texts(row.get("did_you_mean"))))


def _record(row: Json) -> EvidenceRecord:
    label = row.get("label")
    matched = row.get("matched")
    return EvidenceRecord(
        name=_text(row.get("generic_name")),
        cite=_text(row.get("cite")),
        brand_names=_texts(row.get("brand_names")),
        drug_classes=_texts(row.get("drug_classes")),
        products=tuple(map(_product, _rows(row.get("products")))),
        label={key: _texts(value) for key, value in label.items()} if isinstance(label, dict) else {},
        matched=_text(matched.get("how")) if isinstance(matched, dict) else "",
        matched_on=_text(matched.get("on")) if isinstance(matched, dict) else "",
        scope=_scope(row.get("label_scope")),
        severity=_text(row.get("severity")),
    )


def _scope(scope: object) -> str:
    """Return what a label is for where that is not what was asked; empty when it fits or nothing is known."""
    if not isinstance(scope, dict):
        return ""
    said: list[str] = []
    if scope.get("fits") is False:
        shown = phrases.listed(list(_texts(scope.get("routes")) or _texts(scope.get("dosage_forms"))))
        said.append(phrases.OTHER_FORM.format(shown=shown, asked=phrases.listed(list(_texts(scope.get("asked"))))))
    if left_out := _texts(scope.get("not_mentioned")):
        said.append(phrases.NOT_MENTIONED.format(names=phrases.listed(list(left_out), "or")))
    if scope.get("fits") is not False and (without := _texts(scope.get("no_dose_for"))):
        said.append(phrases.NO_DOSE.format(names=phrases.listed(list(without), "or")))
    return "; ".join(said)


def _whole_label(body: Json, rows: Sequence[Json]) -> EvidenceRecord:
    """One record of a label whose sections came one by one, each with a citation of its own."""
    head = _record(body)
    parts = [_record(row) for row in rows]
    return replace(
        head,
        label={section: sentences for part in parts for section, sentences in part.label.items()},
        cites={section: part.cite for part in parts for section in part.label},
    )


def _product(row: Json) -> tuple[str, ...]:
    lists = (", ".join(_texts(row.get(key))) for key in ("routes", "strengths", "brand_names"))
    return (_text(row.get("dosage_form")), *lists)


def _read_other(tool: str, body: Any, evidence: Evidence) -> None:
    cited = list(_cited(body))
    for row in cited:
        strings = [text for _, text in _pairs({**row, "cite": None}) if _is_sentence(text)]
        if strings:
            evidence.searched_documents = True
            evidence.passages.append(EvidencePassage("\n\n".join(strings), cite=_text(row["cite"]), document=tool))
    if not cited:
        lines = (f"{name}: {value}" if name else value for name, value in _pairs(body))
        evidence.fields.append(TitledLines(phrases.FIELDS.format(tool=tool), tuple(lines)))


def _is_sentence(text: str) -> bool:
    return len(text) > 20 and bool(sentences(text)) and text.rstrip()[-1] in ".!?"


def _cited(body: Any) -> Iterator[Json]:
    if isinstance(body, dict) and isinstance(body.get("cite"), str):
        yield cast("Json", body)
    elif isinstance(body, dict | list):
        for value in body.values() if isinstance(body, dict) else body:
            yield from _cited(value)


def _pairs(body: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(body, dict):
        for key, value in body.items():
            yield from _pairs(value, f"{name}.{key}" if name else str(key))
    elif isinstance(body, list):
        for index, value in enumerate(body, start=1):
            yield from _pairs(value, f"{name} {index}".strip())
    elif body is not None and body != "":
        yield name, body if isinstance(body, str) else orjson.dumps(body).decode()


def _text(value: object) -> str:
    return "" if value is None else squeeze(str(value))


def _rows(value: object) -> list[Json]:
    return [cast("Json", row) for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (squeeze(value),)
    return tuple(squeeze(str(part)) for part in value) if isinstance(value, list) else ()
