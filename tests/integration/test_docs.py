"""The documents: their commands and programs run, their options and settings exist, and their links lead somewhere.

A fenced block runs when its info string contains ``test``; ``file=NAME`` saves a block for the commands that follow.
The blocks of one page run in order, in one folder, beside a served app.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main

from chat_app.cli import app as cli
from chat_app.settings import SECTIONS, variable_name
from tests.support.fault_table import FAULTS, cited_rows, documented_rows, with_tests
from tests.support.forked import forked_command
from tests.support.served import Served, clean_environment, serve

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(PROJECT / "docs").rglob("*.md"), *PROJECT.glob("*.md")])
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_FOREIGN_VARIABLES = {"ASCLEPIUS_SHARED", "ASCLEPIUS_TEST_MILVUS_URI", "ASCLEPIUS_TOOLS"}


@dataclass(frozen=True)
class Block:
    """A fenced block: the words of its info string, and its text."""

    info: tuple[str, ...]
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(tuple(info.split()), text) for info, text in _FENCE.findall(page.read_text("utf-8"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


TESTED = [page for page in PAGES if any("test" in block.info for block in blocks(page))]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data_dir = tmp_path_factory.mktemp("docs") / "data"
    issuers = f"https://ehr.hospital.example={data_dir / 'ehr-keys.json'}"
    with serve(data_dir, ASCLEPIUS_CDS_ISSUERS=issuers) as running:
        yield running


@pytest.mark.served
@pytest.mark.parametrize("page", TESTED, ids=name_of)
def test_the_examples_of_a_page_run(page: Path, app: Served, tmp_path: Path) -> None:
    environment = clean_environment(app.data_dir, PYTHONPATH=str(PROJECT))
    (tmp_path / "bin").mkdir()
    forked_command("asclepius", tmp_path / "bin")
    environment["PATH"] = os.pathsep.join(
        map(str, (tmp_path / "bin", Path(sys.executable).parent, environment["PATH"]))
    )
    for block in blocks(page):
        text = block.text.replace("http://127.0.0.1:8000", app.url)
        saved = [word.removeprefix("file=") for word in block.info if word.startswith("file=")]
        if saved:
            (tmp_path / saved[0]).write_text(text, "utf-8")
        if "test" not in block.info:
            continue
        if block.info[0] == "sh" and "curl" in text and not shutil.which("curl"):
            pytest.skip("curl is not installed")
        shell = ["bash", "-euo", "pipefail", "-c", text]
        command = shell if block.info[0] == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def commands(page: Path) -> Iterator[list[str]]:
    """The ``asclepius`` commands in a page's shell blocks, and those in its text."""
    text = page.read_text("utf-8")
    lines = [line for block in blocks(page) if block.info[:1] == ("sh",) for line in block.text.splitlines()]
    for line in [*lines, *re.findall(r"`(asclepius [^`]*)`", text)]:
        for command in re.findall(r"(?<![\w./-])asclepius ([^)|>]*)", line):
            yield shlex.split(command, comments=True)


def options_of(command: Any) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for words in commands(page):
        command: Any = typer.main.get_command(cli)
        while words and hasattr(command, "commands") and not words[0].startswith("-"):
            assert words[0] in command.commands, f"no command {words[0]}"
            command = command.commands[words.pop(0)]
        unknown = {word for word in words if word.startswith("--")} - options_of(command)
        assert not unknown, f"{command.name} has no option {unknown}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_settings_of_a_page_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("a changelog also names settings of the past")
    known = {variable_name(section, name) for section in SECTIONS for name in section.model_fields}
    named = set(re.findall(r"\bASCLEPIUS_[A-Z_]+\b", page.read_text("utf-8")))
    assert named - known - _FOREIGN_VARIABLES == set()


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for pair in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        target = urllib.parse.urlsplit("".join(pair))
        if target.scheme or page.name == "chainlit.md":
            continue
        found = (page.parent / target.path).resolve() if target.path else page
        assert found.exists(), f"{target.path} does not exist"
        assert not target.fragment or target.fragment in anchors(found), f"{found.name} has no #{target.fragment}"


def test_the_list_for_language_models_names_every_page() -> None:
    listed = set(
        re.findall(r"^- \[.+?\]\((\S+?)\): \S", (PROJECT / "docs" / "llms.txt").read_text("utf-8"), re.MULTILINE)
    )
    pages = {path.name for path in (PROJECT / "docs").glob("*.md")} - {"README.md"}
    assert listed == pages | {"decisions/README.md"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_make_targets_of_a_page_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)) <= targets


def test_every_fault_has_a_test_and_every_cited_row_is_documented() -> None:
    assert set(cited_rows()) == documented_rows()
    document = FAULTS.read_text("utf-8")
    assert with_tests(document) == document, "run `python -m tests.support.fault_table`"


def test_the_readme_stays_short() -> None:
    assert len((PROJECT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_a_new_user_is_told_how_to_change_the_port_and_where_the_settings_are() -> None:
    assert "ASCLEPIUS_PORT=" in (PROJECT / "README.md").read_text("utf-8")
    (named,) = re.findall(r"(\S+\.md) lists every setting", (PROJECT / ".env.example").read_text("utf-8"))
    assert "| `ASCLEPIUS_PORT` |" in (PROJECT / named).read_text("utf-8")
