"""The examples run as they are, against the offline model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_app.tool_registry import custom_tools
from tests.support.offline_server import offline_server

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
EXAMPLES = PROJECT / "examples"
EXPECTED = {
    "generate": ["data: ", "outcome: completed", "response: resp_"],
    "structured_output": ["data: name='Alice' age=30", "error stage: parsing", "raw response kept: True"],
    "stream_events": [
        "first event: response.created",
        "last event: response.completed",
        "outcome: completed",
        "data: ",
    ],
    "function_tools": [
        "double: sync -> 1000",
        "double_later: async -> 1000",
        "titrate: sync_generator -> reach 1000 mg",
        "titrate_later: async_generator -> reach 1000 mg",
        "scale: sync -> 1500",
        "Rounding: sync -> 500",
        "progress: start at 500 mg",
        "output: reach 1000 mg",
    ],
    "run_tools": ["500 mg", "steps: 2", "starting: search_drug_database", "final: completed"],
    "trace_calls": [
        "generator_call.jsonl",
        "generator_state_trace.json",
        "logger_metadata.json",
        "{'generator': 'Be brief.', 'generator_2': 'Be thorough.'}",
    ],
    "custom_tool": [],
}


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline")) as url:
        yield url


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    assert all(f"({name}.py)" in readme for name in EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_prints_what_it_shows(name: str, base_url: str, tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "ASCLEPIUS_"))}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env=environment | {"OPENAI_BASE_URL": base_url, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for line in EXPECTED[name]:
        assert line in done.stdout


def test_the_custom_tool_is_one_that_the_app_can_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    (tool,) = custom_tools(["custom_tool:ward_beds"])
    assert (tool.name, tool.presentation.title) == ("ward_beds", "Beds")
    output = tool.call(ward="Cardiology")
    assert (output.output, output.summary) == ({"ward": "Cardiology", "free": 2}, "2 free")
