"""Agent events become messages, steps and one References element; the same turn gives the same page every time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chat_app.events import (
    AgentEvent,
    CitationAdded,
    Notice,
    Outcome,
    ReasoningRunItem,
    Reference,
    ReferencesReady,
    RunItemStreamEvent,
    TextDelta,
    TextReplaced,
    ToolCallRunItem,
    ToolOutputRunItem,
    ToolProgressRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.interface.api.thread_routes import conversation_markdown
from chat_app.interface.rendering.chainlit_renderer import Emission, TurnRenderer
from chat_app.interface.rendering.turn_steps import TurnIds
from tools.drug_database.drug_tools import SEARCH
from tools.types import Function, FunctionOutput, Passage, ToolProgress

PASSAGE = Passage(
    id="p1",
    kind="guideline",
    document_id="d",
    title="Asthma",
    text="Step up after 3 months. Not before.",
    section="Asthma › Treatment",
    page=2,
)
OTHER = PASSAGE.model_copy(update={"id": "p2", "section": "Asthma › Inhalers"})
CALL = Function(call_id="c1", name="search_drug_database", arguments='{"drug_name": "metformin"}')
STARTED = TurnStarted(conversation_id="session_x", turn_id="t", model="m")
ENDED = TurnEnded(outcome=Outcome(), answer="x")


def renderer_for() -> TurnRenderer:
    ids = TurnIds("turn", "thread", "run", datetime(2026, 1, 1, tzinfo=UTC), question="Why?")
    return TurnRenderer(ids)


def called() -> AgentEvent:
    return RunItemStreamEvent(name="agent.tool_call_start", item=ToolCallRunItem(function=CALL, presentation=SEARCH))


def returned(**more: Any) -> AgentEvent:
    output = FunctionOutput(name=CALL.name, input=CALL, duration_ms=40, **more)
    return RunItemStreamEvent(name="agent.tool_call_complete", item=ToolOutputRunItem(function_output=output))


def kinds(emissions: list[Emission]) -> list[str]:
    return [emission.event for emission in emissions]


def test_text_streams_as_one_start_and_then_tokens() -> None:
    painting = renderer_for()
    first = painting.render([STARTED, TextDelta(text="Give "), TextDelta(text="5 mg.")])
    assert kinds(first) == ["new_message", "delete_message", "stream_start"]
    assert first[-1].payload["output"] == "Give 5 mg."
    assert kinds(painting.render([TextDelta(text=" Daily.")])) == ["stream_token"]
    assert painting.steps[painting.ids.message_id]["output"] == "Give 5 mg. Daily."


def test_the_words_of_a_window_are_one_message_to_the_browser() -> None:
    shown = renderer_for()
    shown.render([STARTED, TextDelta(text="Take ")])
    words = [TextDelta(text=f"word {place} ") for place in range(40)]
    assert [kind for kind, _ in shown.render(words)] == ["stream_token"]


def test_the_same_events_in_other_batches_give_the_same_page() -> None:
    events = [
        STARTED,
        called(),
        returned(output={"results": []}),
        TextDelta(text="HER2:"),
        TextDelta(text="neg"),
        CitationAdded(number=1, passage=PASSAGE),
        ReferencesReady(references=(Reference(number=1, passage=PASSAGE),)),
        ENDED,
    ]
    together, apart = renderer_for(), renderer_for()
    together.render(events)
    for event in events:
        apart.render([event])
    assert apart.steps.keys() == together.steps.keys()
    for name in ("name", "type", "parentId", "output", "isError"):
        assert [s[name] for s in apart.steps.values()] == [s[name] for s in together.steps.values()]
    assert apart.elements.keys() == together.elements.keys()


def test_a_citation_links_to_its_reference_of_this_answer() -> None:
    painting = renderer_for()
    painting.render([TextDelta(text="Step up."), CitationAdded(number=1, passage=PASSAGE), ENDED])
    message = painting.ids.message_id
    assert painting.steps[message]["output"] == f"Step up.[\\[1\\]](#cite-{message}-1)"


def test_a_step_is_named_by_subject_result_and_time() -> None:
    painting = renderer_for()
    running = painting.render([called()])[-1].payload
    assert running["name"] == "Drug database: metformin"
    assert running["end"] is None
    assert running["defaultOpen"] is False
    done = painting.render([returned(output={"results": []}, summary="5 products")])[0].payload
    assert done["name"] == "Drug database: metformin · 5 products · 40\u00a0ms"
    assert done["end"] is not None


def test_progress_shows_in_the_title_until_the_result_is_there() -> None:
    painting = renderer_for()
    painting.render([called()])
    progress = ToolProgressRunItem(progress=ToolProgress(call_id="c1", name=CALL.name, item="page 3 of 9"))
    shown = painting.render([RunItemStreamEvent(name="agent.tool_call_progress", item=progress)])
    assert shown[0].payload["name"] == "Drug database: metformin · page 3 of 9"


def test_a_failure_shows_in_the_step() -> None:
    painting = renderer_for()
    painting.render([called(), returned(error="The drug database cannot be reached.")])
    step = painting.steps[painting.ids.part("c1")]
    assert step["isError"] is True
    assert step["name"].startswith("Drug database: metformin · failed")
    assert "The drug database cannot be reached" in step["output"]


def test_a_failure_is_told_in_the_readers_language_without_what_only_operators_need() -> None:
    painting = TurnRenderer(replace(renderer_for().ids, language="de"))
    unreachable = returned(error="Milvus cannot be reached: check MILVUS_URI.", error_code="unavailable")
    painting.render([called(), unreachable])
    step = painting.steps[painting.ids.part("c1")]
    assert "Diese Quelle ist nicht erreichbar" in step["output"]
    assert "MILVUS_URI" not in step["output"]


def test_reasoning_is_a_closed_step_that_is_kept_and_says_that_it_is_not_checked() -> None:
    reasoned = RunItemStreamEvent(name="agent.reasoning", item=ReasoningRunItem(text="**HER2:neg** first."))
    painting = renderer_for()
    (shown,) = painting.render([reasoned])
    step = painting.steps[shown.payload["id"]]
    assert (step["type"], step["defaultOpen"], step["parentId"]) == ("tool", False, "run")
    assert "not checked" in step["name"]
    assert step["output"] == "**HER2\\:neg** first."
    extracts = TurnRenderer(painting.ids, extracts=True)
    assert extracts.render([reasoned]) == [], "the offline model's reasoning only names its tool calls"


def test_a_step_shows_each_argument_of_its_call() -> None:
    painting = renderer_for()
    painting.render([called(), returned(output={"results": []})])
    shown = painting.steps[painting.ids.part("c1")]["output"]
    assert shown.startswith("**Arguments**")
    assert "| drug name | metformin |" in shown


def test_a_step_leaves_out_an_argument_that_repeats_the_question() -> None:
    painting = TurnRenderer(replace(renderer_for().ids, question=" metformin\n"))
    painting.render([called(), returned(output={"results": []})])
    shown = painting.steps[painting.ids.part("c1")]["output"]
    assert "Arguments" not in shown
    assert shown.startswith("**Result**")


def test_a_product_without_a_brand_is_not_given_those_of_another() -> None:
    products = [{"dosage_form": "tablet", "brand_names": []}, {"dosage_form": "solution", "brand_names": ["Riomet"]}]
    record = {"generic_name": "metformin", "brand_names": ["Riomet", "Glucophage"], "products": products}
    painting = renderer_for()
    painting.render([called(), returned(output={"results": [record]})])
    shown = painting.steps[painting.ids.part("c1")]["output"]
    assert "| metformin | tablet |  |" in shown
    assert "Glucophage" not in shown


def step_of(**output: Any) -> str:
    painting = renderer_for()
    painting.render([called(), returned(output=output)])
    return str(painting.steps[painting.ids.part("c1")]["output"])


def test_what_labels_say_is_a_table_of_sentences() -> None:
    label = {"interactions": ["NSAIDs may impair renal function.", "Monitor lithium."]}
    row = {"label_of": "lisinopril", "about": "ibuprofen", "section": "Interactions", "label": label}
    shown = step_of(pairs=[{"medicines": ["ibuprofen", "lisinopril"], "note": ""}], results=[row])
    assert r"| lisinopril | Interactions | NSAIDs may impair renal function\. Monitor lithium\. |" in shown
    assert "No match" not in shown


def test_results_of_another_tool_are_shown_as_they_are() -> None:
    assert r"| https\:\/\/x\.org |" in step_of(results=[{"url": "https://x.org"}])


def test_a_pair_without_a_statement_is_shown_with_its_note() -> None:
    shown = step_of(pairs=[{"medicines": ["a", "b"], "note": "No statement was found."}], results=[])
    assert r"Note: No statement was found\." in shown
    assert "No match" not in shown


def test_a_call_that_never_returned_is_marked() -> None:
    painting = renderer_for()
    painting.render([called(), ENDED])
    assert painting.steps[painting.ids.part("c1")]["name"].endswith("not finished")


def test_references_carry_quotes_marks_outcome_and_what_to_copy() -> None:
    painting = renderer_for()
    painting.render(
        [
            STARTED,
            called(),
            returned(output={"passages": []}, passages=(PASSAGE, OTHER)),
            TextDelta(text="Wait 3 months."),
            CitationAdded(number=1, passage=PASSAGE),
            Notice(code="transcript_replayed", message="Replayed."),
            ReferencesReady(references=(Reference(number=1, passage=PASSAGE, quotes=("after 3 months.",)),), dropped=2),
            TurnEnded(
                outcome=Outcome(kind="incomplete", reason="stopped", message="Stopped."), answer="Wait 3 months."
            ),
        ]
    )
    props = next(iter(painting.elements.values()))["props"]
    assert props["references"][0]["segments"] == [
        ("Step up ", False),
        ("after 3 months.", True),
        (" Not before.", False),
    ]
    assert props["references"][0]["where"] == "Treatment · page 2"
    assert props["outcome"]["reason"] == "stopped"
    assert props["notices"] == ["The model server had lost the earlier part of this conversation; it was sent again."]
    assert props["dropped"] == 2
    assert props["plain"].startswith("Wait 3 months.[1]\n\nReferences\n1. Asthma. Treatment; p. 2.")
    assert props["follow_ups"] == [
        {"label": "Inhalers (Asthma)", "question": "What does “Asthma” say about “Inhalers”?"}
    ]


@pytest.mark.parametrize(("match", "proposed"), [("strong", 1), ("weak", 0), ("none", 0)])
def test_further_questions_come_from_searches_that_fit(match: str, proposed: int) -> None:
    painting = renderer_for()
    searched = returned(output={"match": match, "passages": []}, passages=(PASSAGE, OTHER))
    cited = ReferencesReady(references=(Reference(number=1, passage=PASSAGE),))
    painting.render([STARTED, called(), searched, CitationAdded(number=1, passage=PASSAGE), cited, ENDED])
    assert len(next(iter(painting.elements.values()))["props"]["follow_ups"]) == proposed


def test_waiting_is_said_while_nothing_has_come_and_is_no_lasting_note() -> None:
    painting = renderer_for()
    waiting = Notice(code="waiting_for_provider", params={"seconds": 3, "attempt": 1, "most": 4}, message="Waiting…")
    shown = painting.render([STARTED, waiting])
    assert [emission.payload["name"] for emission in shown] == [
        "Reading the question…",
        "The model server isn't answering. Trying again in 3 seconds (1 of 4)…",
    ]
    painting.render([TextDelta(text="x"), ENDED])
    assert next(iter(painting.elements.values()))["props"]["notices"] == []
    assert painting.ids.part("phase") not in painting.steps


def long_answer() -> list[AgentEvent]:
    paragraph = "Give the drug with food. " * 80
    words = [f"{paragraph}{n}.\n\n" for n in range(3)]
    return [STARTED, *(TextDelta(text=text) for text in words), ENDED]


def test_a_long_answer_goes_on_in_a_message_of_its_own_and_what_is_complete_is_left_alone() -> None:
    shown = renderer_for().render(long_answer())
    started = [emission.payload["id"] for emission in shown if emission.event == "stream_start"]
    assert len(started) == 3
    assert all(f"-part-{n}" in started[n] for n in (1, 2))
    sealed = [emission.payload for emission in shown if emission.event == "update_message"]
    assert [(step["id"], step["streaming"]) for step in sealed if "output" not in step] == [
        (started[0], False),
        (started[1], False),
    ]
    [element] = [emission.payload for emission in shown if emission.event == "element"]
    assert element["forId"] == started[2]


def test_a_long_answer_has_the_same_parts_however_it_came() -> None:
    at_once, one_by_one = renderer_for(), renderer_for()
    at_once.render(long_answer())
    for event in long_answer():
        one_by_one.render([event])
    assert [(step["id"], step["output"]) for step in at_once.steps.values()] == [
        (step["id"], step["output"]) for step in one_by_one.steps.values()
    ]
    times = [step["createdAt"] for step in at_once.steps.values()]
    assert times == sorted(set(times)), "the history sorts by time"


def test_a_long_answer_is_exported_once() -> None:
    folded = renderer_for()
    folded.render(long_answer())
    exported = conversation_markdown({"steps": [*folded.steps.values()], "elements": [*folded.elements.values()]})
    assert exported.count("## Answer") == 1
    assert exported.count("Give the drug with food.") == 240


def test_an_interrupted_long_answer_is_marked_where_it_ends() -> None:
    folded = renderer_for()
    ended_early = Outcome(kind="incomplete", reason="truncated", message="Ended early.")
    folded.render([*long_answer()[:-1], TurnEnded(outcome=ended_early, answer="")])
    kept = list(folded.steps.values())
    assert ["outcome" in step["metadata"] for step in kept] == [False, False, True]
    assert conversation_markdown({"steps": kept}).count("Ended early.") == 1


def test_a_replaced_text_is_taken_back_below_a_notice_that_comes_first() -> None:
    """Row 8."""
    page = renderer_for()
    emergency = Notice(code="emergency", message="Call for help.")
    long = "\n\n".join(["Paragraph of text. " * 40] * 6)
    page.render([STARTED, emergency, TextDelta(text=long)])
    shown = page.render([TextReplaced(), TextDelta(text="Right."), ENDED])
    assert "delete_message" in kinds(shown)
    written = [step["output"] for step in page.steps.values() if step["type"] == "assistant_message"]
    assert written[0].startswith("> **")
    assert written[1:] == ["Right."]
    assert page.elements[page.ids.part("references")]["props"]["plain"] == "Right."


def test_what_is_said_of_an_added_file_stays_above_the_calls_and_out_of_what_is_copied() -> None:
    page = renderer_for()
    said = TextDelta(text="“Letter” can now be searched.\n\n")
    page.render([said, STARTED, called(), returned(output={"results": []}), TextDelta(text="12 mg."), ENDED])
    assert [step["type"] for step in page.steps.values()] == [
        "assistant_message",
        "tool",
        "undefined",
        "assistant_message",
    ]
    props = page.elements[page.ids.part("references")]["props"]
    assert props["plain"].startswith(said.text)
    assert props["plain"][props["answer_at"] :] == "12 mg."
    assert props["first_part"] == 1


def test_a_replaced_text_comes_once_below_the_notice_after_an_added_file() -> None:
    page = renderer_for()
    said, emergency = TextDelta(text="Added.\n\n"), Notice(code="emergency", message="Call for help.")
    page.render([said, STARTED, emergency, TextDelta(text="Wrong.")])
    page.render([TextReplaced(), said, TextDelta(text="Right."), ENDED])
    written = [step["output"] for step in page.steps.values() if step["type"] == "assistant_message"]
    assert written[0].startswith("> **")
    assert written[1:] == ["Added.\n\nRight."]
