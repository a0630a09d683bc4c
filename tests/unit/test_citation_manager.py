"""Citations of one turn: numbered by first use, joined with what was retrieved, quotes checked word for word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from chat_app.agent.citation_manager import DROPPED, CitationManager
from chat_app.agent.citations.citation_markers import Marker, MarkerParser
from chat_app.events import CitationAdded, TextDelta
from chat_app.generation.updates import CitationUpdate
from chat_app.offline.wire.event_encoding import words
from chat_app.response_objects import FileCitation
from tests.support.engine import passage
from tools.types import Function, FunctionOutput, Passage, SectionStart

START = passage("a:1", "Start metformin at 500 mg once daily with food. Do not use it when the eGFR is below 30.")
RAISE = passage("b:1", "Raise the dose of metformin after one week if it is tolerated well.")
CALL = Function(call_id="c1", name="search", arguments="{}")


async def number(passages: Sequence[Passage]) -> tuple[int, ...]:
    return tuple({"a:1": 3, "b:1": 7}[found.id] for found in passages)


async def manager() -> CitationManager:
    citations = CitationManager(number)
    await citations.render_output(FunctionOutput(name="search", input=CALL, output=None, passages=(START, RAISE)))
    return citations


def run(citations: CitationManager, *pieces: str) -> list[Any]:
    return [event for piece in pieces for event in citations.feed(piece)] + citations.finish()


def quotes(citations: CitationManager) -> list[tuple[int, tuple[str, ...]]]:
    return [(reference.number, reference.quotes) for reference in citations.references().references]


async def test_the_model_is_given_markers_in_place_of_ids() -> None:
    data: Any = {"results": [{"cite": "a:1", "n": 1}, {"cite": "b:1"}, {"cite": 5}, {"cite": "unknown"}], "x": ["y"]}
    output = FunctionOutput(name="search", input=CALL, output=data, passages=(START, RAISE))
    text = await CitationManager(number).render_output(output)
    assert orjson.loads(text) == {
        "results": [{"cite": "[3]", "n": 1}, {"cite": "[7]"}, {"cite": 5}, {"cite": "unknown"}],
        "x": ["y"],
    }
    failed = FunctionOutput(name="search", input=CALL, error="Not there.")
    assert await CitationManager(number).render_output(failed) == '{"error":"Not there."}'


async def test_passages_are_numbered_in_order_of_first_use() -> None:
    citations = await manager()
    events = run(citations, "Later [7], first [3", "] and again [7].")
    assert [e.text if isinstance(e, TextDelta) else e.number for e in events] == [
        "Later ",
        1,
        ", first ",
        2,
        " and again ",
        1,
        ".",
    ]
    assert [(r.number, r.passage.id) for r in citations.references().references] == [(1, "b:1"), (2, "a:1")]


async def test_the_offline_model_sends_the_end_of_a_sentence_with_its_citations() -> None:
    citations, text = await manager(), "Start it daily. [3] [7]\n\nRaise it [1] day later. [7]"
    pieces = words(text)
    assert "".join(pieces) == text
    *_, cited = [citations.feed(piece) for piece in pieces[:3]]
    assert [e.text if isinstance(e, TextDelta) else e.number for e in cited if e is not DROPPED] == [
        " daily. ",
        1,
        " ",
        2,
        "\n\n",
    ]


async def test_a_range_cites_each_of_its_passages_and_one_that_was_not_retrieved_is_an_interval_of_values() -> None:
    citations = CitationManager(number, [(4, RAISE), (5, START)])
    events = run(citations, "Both say so [4-", "5]. It lasts [4-6] days.")
    assert [e.text if isinstance(e, TextDelta) else (e.number, e.passage.id) for e in events] == [
        "Both say so ",
        (1, "b:1"),
        (2, "a:1"),
        ". It lasts ",
        "[4-6]",
        " days.",
    ]
    assert citations.references().dropped == 0


async def test_the_index_of_a_name_is_text_and_a_number_after_a_word_is_a_citation() -> None:
    citations = CitationManager(number, [(1, RAISE)])
    events = run(citations, "Take a[9], then vitamin D[9] and iron[1].")
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == "Take a[9], then vitamin D and iron."
    assert [event.number for event in events if isinstance(event, CitationAdded)] == [1]
    assert citations.references().dropped == 1


async def test_what_earlier_turns_retrieved_can_be_cited() -> None:
    citations = CitationManager(number, [(12, RAISE)])
    assert [event.passage for event in run(citations, "So [12].") if isinstance(event, CitationAdded)] == [RAISE]


async def test_a_sentence_before_its_marker_is_a_quote_only_when_it_stands_in_the_source() -> None:
    citations = await manager()
    run(
        citations,
        "- **Start metformin at 500 mg once daily with food.** [3]\nUse it when the eGFR is below 30. [3]\n"
        "They say “Do not use it when the eGFR is below 30.” [3]",
    )
    assert quotes(citations) == [
        (1, ("Start metformin at 500 mg once daily with food.", "Do not use it when the eGFR is below 30.")),
    ]


DOSES = "Most of the benefit of an inhaled corticosteroid is reached at low dose."
ATTACKS = "In an asthma exacerbation, give prednisolone 1 mg/kg up to 50 mg once daily."
BOTH = passage("c:1", f"Doses\n{DOSES}\nAttacks\n{ATTACKS}").model_copy(
    update={
        "section": "Asthma › Doses",
        "further_sections": (SectionStart(at=len(f"Doses\n{DOSES}\n"), section="Asthma › Attacks"),),
    }
)


@pytest.mark.parametrize(
    ("answer", "sections"),
    [
        (f"- {DOSES} [1]", ["Asthma › Doses"]),
        (f"- {ATTACKS} [1]", ["Asthma › Attacks"]),
        (f"- {ATTACKS} [1]\n- {DOSES} [1]", ["Asthma › Attacks", "Asthma › Doses"]),
        ("Adults with an exacerbation get 1 mg/kg of prednisolone. [1]", ["Asthma › Attacks"]),
        (f"{ATTACKS} [1] [1]", ["Asthma › Attacks"]),
        ("[1]", []),
    ],
)
async def test_a_reference_names_the_sections_that_its_statements_are_taken_from(
    answer: str, sections: list[str]
) -> None:
    citations = CitationManager(number, [(1, BOTH)])
    run(citations, answer)
    (reference,) = citations.references().references
    assert list(reference.sections) == sections
    assert reference.section == ("; ".join(sections) or "Asthma › Doses; Asthma › Attacks")


async def test_a_reference_says_how_strong_the_quoted_recommendation_is() -> None:
    text = "Offer screening every two years from age 40. This is a B grade."
    citations = CitationManager(number, [(7, passage("graded", text))])
    run(citations, "Offer screening every two years from age 40. [7]")
    assert [one.strengths for one in citations.references().references] == [("This is a B grade",)]


async def test_two_markers_in_a_row_belong_to_the_same_sentence() -> None:
    citations = await manager()
    run(citations, "Raise the dose of metformin after one week if it is tolerated well. [3] [7] New words. [7]")
    assert quotes(citations) == [(1, ()), (2, ("Raise the dose of metformin after one week if it is tolerated well.",))]


async def test_a_citation_of_nothing_is_dropped_and_noticed_once() -> None:
    citations = await manager()
    events = run(citations, "So [5]. And [6]. Values [40, 60].")
    assert [event for event in events if not isinstance(event, TextDelta)] == [DROPPED]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "So . And . Values [40, 60]."
    assert citations.references().dropped == 2


def hosted(*results: tuple[str, str, dict[str, Any] | None, str]) -> FunctionOutput:
    found = tuple(passage(f"{file_id}:{n}", text) for n, (file_id, _, _, text) in enumerate(results))
    described = [{"file_id": file_id, "filename": name, "attributes": more} for file_id, name, more, _ in results]
    return FunctionOutput(
        name="file_search",
        input=CALL,
        output={"results": described},
        passages=tuple(p.model_copy(update={"document_id": r[0]}) for p, r in zip(found, results, strict=True)),
    )


@pytest.mark.parametrize(
    "citation",
    [
        FileCitation(file_id="file-1"),
        FileCitation(file_id="doc-9"),
        FileCitation(file_id="elsewhere", filename="gout.pdf"),
    ],
)
async def test_an_annotation_finds_its_passage_by_file_document_or_name(citation: FileCitation) -> None:
    citations = CitationManager(number)
    citations.add_hosted(
        hosted(
            ("file-1", "gout.pdf", {"document_id": "doc-9"}, "Allopurinol is started at 100 mg daily."),
            ("file-1", "gout.pdf", {"document_id": "doc-9"}, "Colchicine is an alternative in acute gout."),
            ("file-2", "other.pdf", None, "Allopurinol is started at 100 mg daily, as is known."),
        )
    )
    citations.feed("Colchicine is an alternative in acute gout.")
    event = citations.annotate(CitationUpdate("m", citation))[-1]
    assert isinstance(event, CitationAdded)
    assert event.passage.text == "Colchicine is an alternative in acute gout."
    assert quotes(citations) == [(1, ("Colchicine is an alternative in acute gout.",))]


async def test_a_late_annotation_belongs_to_the_statement_at_its_place() -> None:
    citations = CitationManager(number)
    citations.add_hosted(
        hosted(
            ("f", "g.pdf", None, "Allopurinol is started at 100 mg daily."),
            ("f", "g.pdf", None, "Colchicine is an alternative in acute gout."),
        )
    )
    citations.feed("Allopurinol is started at 100 mg daily. Colchicine is an alternative in acute gout.")
    late = CitationUpdate("m", FileCitation(file_id="f", index=39), "Allopurinol is started at 100 mg daily.")
    first = citations.annotate(late)[-1]
    second = citations.annotate(CitationUpdate("m", FileCitation(file_id="f")))[-1]
    assert isinstance(first, CitationAdded)
    assert isinstance(second, CitationAdded)
    assert (first.passage.text, second.passage.text) == (
        "Allopurinol is started at 100 mg daily.",
        "Colchicine is an alternative in acute gout.",
    )


async def test_an_annotation_of_a_file_that_was_not_found_is_dropped() -> None:
    citations = CitationManager(number)
    citations.add_hosted(FunctionOutput(name="file_search", input=CALL, output=None, passages=(START,)))
    citations.add_hosted(FunctionOutput(name="file_search", input=CALL, output={"results": ["?"]}, passages=(START,)))
    held = citations.feed("So [")
    assert [event.text for event in held if isinstance(event, TextDelta)] == ["So "]
    events = citations.annotate(CitationUpdate("m", FileCitation(file_id="nothing")))
    assert events == [TextDelta(text="["), DROPPED]


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("a [1] b", ["[1]"]),
        ("[2, 5]", ["[2, 5]"]),
        ("[2;5][3]", ["[2;5]", "[3]"]),
        ("[1](https://x)", []),
        ("`[1]`", []),
        ("```\n[1]\n```\n[2] ", ["[2]"]),
        ("``a ` [1]``[2] ", ["[2]"]),
        ("\\[1]", []),
        ("\\\\[1] ", ["[1]"]),
        ("[12345]", []),
        ("[1, 2", []),
        ("x[", []),
        ("[a]", []),
        ("[1][", ["[1]"]),
        ("an `open span\n\n[1] ", ["[1]"]),
        ("```\nopen block\n\n[1] ", []),
        ("[[1]] ", ["[1]"]),
        ("a [2-4] b", ["[2-4]"]),
        ("[1, 3\u20135]", ["[1, 3\u20135]"]),
        ("[5-2]", []),
        ("[1-999]", []),
        ("[1-", []),
        ("[1-2-3]", []),
        ("[1.5-3]", []),
        ("~~~\n[1]\n~~~\n[2] ", ["[2]"]),
        ("~~~~ md\n[1]\n~~~\n[2]\n~~~~\n[3] ", ["[3]"]),
        ("~~~\n```\n[1]\n~~~\n[2] ", ["[2]"]),
        ("so ~~~ [1] ", ["[1]"]),
        ("~~gone~~ [1] ", ["[1]"]),
        ("> ~~~\n> [1]\n\n[2] ", ["[2]"]),
        ("- ~~~\n  [1]\n  ~~~\n- [2] ", ["[2]"]),
        ("So:\n\n    a[1]\n\n    b[2]\n\n[3] ", ["[3]"]),
        ("So\n    it is [1] ", ["[1]"]),
        ("\t[1]\n[2] ", ["[2]"]),
        ("- So\n\n    it is [1]\n\n      a[2] ", ["[1]"]),
        ("So:\n\n    - it is [1]\n    - and [2] ", ["[1]", "[2]"]),
        ("Aged over\n65. So:\n\n    a[1]\n\n[2] ", ["[2]"]),
        ("65. So:\n\n    it is [1] ", ["[1]"]),
        ("- a ` in it\n- next ` [1] ", []),
        ("- a ` in it\n- next [1] ", ["[1]"]),
        ("\\`[1]\\` ", ["[1]"]),
    ],
)
def test_markers_are_told_from_what_only_looks_like_them(text: str, markers: list[str]) -> None:
    parser = MarkerParser()
    parts = [*parser.feed(text), *parser.flush()]
    assert [part.raw for part in parts if isinstance(part, Marker)] == markers
    assert parser.feed("") == []
