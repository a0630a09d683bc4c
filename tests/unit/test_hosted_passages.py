"""Search results of a model server joined with stored passages, and the choice of what a statement was taken from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chat_app.agent.citations.hosted_passages import HostedPassages, Version
from chat_app.agent.citations.passage_choice import best_source
from tools.errors import ToolUnavailable
from tools.types import Function, FunctionOutput, Passage

KEY = "0123456789ab"
DOSE = "Start lisinopril at 10 mg once daily and raise it to 40 mg after four weeks."
RENAL = "When eGFR is below 30 mL/min/1.73 m2, start lisinopril at 2.5 mg once daily."
PREGNANCY = "ACE inhibitors must be stopped as soon as pregnancy is detected."


def stored(number: int, text: str, page: int) -> Passage:
    return Passage(
        id=f"guideline:htn@{KEY}:{number}",
        kind="guideline",
        document_id=f"htn@{KEY}",
        title="Hypertension",
        text=text,
        page=page,
    )


LIBRARY = (
    stored(0, f"Dosing\n{DOSE}", 3),
    stored(1, f"Kidney disease\n{RENAL}", 4),
    stored(2, f"Pregnancy\n{PREGNANCY}", 5),
    stored(3, "Table 1. Usual daily doses of ACE inhibitors\nMedicine\tDose\nEnalapril\t5-40 mg", 3),
)


def retrieved(text: str, *, file_id: str = "file-1", score: float = 0.9) -> Passage:
    return Passage(id=f"{file_id}:1", kind="guideline", document_id=file_id, title="htn.pdf", text=text, score=score)


def search_output(*passages: Passage, attributes: dict[str, Any] | None = None) -> FunctionOutput:
    told = {"guideline_id": "htn", "guideline_version": KEY} if attributes is None else attributes
    results = [{"file_id": p.document_id, "filename": "htn.pdf", "attributes": told or None} for p in passages]
    call = Function(call_id="fs_1", name="file_search")
    return FunctionOutput(name="file_search", input=call, output={"results": results}, passages=passages)


def joiner(uploaded: dict[str, Version] | None = None) -> HostedPassages:
    async def passages_of(document_id: str, sha256: str) -> Sequence[Passage]:
        return LIBRARY if (document_id, sha256) == ("htn", KEY) else ()

    return HostedPassages(passages_of, (uploaded or {}).get)


def ids(output: FunctionOutput) -> list[str]:
    return [passage.id.removeprefix(f"guideline:htn@{KEY}:") for passage in output.passages]


async def test_the_stored_passages_come_first_with_their_page_and_the_servers_score() -> None:
    output = await joiner().join(search_output(retrieved(f"... {RENAL} {PREGNANCY} ...", score=0.7)))
    assert ids(output)[:2] == ["1", "2"]
    assert [(p.page, p.score) for p in output.passages[:2]] == [(4, 0.7), (5, 0.7)]
    assert output.summary == "2 passages"


async def test_line_breaks_hyphens_and_running_heads_of_the_servers_own_reading_do_not_matter() -> None:
    words = RENAL.replace("lisinopril", "lisino-\npril").replace(" ", "\n", 3)
    output = await joiner().join(search_output(retrieved(f"Page 4 of 7\n{words}\nHypertension 2026")))
    assert ids(output)[0] == "1"


async def test_what_is_known_of_each_result_stays_beside_its_passages() -> None:
    output = await joiner().join(search_output(retrieved(DOSE), retrieved(RENAL, file_id="file-2")))
    assert isinstance(output.output, dict)
    results = output.output["results"]
    assert isinstance(results, list)
    assert len(results) == len(output.passages) == 4
    assert [result["file_id"] for result in results if isinstance(result, dict)] == ["file-1", "file-2"] * 2


async def test_a_table_row_of_which_only_the_caption_was_found_is_left_out() -> None:
    found = f"{DOSE}\nTable 1. Usual daily doses of ACE inhibitors"
    whole_page = (stored(0, f"{DOSE}\nTable 1. Usual daily doses of ACE inhibitors", 3), *LIBRARY[1:])

    async def passages_of(document_id: str, sha256: str) -> Sequence[Passage]:
        return whole_page

    output = await HostedPassages(passages_of, lambda _: None).join(search_output(retrieved(found)))
    assert ids(output) == ["0", "file-1:1"]


async def test_text_that_no_stored_passage_holds_stays_as_it_was_retrieved_without_a_page() -> None:
    unknown = retrieved("Something that only the server could read, such as a scanned page.")
    output = await joiner().join(search_output(unknown))
    assert output.passages == (unknown,)
    assert output.passages[0].page is None
    assert output.summary == "1 passage"


async def test_a_server_that_gives_no_attributes_back_is_known_by_the_file_that_was_uploaded() -> None:
    output = await joiner({"file-1": ("htn", KEY)}).join(search_output(retrieved(DOSE), attributes={}))
    assert ids(output)[0] == "0"


@pytest.mark.parametrize(
    "attributes", [{}, {"guideline_id": "htn"}, {"guideline_id": "htn", "guideline_version": "ffffffffffff"}]
)
async def test_a_file_that_is_not_known_here_is_not_joined(attributes: dict[str, Any]) -> None:
    output = await joiner().join(search_output(retrieved(DOSE), attributes=attributes))
    assert ids(output) == ["file-1:1"]


async def test_a_library_that_cannot_be_read_costs_the_pages_and_not_the_answer() -> None:
    async def broken(document_id: str, sha256: str) -> Sequence[Passage]:
        raise ToolUnavailable("The folder is gone.")

    output = await HostedPassages(broken, lambda _: None).join(search_output(retrieved(DOSE)))
    assert ids(output) == ["file-1:1"]


async def test_a_sentence_that_only_begins_like_a_stored_one_is_not_joined() -> None:
    other = RENAL.replace("2.5 mg once daily", "5 mg every other day")
    output = await joiner().join(search_output(retrieved(f"{other} {PREGNANCY}")))
    assert ids(output) == ["2", "file-1:1"]


async def test_the_versions_used_last_are_kept_at_hand_and_only_those() -> None:
    read: list[str] = []

    async def passages_of(document_id: str, sha256: str) -> Sequence[Passage]:
        read.append(sha256)
        return LIBRARY

    passages = HostedPassages(passages_of, lambda _: None)

    async def search(version: int) -> None:
        told = {"guideline_id": "htn", "guideline_version": f"{version:012}"}
        await passages.join(search_output(retrieved(DOSE), attributes=told))

    for version in range(33):
        await search(0)
        await search(version)
    assert len(read) == 33, "each version is read once"
    await search(0)
    assert len(read) == 33, "what is used stays"
    await search(1)
    assert len(read) == 34, "what was not used for longest has gone"


async def test_an_output_without_results_passes_untouched() -> None:
    assert (await joiner().join(search_output())).passages == ()
    failed = FunctionOutput(name="file_search", input=Function(call_id="fs", name="file_search"), error="broken")
    assert await joiner().join(failed) is failed


# -- which passage


RAW = retrieved(f"Page 3 {DOSE} Page 4 {RENAL} 2026 {PREGNANCY}", score=1.0)


def test_a_sentence_belongs_to_the_stored_passage_that_holds_it_word_for_word() -> None:
    assert best_source(f"- {RENAL}", (RAW, *LIBRARY)) == LIBRARY[1]


def test_a_paraphrase_belongs_to_the_stored_passage_with_its_figures_and_nearly_all_its_words() -> None:
    paraphrase = "Lisinopril is started at 2.5 mg once daily when eGFR is below 30."
    assert best_source(paraphrase, (RAW, *LIBRARY)) == LIBRARY[1]


def test_a_dose_that_no_stored_passage_holds_is_cited_to_the_text_that_was_retrieved() -> None:
    scanned = retrieved("Captopril 6.25 mg three times daily in heart failure.")
    assert best_source("Captopril is given as 6.25 mg three times daily.", (*LIBRARY, scanned)) == scanned


def test_with_nothing_better_the_most_telling_words_decide() -> None:
    assert best_source("Pregnancy matters.", LIBRARY) == LIBRARY[2]


def test_of_two_passages_with_the_same_words_the_better_found_is_cited() -> None:
    twice = (LIBRARY[0].model_copy(update={"id": f"guideline:htn@{KEY}:9", "score": 0.9}), LIBRARY[0])
    assert best_source(DOSE, twice[::-1]).score == 0.9
