"""Row 47: traces that cannot be written, hang, fill the disk or break cost no answer, and are warned about once."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_serializer

from chat_app.generation.generator import Generator
from chat_app.generation.output import GeneratorOutput, PydanticProcessor
from chat_app.generation.prompt import Prompt
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing import GeneratorTrace, TraceWriter, trace_app_generator
from chat_app.tracing.trace_files import append_line, update_document
from tests.support.engine import adapter
from tests.support.scripted_server import ScriptedServer, text_reply

QUESTION = {"type": "message", "role": "user", "content": "How much metformin?"}


@asynccontextmanager
async def traced(folder: Path, **options: Any) -> AsyncGenerator[tuple[Generator[Any], GeneratorTrace], None]:
    """A generator whose every call is traced into ``folder`` and answered with "Yes."."""
    async with ScriptedServer([text_reply(options.pop("answer", "Yes."))], repeat=True) as server:
        client = adapter(server)
        kwargs = {"model": "m"}
        generator: Generator[Any] = Generator(client, prompt=Prompt("Be exact."), model_kwargs=kwargs, **options)
        trace = trace_app_generator(generator, DiagnosticsSettings(trace_dir=folder, trace_calls="all"))
        yield generator, trace
        await client.aclose()


async def answers(generator: Generator[Any], times: int = 3) -> list[GeneratorOutput[Any]]:
    return [await generator.acall(items=[QUESTION]) for _ in range(times)]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING and r.name.startswith("chat_app")]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def test_a_directory_that_cannot_be_made_is_warned_about_once_and_every_answer_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 47. A file stands where the directory should be: that stops root, too."""
    (tmp_path / "taken").write_text("")
    async with traced(tmp_path / "taken") as (generator, trace):
        outputs = await answers(generator)
        assert await asyncio.to_thread(trace.close, 60)
    assert [output.data for output in outputs] == ["Yes."] * 3
    [warning] = warnings(caplog)
    assert str(tmp_path / "taken" / "Asclepius") in warning
    assert "ASCLEPIUS_TRACE_DIR" in warning


async def test_a_full_disk_is_warned_about_once_and_every_answer_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 47. /dev/full is a disk that is always full."""
    (tmp_path / "Asclepius").mkdir()
    (tmp_path / "Asclepius" / "generator_call.jsonl").symlink_to("/dev/full")
    async with traced(tmp_path) as (generator, trace):
        outputs = await answers(generator)
        assert await asyncio.to_thread(trace.close, 60)
    assert [output.data for output in outputs] == ["Yes."] * 3
    [warning] = warnings(caplog)
    assert "No space left" in warning


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Every write past ``size`` bytes of a file fails, after as much as still fits: a disk that is almost full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_line_that_does_not_fit_is_taken_back_and_the_next_that_fits_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    append_line(path, json.dumps({"number": 1}))
    with files_of_at_most(100):
        with pytest.raises(OSError, match="File too large"):
            append_line(path, json.dumps({"number": 2, "text": "x" * 200}))
        append_line(path, json.dumps({"number": 3}))
    append_line(path, json.dumps({"number": 4}))
    assert [record["number"] for record in records(path)] == [1, 3, 4]


def test_a_document_that_does_not_fit_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    update_document(path, lambda document: document.update(first=1) is None)
    with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
        update_document(path, lambda document: document.update(second="x" * 200) is None)
    assert json.loads(path.read_text()) == {"first": 1}
    assert {file.name for file in tmp_path.iterdir()} == {"states.json", ".lock"}


def test_writing_goes_on_by_itself_once_there_is_space(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer, path = TraceWriter(), tmp_path / "calls.jsonl"
    with files_of_at_most(10):
        writer.submit(tmp_path, lambda: append_line(path, "lost in the full disk"))
        assert writer.flush(60)
    writer.submit(tmp_path, lambda: append_line(path, "written again"))
    assert writer.close(60)
    assert path.read_text() == "written again\n"
    assert len(warnings(caplog)) == 1


async def test_a_disk_that_hangs_holds_up_neither_the_answers_nor_the_end(tmp_path: Path) -> None:
    """Opening a pipe that nobody reads never returns: like a network share that has gone away."""
    (tmp_path / "Asclepius").mkdir()
    pipe = tmp_path / "Asclepius" / "generator_call.jsonl"
    os.mkfifo(pipe)
    async with asyncio.timeout(60), traced(tmp_path) as (generator, trace):
        try:
            outputs = await answers(generator, times=20)
            assert not await asyncio.to_thread(trace.close, 0.2)
        finally:
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            await asyncio.to_thread(trace.close, 60)
            os.close(reader)
    assert [output.data for output in outputs] == ["Yes."] * 20


async def test_an_erasure_that_a_record_could_follow_fails(tmp_path: Path) -> None:
    async with traced(tmp_path) as (generator, trace):
        held = threading.Event()

        def hold() -> None:
            held.wait(60)

        assert trace.writer
        trace.writer.submit(tmp_path, hold)
        try:
            await answers(generator, times=1)
            with pytest.raises(OSError, match="busy"):
                await asyncio.to_thread(trace.erase, [""], 0.05)
        finally:
            held.set()
        calls = tmp_path / "Asclepius" / "generator_call.jsonl"
        assert trace.flush(60)
        assert len(records(calls)) == 1
        await asyncio.to_thread(trace.erase, [""])
        assert records(calls) == []
        await trace.aclose()


def test_what_waits_to_be_written_is_bounded_and_the_rest_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer, held, done = TraceWriter(max_waiting=8), threading.Event(), []
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        held.wait(60)

    writer.submit(tmp_path, hold)
    assert begun.wait(60)
    for number in range(20):
        writer.submit(tmp_path, lambda number=number: done.append(number))
    assert not writer.flush(0.05)
    held.set()
    assert writer.close(60)
    assert done == list(range(8))
    assert len(warnings(caplog)) == 1


def test_nothing_is_written_after_the_end(tmp_path: Path) -> None:
    writer = TraceWriter()
    assert writer.close(60)
    writer.submit(tmp_path, lambda: append_line(tmp_path / "late", "late"))
    assert writer.flush(60)
    assert writer.close(60)
    assert list(tmp_path.iterdir()) == []


async def test_a_lock_that_a_frozen_process_holds_costs_traces_and_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "Asclepius"
    folder.mkdir()
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with traced(tmp_path) as (generator, trace):
            async with asyncio.timeout(60):
                outputs = await answers(generator)
            assert await asyncio.to_thread(trace.flush, 60)
            fcntl.flock(lock, fcntl.LOCK_UN)
            await answers(generator, times=1)
            assert await asyncio.to_thread(trace.close, 60)
    assert [output.data for output in outputs] == ["Yes."] * 3
    assert len(warnings(caplog)) == 1
    assert len(records(folder / "generator_call.jsonl")) == 1


class Stubborn(BaseModel):
    drug: str

    @field_serializer("drug")
    def _refuse(self, drug: str) -> str:
        raise ValueError(drug)


async def test_a_value_that_cannot_be_written_down_costs_its_record_and_is_not_repeated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    processors = [PydanticProcessor(Stubborn)]
    answer = '{"drug": "Quillfeather"}'
    async with traced(tmp_path, answer=answer, output_processors=processors) as (generator, trace):
        outputs = await answers(generator)
        await trace.aclose()
    assert [output.data.drug for output in outputs] == ["Quillfeather"] * 3
    assert len(warnings(caplog)) == 1
    assert "Quillfeather" not in caplog.text


async def test_an_observer_that_raises_is_logged_and_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said = "Quillfeather"

    class Broken:
        def call_started(self, _call: object) -> None:
            raise ValueError(said)

        def call_ended(self, _call: object, _output: object) -> None:
            raise ValueError(said)

    async with traced(tmp_path) as (generator, trace):
        generator.add_observer(Broken())
        outputs = await answers(generator, times=1)
        await trace.aclose()
    assert outputs[0].data == "Yes."
    assert len(warnings(caplog)) == 2
    assert "Quillfeather" not in caplog.text
    assert len(records(tmp_path / "Asclepius" / "generator_call.jsonl")) == 1


WRITE_FOREVER = """
import itertools, json, sys
from pathlib import Path
from chat_app.tracing.trace_files import append_line
for number in itertools.count():
    append_line(Path(sys.argv[1]), json.dumps({"number": number, "text": "x" * 3000}), max_bytes=10**9)
    if number == 50:
        print("ready", flush=True)
"""


def test_a_process_killed_while_it_writes_leaves_whole_lines_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", WRITE_FOREVER, str(path)], stdout=subprocess.PIPE)
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGKILL)
    append_line(path, json.dumps({"number": "last"}), max_bytes=10**9)
    found = records(path)
    assert len(found) > 150
    assert found[-1]["number"] == "last"


WRITE_AND_LEAVE = """
import sys
from pathlib import Path
from chat_app.tracing import TraceWriter
from chat_app.tracing.trace_files import append_line
writer = TraceWriter()
for number in range(100):
    writer.submit(Path(sys.argv[1]), lambda number=number: append_line(Path(sys.argv[1]) / "calls", str(number)))
"""


def test_a_process_that_ends_without_closing_writes_what_waits(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITE_AND_LEAVE, str(tmp_path)], check=True, timeout=60)
    assert (tmp_path / "calls").read_text().split() == [str(number) for number in range(100)]


async def test_a_key_that_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / ".hash_key").write_bytes(b"\xff not a key")
    async with traced(tmp_path) as (generator, trace):
        await answers(generator, times=1)
        await trace.aclose()
    assert len(bytes.fromhex((tmp_path / ".hash_key").read_text())) == 16
    assert len(records(tmp_path / "Asclepius" / "generator_call.jsonl")) == 1
