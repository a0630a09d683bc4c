"""Ask the offline server with real tools, and check that its answers consist of extracts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson

from chat_app.agent.citation_manager import CitationManager
from chat_app.offline import phrases
from tools.drug_database.records.drug_record import SECTIONS
from tools.language.vocabulary.common_words import LANGUAGES
from tools.tool_manager import ToolManager
from tools.types import Function, Passage

Json = dict[str, Any]
_MARKER = re.compile(r"\s*(?<!\\)\[\d+\]")
_MOST_STEPS = 5


@dataclass
class Answered:
    """An answer, and everything that the tools returned for it."""

    text: str
    calls: list[str] = field(default_factory=list[str])
    sources: str = ""

    @property
    def plain(self) -> str:
        """Return the text without citation markers and table bars, to search it for facts."""
        return " ".join(_MARKER.sub("", self.text).replace("|", " ").split())

    @property
    def declined(self) -> bool:
        """True when the answer says that nothing answers clearly, or that nothing was found."""
        return self.denied or any(
            phrases.said(phrase, language) in self.text
            for phrase in (phrases.CLOSEST, phrases.UNRELATED)
            for language in LANGUAGES
        )

    @property
    def denied(self) -> bool:
        """True when the answer says that nothing was found."""
        nothing = (phrases.said(phrases.NOTHING, language) for language in LANGUAGES)
        return any(said.partition(".")[0] in self.text for said in nothing)


class Asker:
    """A client of the offline server with the app's tools."""

    def __init__(self, base_url: str, tools: ToolManager) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, headers={"Authorization": "Bearer any"}, timeout=60)
        self._tools = tools
        self._numbers: dict[str, int] = {}
        self._citations = CitationManager(self._number)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def ask(self, *questions: str) -> Answered:
        """Ask ``questions`` as one conversation; return the last answer."""
        previous: str | None = None
        answered = Answered("")
        for question in questions:
            response = await self._respond(question, previous)
            answered = Answered("", sources=f"{answered.sources}\n{question}")
            for _ in range(_MOST_STEPS):
                calls = [item for item in response["output"] if item["type"] == "function_call"]
                if not calls:
                    break
                answered.calls += [call["name"] for call in calls]
                outputs = [await self._run(call) for call in calls]
                answered.sources += "\n" + "\n".join(_strings([orjson.loads(text) for _, text in outputs]))
                answered.sources += "\n" + "\n".join(_strings([orjson.loads(call["arguments"]) for call in calls]))
                given = [{"type": "function_call_output", "call_id": c, "output": text} for c, text in outputs]
                response = await self._respond(given, response["id"])
            previous = response["id"]
            answered.text = response["output"][-1]["content"][0]["text"]
        return answered

    async def _respond(self, given: str | list[Json], previous: str | None) -> Json:
        tools = [definition.model_dump() for definition in self._tools.definitions()]
        body = {"model": "m", "input": given, "tools": tools, "previous_response_id": previous}
        answer = await self._http.post("/responses", json=body)
        assert answer.status_code == 200, answer.text
        response: Json = answer.json()
        return response

    async def _run(self, call: Json) -> tuple[str, str]:
        function = Function(call_id=call["call_id"], name=call["name"], arguments=call["arguments"])
        return call["call_id"], await self._citations.render_output(await self._tools.execute(function))

    async def _number(self, passages: Sequence[Passage]) -> tuple[int, ...]:
        return tuple(self._numbers.setdefault(passage.id, len(self._numbers) + 1) for passage in passages)


def _strings(body: Any) -> list[str]:
    if isinstance(body, dict):
        return [text for value in body.values() for text in _strings(value)]
    if isinstance(body, list):
        return [text for value in body for text in _strings(value)]
    return [] if body is None else [str(body)]


def invented(answered: Answered) -> list[str]:
    """Return the parts of an answer that are neither extracts of its sources nor fixed phrases of the model."""
    sources = _folded(answered.sources)
    parts = [part for line in answered.text.split("\n") if line.strip() for part in _parts(line)]
    return [part for part in parts if not _is_extract(part, sources) and not _is_phrase(part, sources)]


def _is_extract(part: str, sources: str) -> bool:
    """Return whether ``part`` is a stretch of a source, or the cells of a table row."""
    return all(_folded(piece) in sources for piece in part.split("; ")) or _folded(part) in sources


def _parts(line: str) -> list[str]:
    text = _MARKER.sub("", line).replace("\\[", "[").strip()
    if text.startswith("|"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", text.strip("|"))]
        known = {*phrases.PRODUCT_COLUMNS, *phrases.RECORD_COLUMNS, phrases.NOT_GIVEN, "---", ""}
        return [value for cell in cells if cell not in known for value in cell.split(", ")]
    pairs, _, note = text.partition(": ")
    return [*re.split(r" \+ |; ", pairs), note] if " + " in pairs and note else [text.removeprefix("- ")]


def _is_phrase(text: str, sources: str) -> bool:
    remark = re.fullmatch(r"(.+?) \((.+)\)(, .+)", text)
    if remark and all(_is_phrase(note, sources) for note in remark[2].split("; ")):
        text = remark[1] + remark[3]
    fixed = [value for value in vars(phrases).values() if isinstance(value, str)]
    templates = [phrases.said(value, language) for value in fixed for language in LANGUAGES]
    for template in templates:
        pattern = re.escape(template)
        for slot in re.findall(r"\\\{(\w+)\\\}", pattern):
            pattern = pattern.replace(rf"\{{{slot}\}}", "(.+?)")
        match = re.fullmatch(pattern, text)
        if match:
            places = (phrases.GUIDELINES, phrases.FILES, phrases.DRUGS)
            known = {phrases.said(place, language) for place in places for language in LANGUAGES}
            known |= {phrases.section_name(section, language) for section in SECTIONS for language in LANGUAGES}
            values = [value for group in match.groups() for value in re.split(r", | and | or | und | y ", group)]
            return all(value in known or _folded(value) in sources for value in values)
    return False


def _folded(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()
