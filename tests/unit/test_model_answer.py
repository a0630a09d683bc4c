"""The text of an answer for clients of ``/v1``, and what of it goes back to the model with the next question."""

from __future__ import annotations

from collections.abc import Iterable

from chat_app.events import (
    AgentEvent,
    CitationAdded,
    Notice,
    Outcome,
    Reference,
    ReferencesReady,
    StatementsChecked,
    TextDelta,
    TextReplaced,
    TurnEnded,
    UnsupportedStatement,
)
from chat_app.interface.api.model_api.model_answer import ModelAnswer, without_references
from chat_app.interface.api.passages.passage_links import LINK_SECONDS, PassageLinks
from tests.support.engine import passage
from tools.guidelines.storage.scopes import Scope, own_id
from tools.types import Passage

ALARM = Notice(code="emergency", params={"text": "Call now."}, message="Call now.")
GUIDE = passage()
CITED = ReferencesReady(references=(Reference(number=1, passage=GUIDE, quotes=(GUIDE.text,)),))


def shown(events: Iterable[AgentEvent], *, streamed: bool = False, language: str = "en") -> tuple[ModelAnswer, str]:
    """The answer, and its pieces joined."""
    answer = ModelAnswer(language, lambda reference: f"https://host/{reference.passage.id}", streamed)
    return answer, "".join([answer.see(event) for event in events])


def test_corrected_text_replaces_the_first_in_a_whole_answer_and_follows_it_in_a_stream() -> None:
    events: list[AgentEvent] = [
        ALARM,
        TextDelta(text="Wrong"),
        CitationAdded(number=1, passage=GUIDE),
        TextReplaced(),
        TextDelta(text="Right "),
        CitationAdded(number=1, passage=GUIDE),
        CITED,
        TurnEnded(outcome=Outcome(), answer="Right "),
    ]
    whole, _ = shown(events)
    first = whole.text.partition("Right")[0]
    assert "Wrong" not in whole.text and first.strip() and "Right [1]\n\n---" in whole.text
    streamed, pieces = shown(events, streamed=True)
    assert streamed.text == pieces
    assert "Wrong[1]\n\n**The model server corrected its text." in pieces
    for answer in (whole, streamed):
        (citation,) = answer.citations
        assert (answer.text[: citation.start_index][-6:], answer.text[citation.start_index : citation.end_index]) == (
            "Right ",
            "[1]",
        )


def test_the_end_says_what_is_not_in_the_sources_and_every_note_once() -> None:
    wrong = UnsupportedStatement(text="Take 5 g.", numbers=(1,), reasons=("number",), details=("5 g",))
    lost = Notice(code="history_not_saved", message="Not saved.")
    events: list[AgentEvent] = [
        TextDelta(text="Take 5 g."),
        lost,
        lost,
        Notice(code="starting", params={"part": "drugs"}, message="Starting"),
        StatementsChecked(checked=1, unsupported=(wrong,)),
        TurnEnded(outcome=Outcome(), answer="Take 5 g."),
    ]
    answer, _ = shown(events)
    assert "\n\n**Not found in its source. Check before you use it:**\n- “Take 5 g.” [1] (5 g)\n\n" in answer.text
    assert answer.text.count("Note: ") == 1
    assert "Starting" not in answer.text


def test_only_the_words_of_an_answer_go_back_to_the_model() -> None:
    events: list[AgentEvent] = [
        TextDelta(text="Start low. "),
        CitationAdded(number=1, passage=GUIDE),
        TextDelta(text=" Go slow."),
        CITED,
        TurnEnded(outcome=Outcome(), answer="Start low.  Go slow."),
    ]
    for language in ("en", "de"):
        answer, _ = shown(events, language=language)
        assert without_references(answer.text) == "Start low. Go slow."
    others = "See [1].\n\n---\n\nTake care."
    assert without_references(others) == others, "another model's text stays as it is"


def test_a_link_opens_its_passage_alone_until_it_expires() -> None:
    now = 1_800_000_000.0
    links = PassageLinks("secret", clock=lambda: now)
    query = dict(part.split("=", 1) for part in (links.of(CITED.references[0], "") or "").partition("?")[2].split("&"))
    until, key = int(query["until"]), query["key"]
    assert until == now + LINK_SECONDS
    assert links.is_valid(GUIDE.id, until, key)
    for wrong in ((f"{GUIDE.id}1", until, key), (GUIDE.id, until + 1, key), (GUIDE.id, until, key[:-1] + "é")):
        assert not links.is_valid(*wrong)
    assert not PassageLinks("other", clock=lambda: now).is_valid(GUIDE.id, until, key)
    assert not PassageLinks("secret", clock=lambda: until + 1).is_valid(GUIDE.id, until, key)


def test_a_conversations_own_file_has_no_signed_link_and_a_calculation_that_of_its_source() -> None:
    own = Reference(number=1, passage=passage(f"guideline:{own_id(Scope('0' * 32), 'x')}@1:3"))
    links = PassageLinks("secret")
    assert "key=" not in (links.of(own, "https://host") or "")
    sum_up = Passage(
        id="calculation:bmi:1", kind="calculation", document_id="bmi", title="BMI", text="x", url="https://s"
    )
    assert links.of(Reference(number=1, passage=sum_up), "https://host") == "https://s"
