"""Content under an answer, shown by one References element: outcome, notes, references and follow-ups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chat_app.events import AgentEvent, Outcome, TurnStarted
from chat_app.interface.conversation.page_options import PageOptions, left_out
from chat_app.interface.conversation.uploads import files_of
from chat_app.interface.i18n.translation import say_notice, say_outcome
from chat_app.interface.rendering.next_steps import abstained, fitting, follow_ups, other_names, suggestions
from chat_app.interface.rendering.reference_cards import card, reference_list
from chat_app.interface.rendering.turn_steps import ElementDict, TurnIds, iso
from chat_app.turn_facts import TurnFacts

REFERENCES_ELEMENT = "References"


@dataclass
class AnswerEnd(TurnFacts):
    """Collects a turn's events and builds the element when the turn has ended."""

    ids: TurnIds
    extracts: bool = False
    options: PageOptions = field(default_factory=PageOptions)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of the selected guidelines by id, as far as they are known."""
    _before: int = 0
    """Characters that were shown before the agent began: about added files."""

    def see(self, event: AgentEvent) -> None:
        """Collect the parts of ``event`` that are shown under the answer."""
        self.collect(event)
        if isinstance(event, TurnStarted):
            self._before = len(self.marked)

    def element(self, outcome: Outcome, *, under: str, first_part: int = 0) -> ElementDict:
        """Return the element of a turn that ended with ``outcome``, to be shown ``under`` that message.

        ``first_part`` is the first of the messages that show the agent's answer.
        """
        references, language = self.references, self.ids.language
        listed = reference_list(references, language)
        message = say_outcome(language, outcome)
        # The count of removed citations says the same.
        said = {"citation_dropped"} if self.dropped else set[str]()
        kept = (n for n in self.notices if not (n.is_transient or n.comes_first or n.code in said))
        notices = (say_notice(language, notice) for notice in kept)
        props: dict[str, Any] = {
            "message": self.ids.message_id,
            "outcome": outcome.model_copy(update={"message": message}).model_dump(),
            "notices": [
                *dict.fromkeys(notices),
                *(left_out(self.options, language, self.titles) if self.ids.question else ()),
            ],
            "references": [card(reference, language) for reference in references],
            "dropped": self.dropped,
            "unsupported": [one.model_dump(exclude={"reasons"}) for one in self.unsupported],
            "plain": self.marked + (f"\n\n{listed}" if listed else ""),
            "answer_at": self._before,
            "first_part": first_part,
            "answered": iso(self.ids.started_at),
            "question": self.ids.question,
            "thread": self.ids.thread_id,
            **self._next_steps(outcome),
            "files": files_of(self.tool_outputs),
            "extracts": self.extracts,
            "model": self.model,
            "compared": bool(self.ids.column),
        }
        return {
            "id": self.ids.part("references"),
            "threadId": self.ids.thread_id,
            "type": "custom",
            "name": REFERENCES_ELEMENT,
            "display": "inline",
            "forId": under,
            "mime": "application/json",
            "props": props,
        }

    def _next_steps(self, outcome: Outcome) -> dict[str, Any]:
        """Return follow-up questions, or suggestions where no source answers the question."""
        if any(notice.comes_first for notice in self.notices):
            return {"tries": [], "abstained": False, "follow_ups": []}
        question, language, outputs = self.ids.question, self.ids.language, self.tool_outputs
        cited = [reference.passage.id for reference in self.references]
        gave_up = bool(question) and abstained(outcome, outputs, self.options, cited=bool(cited))
        if gave_up:
            tries, further = suggestions(question, outputs, self.options, language, extracts=self.extracts), []
        else:
            tries = other_names(question, outputs, language)
            # Extracts are found by the question's words, so it stays in the language of the sources.
            further = follow_ups(fitting(outputs), cited, "en" if self.extracts else language)
        shown = [{"label": each.label, "question": each.question} for each in further]
        return {"tries": [each._asdict() for each in tries], "abstained": gave_up, "follow_ups": shown}
