"""Which questions of a conversation are about the same exposure, and which medicines they name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from chat_app.safety.emergency_classifier import EmergencyKind, emergency_kind, may_tell_of_medicine_before
from tools.drug_database.names.overdosage_wording import adds_to_exposure, leaves_exposure
from tools.drug_database.records.drug_record import SECTION_TITLES
from tools.tool_manager import ToolManager
from tools.types import Function, FunctionOutput

_TAKEN: Final[frozenset[EmergencyKind]] = frozenset({"exposure", "reaction"})


@dataclass(frozen=True)
class ExposureCourse:
    """Follows an exposure from question to question."""

    tool_manager: ToolManager
    tool: str
    """Name of the tool that searches Overdosage sections; empty if none may be called."""

    async def overdosage(self, question: str) -> FunctionOutput:
        """Return what the tool finds for ``question``."""
        arguments = json.dumps({"question": question})
        return await self.tool_manager.execute(Function(call_id="", name=self.tool, arguments=arguments))

    async def named(self, text: str) -> set[str]:
        """Return the medicines that ``text`` names."""
        subject = (await self.overdosage(text)).subject
        return set(subject.split(", ")) if subject else set()

    async def gone_on_with(self, recent: Sequence[str]) -> EmergencyKind | None:
        """Return the kind of an exposure that a question before told of, if the newest is about the same one."""
        told = await self._told_at(recent)
        return None if told is None else emergency_kind(recent[told])

    async def before(self, recent: Sequence[str]) -> Sequence[str]:
        """Return the questions before on the same exposure.

        If none of them names a medicine, but tells of one, the question before them is returned, too.
        """
        first = len(recent) - 1
        while (earlier := await self._told_at(recent[: first + 1])) is not None:
            first = earlier
        if may_tell_of_medicine_before(recent[first]) and not await self.named("\n".join(recent[first:])):
            first = max(0, first - 1)
        return recent[first:-1]

    async def _told_at(self, recent: Sequence[str]) -> int | None:
        """Return the index of the last question that told of an exposure, if the newest question continues it.

        A question continues it that names no other medicine, or names one that the same patient took or that is a
        treatment. A question without a medicine continues only the question directly before it.
        """
        *earlier, _ = recent
        told = next((at for at in reversed(range(len(earlier))) if emergency_kind(earlier[at]) in _TAKEN), None)
        if told is None:
            return None
        exposure = earlier[: told + 1]
        known = await self.named("\n".join([*await self.before(exposure), exposure[-1]]))
        since: set[str] = set()
        for at in range(told + 1, len(recent)):
            named = await self.named(recent[at])
            if leaves_exposure(recent[at]) or not (
                named <= known
                or adds_to_exposure(recent[at])
                or named - known <= await self._treatments(recent[: at + 1])
            ):
                return None
            known |= named
            since |= named
        return told if since or told == len(earlier) - 1 else None

    async def _treatments(self, questions: Sequence[str]) -> set[str]:
        """Return the medicines whose dose the ``questions`` ask for as treatments of an overdose of another."""
        found = (await self.overdosage("\n".join(questions))).output
        rows: Any = found.get("results", ()) if isinstance(found, dict) else ()
        return {row["label_of"] for row in rows if row["section"] == SECTION_TITLES["dosage"]}
