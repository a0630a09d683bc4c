"""What the page says of a file that was dropped into the chat, and for whom it is."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chat_app.events import RunItemStreamEvent, TextDelta, ToolOutputRunItem
from chat_app.interface.assets import ROOT_VARIABLE, prepare_page_root
from chat_app.interface.conversation.own_documents import scope_of_thread
from chat_app.interface.conversation.page_options import PageOptions, in_force
from chat_app.interface.conversation.uploads import Upload, files_of, upload_events
from chat_app.interface.i18n.translation import Language
from chat_app.interface.rendering.tool_steps import step_content
from chat_app.settings import Settings
from tools.errors import SourceRejected
from tools.guidelines import Document, IngestProgress, Scope
from tools.guidelines.storage.scopes import own_id, scope_of

SCOPE = Scope("0" * 32)
THREAD = "6f9619ff-8b86-4011-b42d-00c04fc964ff"


class Given:
    """A shelf that has one answer."""

    def __init__(self, answer: Document | str) -> None:
        self._answer = answer

    async def add(self, path: Path, *, progress: Callable[[IngestProgress], None] | None = None) -> Document:
        if isinstance(self._answer, str):
            raise SourceRejected(self._answer)
        return self._answer


def document(name: str = own_id(SCOPE, "x.pdf"), *, passages: int = 30) -> Document:
    return Document(
        id=name,
        title="Sepsis",
        file_name="x.pdf",
        sha256="0" * 64,
        pages=12,
        passages=passages,
        unsearchable_pages=(3, 5),
        added_at=datetime.now(UTC),
    )


async def taken_in(
    folder: Path, answer: Document | str, *, may_share: bool = False, asked: bool = False, language: Language = "en"
) -> tuple[str, ToolOutputRunItem]:
    """What is said at the end, and the step."""
    file = folder / "x.pdf"
    file.write_bytes(b"%PDF-1.4")
    shelf, upload = Given(answer), Upload("x.pdf", file)
    events = [e async for e in upload_events(shelf, upload, language, may_share=may_share, asked=asked)]
    steps = [event.item for event in events if isinstance(event, RunItemStreamEvent)]
    output = next(item for item in steps if isinstance(item, ToolOutputRunItem))
    return "".join(event.text for event in events if isinstance(event, TextDelta)), output


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            [
                "“Sepsis” can now be searched: 12 pages, only in this conversation.",
                "Pages without readable text, not searchable: 3, 5.",
                "deleted with the conversation",
            ],
        ),
        (
            "de",
            [
                "„Sepsis“ ist jetzt durchsuchbar: 12 Seiten, nur in dieser Unterhaltung.",
                "Seiten ohne lesbaren Text, nicht durchsuchbar: 3, 5.",
                "werden mit ihr gelöscht",
            ],
        ),
    ],
)
async def test_who_may_not_share_a_file_is_told_that_it_is_for_the_conversation_alone(
    language: Language, sentences: list[str], tmp_path: Path
) -> None:
    said, step = await taken_in(tmp_path, document(), language=language)
    for sentence in sentences:
        assert sentence in said
    assert files_of([step.function_output]) == [{"document": document().id, "title": "Sepsis", "state": "own"}]


async def test_who_may_share_a_file_is_asked_for_whom_it_is(tmp_path: Path) -> None:
    said, step = await taken_in(tmp_path, document(), may_share=True)
    assert "only in this conversation for now." in said
    assert files_of([step.function_output]) == [{"document": document().id, "title": "Sepsis", "state": "asked"}]


async def test_of_a_file_that_the_library_has_nothing_is_asked(tmp_path: Path) -> None:
    said, step = await taken_in(tmp_path, document("sepsis"), may_share=True)
    assert "already in the library" in said
    assert files_of([step.function_output]) == []


@pytest.mark.parametrize("answer", ["It is damaged.", document(passages=0)])
async def test_an_answer_is_told_apart_from_a_file_that_could_not_be_read(
    answer: Document | str, tmp_path: Path
) -> None:
    said, _ = await taken_in(tmp_path, answer, asked=True)
    assert said.endswith(" The answer below is not from this file.\n\n")
    assert "The answer below" not in (await taken_in(tmp_path, document(), asked=True))[0]


async def test_a_refused_file_says_why_and_nothing_is_asked(tmp_path: Path) -> None:
    said, step = await taken_in(tmp_path, "x.pdf is empty (0 bytes).", may_share=True)
    assert said == "Couldn't read x.pdf: x.pdf is empty (0 bytes).\n\n"
    assert files_of([step.function_output]) == []


@pytest.mark.parametrize(
    ("installed", "why"),
    [
        (False, "text recognition (OCR) is not installed here: ask your administrator for it (Tesseract)"),
        (True, "Text recognition (OCR) found no words on its pages"),
    ],
)
async def test_a_scan_without_text_is_not_called_searchable_and_not_shared(
    installed: bool, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if installed:
        (programs / "tesseract").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(programs))
    scan = document().model_copy(update={"passages": 0})
    said, step = await taken_in(tmp_path, scan, may_share=True)
    assert said.startswith("No text could be read in “Sepsis”")
    assert why in said
    assert "searched:" not in said
    assert [file["state"] for file in files_of([step.function_output])] == ["own"]


async def test_pages_read_by_text_recognition_are_named(tmp_path: Path) -> None:
    scan = document().model_copy(update={"unsearchable_pages": (), "recognised_pages": (1, 2)})
    said, _ = await taken_in(tmp_path, scan)
    assert "Read by text recognition (OCR): check words and numbers against the page. Pages: 1, 2." in said


async def test_the_step_shows_no_keys(tmp_path: Path) -> None:
    _, step = await taken_in(tmp_path, document(), may_share=True)
    content = step_content(step.function_output)
    assert "Sepsis" in content
    assert "own-" not in content
    assert "may_share" not in content
    assert json.dumps(step.function_output.output)


@pytest.mark.parametrize(
    "name", [THREAD.upper(), THREAD.replace("-", ""), f"{{{THREAD}}}", f"urn:uuid:{THREAD}", "", "x"]
)
def test_another_spelling_of_a_conversations_name_does_not_find_its_files(name: str) -> None:
    assert scope_of_thread(THREAD) == THREAD.replace("-", "")
    assert scope_of_thread(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "sepsis",
        "own-sepsis",
        f"own-{'0' * 31}-{'1' * 16}",
        f"own-{'0' * 32}-{'1' * 16}-sepsis",
        f"x-own-{'0' * 32}-{'1' * 16}",
    ],
)
def test_a_document_of_the_library_is_no_conversations(name: str) -> None:
    assert scope_of(name) is None
    assert scope_of(f"guideline:{name}@0123456789ab:3") is None


def test_a_file_joins_the_chosen_guidelines_where_only_some_are_searched() -> None:
    assert PageOptions().with_documents(["new"]).documents == ()
    assert PageOptions(documents=("a",)).with_documents(["new", "a"]).documents == ("a", "new")


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        ({}, "All guidelines · Drug database"),
        ({"documents": ("a",)}, "Asthma · Drug database"),
        ({"documents": ("a", "b"), "drugs": False}, "2 guidelines"),
        ({"documents": ("gone",), "drugs": False}, "All guidelines"),
        ({"guidelines": False, "drugs": False}, "No sources"),
        ({"guidelines": False, "length": "brief", "language": "de"}, "Drug database · Brief · Deutsch"),
        ({"models": ("other",)}, "All guidelines · Drug database · other"),
    ],
)
def test_the_settings_in_force_are_said_on_one_line(chosen: dict[str, Any], line: str) -> None:
    settings = Settings(model={"models": ("other",)})
    assert in_force(PageOptions(**chosen), settings, "en", {"a": "Asthma", "b": "Gout"}) == line


def test_files_of_another_process_are_left_until_they_are_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, "")
    for name, hours in (("open", 1), ("left", 13)):
        (folder := tmp_path / "page" / ".files" / name).mkdir(parents=True)
        (folder / "letter.pdf").write_bytes(b"%PDF")
        then = time.time() - hours * 3600
        os.utime(folder, (then, then))
    prepare_page_root(tmp_path)
    assert [path.name for path in (tmp_path / "page" / ".files").iterdir()] == ["open"]


def test_files_that_another_process_is_about_to_put_in_place_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, "")
    (public := tmp_path / "page" / "public").mkdir(parents=True)
    for name in (".start.css.7", "removed.css"):
        (public / name).write_text("")
    prepare_page_root(tmp_path)
    assert (public / ".start.css.7").exists()
    assert not (public / "removed.css").exists()
