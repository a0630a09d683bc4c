"""A turn's text with its citations, and the facts beside it, collected from its events."""

from dataclasses import dataclass, field

from chat_app.events import (
    AgentEvent,
    CitationAdded,
    Notice,
    Outcome,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    StatementsChecked,
    TextDelta,
    TextReplaced,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
    UnsupportedStatement,
)
from chat_app.response_objects import Usage
from tools.types import FunctionOutput


@dataclass(kw_only=True)
class TurnFacts:
    """Feed it the events of one turn, in order."""

    conversation_id: str = ""
    model: str = ""
    said: list[str | CitationAdded] = field(default_factory=list[str | CitationAdded])
    """The pieces of the text and the citations between them, since the last ``TextReplaced``."""
    notices: list[Notice] = field(default_factory=list[Notice])
    tool_outputs: list[FunctionOutput] = field(default_factory=list[FunctionOutput])
    unsupported: tuple[UnsupportedStatement, ...] = ()
    references: tuple[Reference, ...] = ()
    dropped: int = 0
    """Citations that the model made to something that was never retrieved."""
    outcome: Outcome = field(default_factory=Outcome)
    """How the turn ended, once it has."""
    answer: str = ""
    """The whole text, once the turn has ended."""
    usage: Usage | None = None

    def collect(self, event: AgentEvent) -> None:
        """Collect what ``event`` says."""
        match event:
            case TextDelta():
                self.said.append(event.text)
            case CitationAdded():
                self.said.append(event)
            case TextReplaced():
                self.said.clear()
            case TurnStarted():
                self.conversation_id, self.model = event.conversation_id, event.model
            case Notice():
                self.notices.append(event)
            case RunItemStreamEvent(item=ToolOutputRunItem(function_output=output)):
                self.tool_outputs.append(output)
            case StatementsChecked():
                self.unsupported = event.unsupported
            case ReferencesReady():
                self.references, self.dropped = event.references, event.dropped
            case TurnEnded():
                self.outcome, self.answer, self.usage = event.outcome, event.answer, event.usage
            case _:
                return

    @property
    def marked(self) -> str:
        """Return the text so far, with ``[1]`` at each citation."""
        return "".join(one if isinstance(one, str) else f"[{one.number}]" for one in self.said)
