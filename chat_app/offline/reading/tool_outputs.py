"""Reads the outputs of tools as evidence.

Known shapes are ``passages`` (text with a ``cite`` marker), ``results`` (drug records with ``products`` and ``label``)
and ``pairs`` (what labels say of one another). Of any other output the sentences that stand beside a ``cite`` are
read, and else its plain fields. A field that is missing or has another type reads as empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import orjson

from chat_app.offline import phrases
from chat_app.offline.reading.dialogue import ToolOutput, decoded, fields_of
from chat_app.offline.reading.evidence import (
    Catalogue,
    Evidence,
    EvidencePassage,
    EvidenceRecord,
    Lookup,
    Pair,
    Remark,
    TitledLines,
    WeightedTerm,
)
from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.model import Found
from tools.drug_database.names.name_keys import joined
from tools.language.quotable_units import sentences, squeeze
from tools.language.vocabulary.text_language import language_of

_DRUG_KEY: Final = re.compile(r"drug|medicine|medication|^names?$", re.IGNORECASE)
_PRODUCT_LISTS: Final = ("routes", "strengths", "brand_names")


def gather(outputs: Sequence[ToolOutput], found: Sequence[Found] = (), *, searched: bool = False) -> Evidence:
    """Return the evidence in function outputs and hosted file search results."""
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


def asked_for(arguments: Json) -> str:
    """Return the drug or drugs that ``arguments`` name; empty for a call about something else."""
    value = next((value for key, value in arguments.items() if _DRUG_KEY.search(key) and value), "")
    return joined([str(part) for part in value]) if isinstance(value, list) else str(value)


def _read(output: ToolOutput, evidence: Evidence) -> None:
    body = decoded(output.output)
    fields = fields_of(body)
    results = _rows(fields.get("results"))
    if fields.get("error"):
        evidence.failures.append(output.name)
    elif isinstance(fields.get("needs"), str) or isinstance(fields.get("calculation"), str):
        evidence.calculations.append(_calculated(fields))
    elif "guidelines_on_subject" in fields:
        drugs = fields.get("drugs")
        evidence.catalogue = Catalogue(
            _titles(fields.get("guidelines")),
            _titles(fields["guidelines_on_subject"]),
            drugs if isinstance(drugs, int) else None,
        )
    elif isinstance(fields.get("passages"), list):
        _read_passages(fields, evidence)
    elif isinstance(fields.get("pairs"), list):
        _read_pairs(fields, results, evidence)
    elif any("generic_name" in row for row in results) or {"results", "did_you_mean"} <= fields.keys():
        records = [_whole_label(fields, results)] if "generic_name" in fields and results else map(_record, results)
        evidence.lookups.append(
            Lookup(
                asked_for(output.given),
                tuple(records),
                _texts(fields.get("did_you_mean")),
                absent=_text(fields.get("note")) if fields.get("absent") is True else "",
                not_loaded=_texts(fields.get("not_loaded")),
                also_named=_texts(fields.get("also_named")),
            )
        )
    else:
        _read_other(output.name, body, evidence)


def _titles(value: object) -> tuple[tuple[str, str], ...]:
    return tuple((_text(row.get("title")), _text(row.get("details"))) for row in _rows(value))


def _calculated(body: Json) -> TitledLines:
    """Return every field of a calculation as a line, as its passage has it; the reference names the source."""
    if needs := _text(body.get("needs")):
        return TitledLines(needs)
    shown = {key: value for key, value in body.items() if key not in {"cite", "calculation", "source"}}
    lines = (f"{key.replace('_', ' ').capitalize()}: {'; '.join(_texts(value))}" for key, value in shown.items())
    return TitledLines(f"**{_text(body.get('calculation'))}**", tuple(lines), _text(body.get("cite")))


def _read_passages(body: Json, evidence: Evidence) -> None:
    evidence.searched_documents = True
    foreign = body.get("question_language", "en") != "en"
    rows = [row for row in _rows(body["passages"]) if isinstance(row.get("text"), str)]
    evidence.passages += [
        EvidencePassage(
            row["text"], cite=_text(row.get("cite")), document=_text(row.get("document")),
            section=_text(row.get("section")), rank=rank, place=at if isinstance(at := row.get("place"), int) else 0,
            title=phrases.FROM_ENGLISH_GUIDELINES if foreign and language_of(row["text"]) == "en" else "",
        )
        for rank, row in enumerate(rows)
    ]  # fmt: skip
    evidence.terms += [
        WeightedTerm(
            _text(row.get("term")),
            float(row["weight"]),
            _texts(row.get("also")),
            _texts(row.get("related")),
            bool(row.get("absent")),
        )
        for row in _rows(body.get("terms"))
        if isinstance(row.get("weight"), int | float)
    ]


def _read_pairs(body: Json, results: Sequence[Json], evidence: Evidence) -> None:
    """Read what labels say of one another: the pairs, and for each the quotations of one label about the other."""
    for row in _rows(body.get("pairs")):
        names = _texts(row.get("medicines"))
        of = {*names, *_texts(row.get("labels_of"))}
        said = (
            _record({**found, "generic_name": found.get("label_of")})
            for found in results
            if found.get("label_of") in of and found.get("about") in names
        )
        evidence.pairs.append(Pair(names, tuple(said), _text(row.get("note"))))
    for row in _rows(body.get("unknown")):
        evidence.lookups.append(Lookup(_text(row.get("name")), (), _texts(row.get("did_you_mean"))))


def _record(row: Json) -> EvidenceRecord:
    matched = fields_of(row.get("matched"))
    products = _rows(row.get("products"))
    return EvidenceRecord(
        name=_text(row.get("generic_name")),
        cite=_text(row.get("cite")),
        brand_names=_texts(row.get("brand_names")),
        drug_classes=_texts(row.get("drug_classes")),
        products=tuple(_product(one) for one in products if not one.get("discontinued")),
        discontinued_products=tuple(_product(one) for one in products if one.get("discontinued")),
        discontinued_brands=_texts(row.get("discontinued_brand_names")),
        discontinued=bool(row.get("discontinued")),
        label={key: _texts(value) for key, value in fields_of(row.get("label")).items()},
        matched=_text(matched.get("how")),
        matched_on=_text(matched.get("on")),
        scope=_scope(fields_of(row.get("label_scope"))),
        severity=_text(row.get("severity")),
    )


def _product(row: Json) -> tuple[str, ...]:
    return (_text(row.get("dosage_form")), *(", ".join(_texts(row.get(key))) for key in _PRODUCT_LISTS))


def _scope(scope: Json) -> tuple[Remark, ...]:
    """Return what a label is for where that is not what was asked; empty when it fits or nothing is known."""
    names = {key: _texts(value) for key, value in scope.items()}
    remarks: list[Remark] = []
    if scope.get("fits") is False:
        shown = names.get("routes") or names.get("dosage_forms", ())
        remarks.append(Remark(phrases.OTHER_FORM, {"shown": shown, "asked": names.get("asked", ())}))
    if left_out := names.get("not_mentioned"):
        remarks.append(Remark(phrases.NOT_MENTIONED, {"names": left_out}, "or"))
    if scope.get("fits") is not False and (without := names.get("no_dose_for")):
        remarks.append(Remark(phrases.NO_DOSE, {"names": without}, "or"))
    return tuple(remarks)


def _whole_label(body: Json, rows: Sequence[Json]) -> EvidenceRecord:
    """Return one record of a label whose sections came one by one, each with a citation of its own."""
    parts = [_record(row) for row in rows]
    return replace(
        _record(body),
        label={section: sentences for part in parts for section, sentences in part.label.items()},
        cites={section: part.cite for part in parts for section in part.label},
    )


def _read_other(tool: str, body: Any, evidence: Evidence) -> None:
    cited = list(_cited(body))
    for row in cited:
        strings = [text for _, text in _leaves({**row, "cite": None}) if _is_sentence(text)]
        if strings:
            evidence.searched_documents = True
            evidence.passages.append(EvidencePassage("\n\n".join(strings), cite=_text(row["cite"]), document=tool))
    if not cited:
        lines = (f"{name}: {value}" if name else value for name, value in _leaves(body))
        evidence.fields.append(TitledLines(tool, tuple(lines)))


def _is_sentence(text: str) -> bool:
    return len(text) > 20 and bool(sentences(text)) and text.rstrip()[-1] in ".!?"


def _cited(body: Any) -> Iterator[Json]:
    """Yield the outermost objects that have a citation."""
    if isinstance(fields_of(body).get("cite"), str):
        yield body
    elif isinstance(body, dict | list):
        for value in body.values() if isinstance(body, dict) else body:
            yield from _cited(value)


def _leaves(body: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the plain values in ``body``, each with its path."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(body, list):
        for index, value in enumerate(body, start=1):
            yield from _leaves(value, f"{name} {index}".strip())
    elif body is not None and body != "":
        yield name, body if isinstance(body, str) else orjson.dumps(body).decode()


def _rows(value: object) -> list[Json]:
    return [cast("Json", row) for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return "" if value is None else squeeze(str(value))


def _texts(value: object) -> tuple[str, ...]:
    return (squeeze(value),) if isinstance(value, str) else tuple(map(_text, value)) if isinstance(value, list) else ()
