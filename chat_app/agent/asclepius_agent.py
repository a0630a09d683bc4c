"""The domain façade: which tools a question may use and which instructions the model gets.

Clinical decisions are made here; streaming, steps and sessions are below.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from babel import Locale

from chat_app.agent.chat_manager import ChatManager
from chat_app.agent.exposure_course import ExposureCourse
from chat_app.agent.response_manager import OpenAIResponseManager
from chat_app.agent.turn import TurnRequest
from chat_app.agent.turn_queue import TurnQueue
from chat_app.answer_options import ConsultOptions
from chat_app.errors import InputRejected
from chat_app.events import AgentEvent, Notice
from chat_app.generation.prompt import Prompt
from chat_app.safety.emergency_classifier import (
    LEAST_WITH_EXCESS,
    EmergencyKind,
    emergency_kind,
    emergency_model,
    is_sure_exposure,
)
from chat_app.safety.emergency_notice import emergency_notice
from chat_app.turn_facts import TurnFacts
from tools.drug_database.drug_tools import BEFORE, REACTION, SELF_HARM
from tools.drug_database.labels.dose_limits import clauses_with_amounts
from tools.drug_database.labels.overdosage_output import ABOVE
from tools.drug_database.names.overdosage_wording import (
    asked_of_overdose,
    asks_antidote,
    states_od,
    tells_of_allergy,
    tells_of_taking,
)
from tools.guidelines.guideline_tool import DOCUMENTS, SCOPE
from tools.tool_manager import ToolManager

INSTRUCTIONS = Prompt.from_file(
    Path(__file__).with_name("instructions.jinja"),
    preset={"length": "standard", "language": "", "some": False, "own": False, "emergency": "", "sure": False},
)
_GRAVEST: Final[frozenset[EmergencyKind]] = frozenset({"exposure", "self_harm"})
"""Kinds that neither an amount nor a question before changes."""
NO_NOTICE = "off"
"""Emergency text with which no question is treated as an emergency."""
ONLY_EXTRACTS = Notice(
    code="language_of_sources",
    message="Answers are extracts in the language of their sources; nothing is translated.",
)
STILL_LOADING = Notice(
    code="sources_loading",
    message="The guidelines or the drug data are still being loaded: this answer may lack sources. "
    "Ask again in a minute.",
)


@dataclass(kw_only=True, slots=True)
class AsclepiusHealthcareAgent:
    """Answers clinicians' questions."""

    responses: OpenAIResponseManager
    chats: ChatManager
    tool_manager: ToolManager
    """The tools; a question leaves out those of a source that is switched off."""
    default_model: str
    max_message_length: int = 20_000
    """Limit of a question in characters."""
    only_extracts: bool = False
    """Whether the model answers in extracts of its sources, in their language."""
    emergency_text: str | None = None
    """Text of the notice before the answer to an emergency; None for the built-in ones."""
    loading: set[str] = field(default_factory=set[str])
    """The sources of which parts are still being loaded; a question is told so."""

    @property
    def queue(self) -> TurnQueue:
        """The queue of questions that wait until others have been answered."""
        return self.responses.queue

    def consult(self, message: str, options: ConsultOptions | None = None) -> AsyncGenerator[AgentEvent, None]:
        """Answer ``message`` as a stream of events; closing the stream stops the turn.

        Raises ``InputRejected`` at once for a message that is empty or too long. Later failures are the turn's outcome.
        """
        return self.responses.process_streaming_query(self._request(message, options or ConsultOptions()))

    async def answer(self, message: str, options: ConsultOptions | None = None) -> TurnFacts:
        """Return the whole answer at once, for callers that do not stream; raises like ``consult``."""
        return await self.responses.handle_standard_query(self._request(message, options or ConsultOptions()))

    async def resumed(self, conversation_id: str, turn_id: str) -> AsyncGenerator[AgentEvent, None] | None:
        """Return the events of a turn whose process died, from its beginning.

        Its background responses are read again from the model server, and its tools run again. None when the turn has
        no such response, has ended, or the model server no longer has its last response.
        """
        turn = await self.chats.resumable(conversation_id, turn_id)
        if turn is None or not await self.responses.generator.model_client.keeps(turn.response_ids[-1]):
            return None
        known = {one.name for one in fields(ConsultOptions)}
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in turn.options.items()
            if name in known
        }
        options["resumed"] = turn.response_ids
        return self.consult(turn.question, ConsultOptions(**options))

    def check_message(self, message: str) -> None:
        """Raise ``InputRejected`` where ``consult`` would."""
        if not message.strip():
            raise InputRejected("The message is empty. Type a question.", code="message_empty")
        if not message.isprintable() and any("\ud800" <= character <= "\udfff" for character in message):
            raise InputRejected(
                "The message contains an incomplete character (a lone surrogate). Type that character again.",
                code="message_malformed",
            )
        if len(message) > self.max_message_length:
            raise InputRejected(
                f"The message has {len(message):,} characters; the limit is {self.max_message_length:,}. Shorten it.",
                code="message_too_long",
                params={"limit": self.max_message_length},
            )

    def _request(self, message: str, options: ConsultOptions) -> TurnRequest:
        self.check_message(message)
        request = self._ordinary(message, options)
        return request if self.emergency_text == NO_NOTICE else replace(request, prepare=self._prepared)

    async def _prepared(self, request: TurnRequest, recent: Sequence[str]) -> TurnRequest:
        """Put the notice before the answer to an emergency, and choose what is searched for it."""
        kind = await self._kind(request, recent)
        if kind is None:
            return await self._for_overdose(request, recent)
        request = replace(
            request, notices=(emergency_notice(request.message, kind, self.emergency_text), *request.notices)
        )
        if kind == "self_harm":
            return self._for_self_harm(request)
        course = self._course(request)
        told = "\n".join((*await course.before(recent), request.message))
        found = await course.overdosage(told)
        if kind == "illness" or not (found.subject or found.error or tells_of_taking(told)):
            return request
        if kind == "reaction":
            sure = tells_of_allergy(told)
        else:
            sure = any(map(is_sure_exposure, recent)) or await self._is_excess(request)
        return await self._for_exposure(request, recent, kind, sure=sure)

    async def _kind(self, request: TurnRequest, recent: Sequence[str]) -> EmergencyKind | None:
        """Return the kind of emergency in the question, or in the ones before that it continues."""
        kind = emergency_kind(request.message)
        if kind in _GRAVEST:
            return kind
        if await self._is_excess(request):
            return "exposure"
        if kind == "reaction" and not await self._course(request).named("\n".join(recent)):
            return "illness"
        return await self._course(request).gone_on_with(recent) or kind

    async def _is_excess(self, request: TurnRequest) -> bool:
        """Return whether the question states far more of a medicine than its labels allow."""
        message = request.message
        # "amlodipine 300 mg od" may be once daily or an overdose: only the labels tell.
        ordinary = emergency_model().probability(message) < LEAST_WITH_EXCESS and not states_od(message)
        if ordinary or not any(clauses_with_amounts(message)):
            return False
        found = await self._course(request).overdosage(message)
        return isinstance(found.output, dict) and bool(found.output.get(ABOVE))

    def _course(self, request: TurnRequest) -> ExposureCourse:
        names = self.tool_manager.names("overdosage") if request.options.enable_tool_execution else ()
        return ExposureCourse(self.tool_manager, next(iter(names), ""))

    async def _for_exposure(
        self,
        request: TurnRequest,
        recent: Sequence[str],
        kind: Literal["exposure", "reaction", "overdose"],
        *,
        sure: bool = True,
    ) -> TurnRequest:
        """Withhold doses where a medicine is named; unless the exposure is doubtful, search Overdosage sections first.

        A usual dose is never the answer to an overdose, but the notice may be false: no source is hidden for it, and
        a doubtful exposure is answered from the ordinary sources. For a reaction, what labels say of hypersensitivity
        is searched instead.
        """
        found = await self._course(request).overdosage("\n".join(recent))
        names = self.tool_manager.names("overdosage") if sure and request.options.enable_tool_execution else ()
        given = {BEFORE: "\n".join(await self._course(request).before(recent)), REACTION: kind == "reaction"}
        # Guidelines give the doses of antidotes.
        asks_dose = kind == "overdose" and asks_antidote(request.message)
        kept = self.tool_manager.names("guidelines") if asks_dose else ()
        return replace(
            request,
            tools=(*names, *request.tools),
            guideline_tools=frozenset(),
            given={**request.given, **dict.fromkeys(names, given)},
            prompt_kwargs={**request.prompt_kwargs, "emergency": kind, "sure": sure},
            undosed=frozenset(request.tools if found.subject or found.error else ()).difference(kept),
        )

    async def _for_overdose(self, request: TurnRequest, recent: Sequence[str]) -> TurnRequest:
        """Search as for an exposure where a medicine's overdose, toxic dose or antidote is asked about.

        A question that says nothing else ("is there an antidote?") asks of the medicine in the question before.
        """
        told, course = asked_of_overdose(request.message), self._course(request)
        goes_on = told == request.message.strip(" ?.!")
        if not told or not await course.named("\n".join((*(await course.before(recent) if goes_on else ()), told))):
            return request
        return await self._for_exposure(request, recent, "overdose")

    def _for_self_harm(self, request: TurnRequest) -> TurnRequest:
        """Search nothing: what labels and guidelines say of a lethal amount helps nobody here."""
        names = self.tool_manager.names("overdosage") if request.options.enable_tool_execution else ()
        return replace(
            request,
            tools=names,
            guideline_tools=frozenset(),
            given={name: {SELF_HARM: True} for name in names},
            prompt_kwargs={**request.prompt_kwargs, "emergency": "self_harm"},
        )

    def _ordinary(self, message: str, options: ConsultOptions) -> TurnRequest:
        enabled = options.enable_tool_execution
        guidelines, drugs = enabled and options.use_clinical_guidelines, enabled and options.use_drug_database
        left_out = {
            *(() if guidelines else self.tool_manager.names("guidelines")),
            *(() if drugs else self.tool_manager.names("drugs")),
            *self.tool_manager.names("overdosage"),
        }
        notices = (
            (STILL_LOADING, self.loading and (guidelines or drugs)),
            (ONLY_EXTRACTS, self.only_extracts and options.language != "auto"),
        )
        return TurnRequest(
            message=message,
            options=options,
            model=options.model or self.default_model,
            tools=tuple(name for name in self.tool_manager.names() if name not in left_out) if enabled else (),
            guideline_tools=frozenset(self.tool_manager.names("guidelines") if guidelines else ()),
            given=self._given(options),
            notices=tuple(notice for notice, applies in notices if applies),
            prompt_kwargs={
                "guidelines": guidelines,
                "drugs": drugs,
                "length": options.length,
                "language": "" if options.language == "auto" else str(Locale.parse(options.language).english_name),
                "some": bool(options.documents),
                "own": options.scope is not None,
            },
        )

    def _given(self, options: ConsultOptions) -> dict[str, dict[str, Any]]:
        """Return the hidden parameters of the guideline tools."""
        documents = {DOCUMENTS: options.documents} if options.documents else {}
        values = documents | ({SCOPE: options.scope} if options.scope else {})
        return dict.fromkeys(self.tool_manager.names("guidelines"), values) if values else {}
