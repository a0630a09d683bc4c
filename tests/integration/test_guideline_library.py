"""The guideline library against a real Milvus Lite server: what is added is found, cited, shown, replaced, removed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from chat_app.agent.citation_manager import CitationManager
from tests.support.pdfs import write_pdf
from tests.support.waiting import loop_turns
from tools.errors import SourceRejected, ToolUnavailable
from tools.guidelines import GuidelineLibrary, IngestProgress, guideline_tools
from tools.guidelines.guideline_tool import as_tool_result
from tools.guidelines.library import DEMO_FOLDER
from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.sentences import sentences

pytestmark = pytest.mark.slow

ASPIRIN = "Give aspirin 300 mg at once to adults with a suspected acute coronary syndrome."
HEPARIN = "Heparin must not be given to patients with a history of heparin-induced thrombocytopenia."


@asynccontextmanager
async def library_at(uri: str, folder: Path) -> AsyncIterator[GuidelineLibrary]:
    library = GuidelineLibrary(uri, folder, collection=f"test_{uuid4().hex[:12]}")
    try:
        yield library
    finally:
        await library.aclose()


@pytest.fixture
async def library(milvus_uri: str, tmp_path: Path) -> AsyncIterator[GuidelineLibrary]:
    async with library_at(milvus_uri, tmp_path / "library") as opened:
        yield opened


async def test_a_sentence_of_an_added_guideline_is_found_on_its_page(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN))

    result = await library.search("Who must not be given heparin?")

    assert result.match == "strong"
    best = result.passages[0]
    assert HEPARIN in best.text
    assert best.page == 2
    assert best.title == "A short guideline"


async def test_a_passage_can_be_read_again_by_its_id(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN))
    found = (await library.search("aspirin dose in acute coronary syndrome")).passages[0]

    again = await library.passage(found.id)

    assert again is not None
    assert (again.text, again.page, again.document_id) == (found.text, found.page, found.document_id)
    for unknown in ("guideline:acs@000000000000:0", found.id + "9", "drug:aspirin:1", "guideline:../../etc@0:0", ""):
        assert await library.passage(unknown) is None


async def test_the_same_file_again_changes_nothing(library: GuidelineLibrary, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "acs.pdf", ASPIRIN)
    first = await library.add(path)
    seen: list[IngestProgress] = []

    second = await library.add(path, progress=seen.append)

    assert second == first
    assert [event.stage for event in seen] == ["unchanged"]


async def test_a_changed_file_is_a_new_version_and_old_answers_keep_their_passage(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    """Row 45 of the fault list."""
    path = write_pdf(tmp_path / "acs.pdf", ASPIRIN)
    await library.add(path)
    old = (await library.search("aspirin acute coronary syndrome")).passages[0]
    old_picture = await library.page_image(old.document_id, 1)

    write_pdf(path, ASPIRIN.replace("300 mg", "162 mg"))
    document = await library.add(path)
    new = (await library.search("aspirin acute coronary syndrome")).passages

    assert [passage.id for passage in new if passage.id == old.id] == []
    assert "162 mg" in new[0].text
    kept = await library.passage(old.id)
    assert kept is not None
    assert "300 mg" in kept.text
    assert len(document.superseded) == 1
    assert [listed.id for listed in await library.documents()] == ["acs"]
    assert await library.page_image(old.document_id, 1) == old_picture
    assert await library.page_image(new[0].document_id, 1) != old_picture


async def test_a_removed_guideline_is_no_longer_found_and_its_citations_still_open(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN))
    cited = (await library.search("aspirin")).passages[0]

    assert await library.remove("acs")

    assert (await library.search("aspirin")).passages == ()
    assert await library.documents() == []
    assert await library.passage(cited.id) is not None
    assert not await library.remove("acs")


async def test_progress_comes_page_by_page_and_ends_with_done(library: GuidelineLibrary, tmp_path: Path) -> None:
    seen: list[IngestProgress] = []

    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN), progress=seen.append)

    assert [(event.done, event.total) for event in seen if event.stage == "reading"] == [(1, 2), (2, 2)]
    assert seen[-1].stage == "done"


async def test_a_search_can_be_limited_to_documents(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "first.pdf", ASPIRIN))
    await library.add(write_pdf(tmp_path / "second.pdf", ASPIRIN + " Repeat after 24 hours."))

    found = await library.search("aspirin", documents=["second"])

    assert {passage.document_id.partition("@")[0] for passage in found.passages} == {"second"}
    assert (await library.search("aspirin", documents=[])).passages != ()


async def test_a_second_process_sees_what_the_first_one_added(
    library: GuidelineLibrary, milvus_uri: str, tmp_path: Path
) -> None:
    other = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=library._retriever.terms.name)
    assert (await other.search("aspirin")).passages == ()

    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN))

    assert (await other.search("aspirin")).passages != ()
    await other.aclose()


async def test_the_demonstration_guidelines_are_found_and_say_where(library: GuidelineLibrary) -> None:
    await library.load_demo()

    result = await library.search("What are the contraindications for ACE inhibitors?")

    assert len(await library.documents()) == len(list(DEMO_FOLDER.glob("*.pdf")))
    assert result.match == "strong"
    assert any("contraindicated in patients with a history of angioedema" in found.text for found in result.passages)
    assert result.passages[0].is_demo
    assert await library.check() == []


async def test_a_recommendation_is_referred_to_under_its_own_heading(library: GuidelineLibrary) -> None:
    await library.load_demo()
    words = "In an asthma exacerbation, give prednisolone 1 mg/kg up to 50 mg once daily to adults for 5-7 days"
    found = await library.search("prednisolone in an asthma exacerbation", limit=10)
    held = [passage for passage in found.passages if words in passage.text]

    for passage in held:
        citations = CitationManager(lambda passages: asyncio.sleep(0, tuple(range(len(passages)))), [(1, passage)])
        said = next(sentence for sentence in sentences(passage.text) if words in sentence)
        citations.feed(f"{said} [1]")
        citations.finish()
        (reference,) = citations.references().references
        assert reference.quotes == (said[said.index(words) :],)
        assert reference.section == "Exacerbations › Treatment"
    assert held


async def test_the_page_of_a_citation_is_drawn_with_its_words_marked(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN))
    passage = (await library.search("aspirin")).passages[0]

    plain = await library.page_image(passage.document_id, 1, scale=1.0)
    marked = await library.page_image(passage.document_id, 1, scale=1.0, highlight=["aspirin 300 mg"])
    other = await library.page_image("acs", 1, scale=1.0, highlight=["words that are nowhere on this page at all"])

    assert plain.png.startswith(b"\x89PNG")
    assert await library.page_image(passage.document_id, 1, scale=1.0) is plain, "it is drawn once"
    assert marked.png != plain.png
    assert other == plain
    assert (plain.pages, plain.marked_at) == (1, None)
    assert marked.marked_at is not None
    assert all(0 < place < 0.5 for place in marked.marked_at), "the words are at the top left"


async def test_at_most_two_pages_are_drawn_at_once(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN))
    asked = [asyncio.create_task(library.page_image("acs", 1, highlight=[f"quote {n}"])) for n in range(5)]
    drawn_at_once = set[int]()
    while not all(task.done() for task in asked):
        drawn_at_once.add(len(list((tmp_path / "library").glob("scratch-*"))))
        await asyncio.sleep(0.005)
    await asyncio.gather(*asked)
    assert 0 < max(drawn_at_once) <= 2


async def test_all_quotes_of_a_page_are_marked_at_once_and_what_they_share_no_darker(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", f"{ASPIRIN} {HEPARIN}"))

    async def drawn(*quotes: str) -> bytes:
        return (await library.page_image("acs", 1, scale=1.0, highlight=quotes)).png

    both = await drawn("aspirin 300 mg", "Heparin must not be given")
    assert len({both, await drawn("aspirin 300 mg"), await drawn("Heparin must not be given")}) == 3
    assert await drawn("aspirin 300 mg at once", "300 mg at once to adults") == await drawn(
        "aspirin 300 mg at once to adults"
    )


async def test_a_page_that_is_not_there_is_refused_in_a_sentence(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN))

    with pytest.raises(SourceRejected, match="there is no page 7"):
        await library.page_image("acs", 7)
    with pytest.raises(SourceRejected, match="no such guideline"):
        await library.page_image("../acs", 1)


async def test_the_tool_gives_passages_that_can_be_cited(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN))
    [tool] = guideline_tools(library)

    output = await tool.acall(question="Who must not be given heparin?", limit=1)

    assert output.error is None
    assert output.summary == "1 passage"
    assert isinstance(output.output, dict)
    assert output.output["match"] == "strong"
    assert output.output["passages"] == [
        {
            "cite": output.passages[0].id,
            "document": "A short guideline",
            "section": "",
            "page": "2",
            "place": 1,
            "score": round(output.passages[0].score, 3),
            "text": HEPARIN,
        }
    ]
    assert "heparin" in [term["term"] for term in output.output["terms"]]


async def test_a_question_of_which_passages_share_little_is_a_weak_match_and_keeps_its_passages(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN))
    [tool] = guideline_tools(library)

    output = await tool.acall(question="How long is heparin given for Kawasaki disease with immunoglobulin?")

    assert isinstance(output.output, dict)
    assert output.output["match"] == "weak"
    assert "judge yourself" in str(output.output["note"])
    assert HEPARIN in [passage.text for passage in output.passages]


async def test_no_match_is_said_only_where_no_passage_shares_a_word(library: GuidelineLibrary, tmp_path: Path) -> None:
    await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN))
    [tool] = guideline_tools(library)

    output = await tool.acall(question="Kawasaki immunoglobulin?")

    assert isinstance(output.output, dict)
    assert (output.output["match"], output.output["passages"], output.passages) == ("none", [], ())
    assert "nothing was found" in str(output.output["note"])


async def test_a_refused_index_is_a_tool_error_with_what_to_check(tmp_path: Path) -> None:
    """Row 29 of the fault list: nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{probe.getsockname()[1]}"
    async with library_at(uri, tmp_path / "library") as library:
        with pytest.raises(ToolUnavailable, match="MILVUS_URI"):
            await library.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN))
        assert await library.documents() == []
        assert any("MILVUS_URI" in problem for problem in await library.check())


async def test_a_hanging_index_is_a_tool_error_within_the_deadline(tmp_path: Path) -> None:
    """Row 29 of the fault list: somebody accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with library_at(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path / "library") as library:
            error, turns = await loop_turns(library.load())
            assert isinstance(error, ToolUnavailable)
            assert turns > 10


async def test_many_files_at_once_are_all_taken_in_while_searches_go_on(
    library: GuidelineLibrary, tmp_path: Path
) -> None:
    paths = [write_pdf(tmp_path / f"guideline-{number}.pdf", f"{ASPIRIN} Version {number}.") for number in range(6)]
    adding = asyncio.gather(*(library.add(path) for path in paths))
    answered = 0
    while not adding.done():
        await library.search("aspirin")
        answered += 1

    assert [document.id for document in await adding] == [path.stem for path in paths]
    assert len((await library.search("aspirin", limit=10)).passages) == 6
    assert answered > 1


async def test_a_brand_finds_the_passage_that_names_its_generic(milvus_uri: str, tmp_path: Path) -> None:
    async def expand(question: str) -> QueryExpansion:
        same = ("aspirin",) if "Aspro" in question else ()
        return QueryExpansion(expansions=(Expansion(asked="aspro", same=same),))

    plain = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}")
    collection = plain._retriever.terms.name
    expanding = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=collection, expand=expand)
    await plain.add(write_pdf(tmp_path / "acs.pdf", ASPIRIN, HEPARIN))

    assert not (await plain.search("Aspro?")).passages
    found = await expanding.search("Aspro?")
    output = as_tool_result("Aspro?", found)
    await plain.aclose()
    await expanding.aclose()

    assert ASPIRIN in found.passages[0].text
    assert output.data["expanded"] == {"aspro": ["aspirin"]}


async def test_a_long_form_counts_as_the_one_word_that_was_asked(milvus_uri: str, tmp_path: Path) -> None:
    async def expand(_: str) -> QueryExpansion:
        return QueryExpansion(expansions=(Expansion(asked="egfr", same=("estimated glomerular filtration rate",)),))

    wanted = "Phosphate preparations for the bowel are avoided."
    other = "The estimated glomerular filtration rate follows from creatinine."
    library = GuidelineLibrary(milvus_uri, tmp_path / "library", collection=f"test_{uuid4().hex[:12]}", expand=expand)
    await library.add(write_pdf(tmp_path / "kidney.pdf", other, wanted, ASPIRIN, HEPARIN))
    found = await library.search("phosphate bowel eGFR")
    await library.aclose()

    assert wanted in found.passages[0].text
