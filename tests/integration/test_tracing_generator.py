"""Prompt history and recorded calls, against a model server on a real socket: files, layout, and what is in them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from chat_app.errors import ConfigurationError
from chat_app.generation.generator import Generator
from chat_app.generation.output import GeneratorOutput, PydanticProcessor
from chat_app.generation.prompt import Prompt
from chat_app.generation.response_api_adapter import ResponseAPIAdapter
from chat_app.settings import DiagnosticsSettings
from chat_app.tracing import (
    GeneratorCallLogger,
    GeneratorStateLogger,
    TraceFolder,
    TraceWriter,
    trace_app_generator,
    trace_generator_call,
    trace_generator_states,
)
from chat_app.tracing.trace_files import append_line, update_document
from chat_app.tracing.writer import shared_writer
from tests.support.scripted_server import ScriptedServer, Status, calls_reply, text_reply

QUESTION = "Mrs Quillfeather, 71, potassium 6.17493: stop the ramipril?"
TEMPLATE = "You help clinicians. {{ style }}"
Build = Callable[..., Generator[Any]]


class Dose(BaseModel):
    drug: str
    milligrams: float


@asynccontextmanager
async def served(*turns: Any) -> AsyncIterator[tuple[ScriptedServer, Build]]:
    """A server that plays ``turns``, and a function that builds generators which ask it."""
    async with ScriptedServer(turns) as server:
        clients: list[ResponseAPIAdapter] = []

        def build(**options: Any) -> Generator[Any]:
            clients.append(ResponseAPIAdapter(api_key="test", base_url=server.base_url))
            given = {
                "prompt": Prompt(TEMPLATE, preset={"style": "Be brief."}),
                "max_retries": 0,
                "model_kwargs": {"model": "scripted"},
                **options,
            }
            return Generator(clients[-1], **given)

        yield server, build
        for client in clients:
            await client.aclose()


def asked(text: str = QUESTION) -> list[dict[str, Any]]:
    return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def document(path: Path) -> dict[str, Any]:
    loaded = json.loads(path.read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def settings(folder: Path, **more: Any) -> DiagnosticsSettings:
    return DiagnosticsSettings(trace_dir=folder, **more)


async def test_the_decorators_lay_down_the_files_of_every_generator_of_an_object(tmp_path: Path) -> None:
    async with served([Status(401)], text_reply("Yes.")) as (_, build):

        @trace_generator_call(save_dir=tmp_path / "traces")
        @trace_generator_states(save_dir=tmp_path / "traces")
        class SimpleQA:
            def __init__(self) -> None:
                self.generator = build()
                self.generator_2 = build(prompt=Prompt("Be funny."))
                self.name = "no generator"

        qa = SimpleQA()
        failed = await qa.generator.acall(items=asked())
        went_well = await qa.generator_2.acall(items=asked())
        assert shared_writer().flush()

    assert isinstance(failed, GeneratorOutput)
    assert failed.error is not None
    assert went_well.data == "Yes."
    project = tmp_path / "traces" / "SimpleQA"
    states = document(project / "generator_state_trace.json")
    assert {name: len(history) for name, history in states.items()} == {"generator": 1, "generator_2": 1}
    assert states["generator"][0]["prompt_states"]["_template_string"] == TEMPLATE
    assert states["generator"][0]["prompt_states"]["prompt_variables"] == ["style"]
    assert document(project / "logger_metadata.json") == {
        "generator": str(project / "generator_call.jsonl"),
        "generator_2": str(project / "generator_2_call.jsonl"),
    }
    assert len(lines(project / "generator_call.jsonl")) == 1
    assert lines(project / "generator_2_call.jsonl") == []


async def test_only_the_named_attributes_are_traced_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    async with served() as (_, build):

        @trace_generator_states(["second"], save_dir=tmp_path, project_name="Named")
        class Two:
            def __init__(self) -> None:
                self.first = build()
                self.second = build()

        @trace_generator_call(["model"], save_dir=tmp_path)
        class Wrong:
            def __init__(self) -> None:
                self.model = "no generator"

        Two()
        with pytest.raises(TypeError, match=r"Wrong\.model"):
            Wrong()
        assert shared_writer().flush()
    assert list(document(tmp_path / "Named" / "generator_state_trace.json")) == ["second"]


async def test_a_prompt_is_written_down_again_only_when_it_has_changed(tmp_path: Path) -> None:
    async with served(*[text_reply("Yes.")] * 3) as (_, build):
        generator = build()
        path = tmp_path / "Asclepius" / "generator_state_trace.json"
        for run in range(2):
            # A second start of the app finds what the first one wrote.
            trace = trace_app_generator(generator, settings(tmp_path))
            await generator.acall(items=asked())
            assert trace.flush()
            assert len(document(path)["generator"]) == 1, run
            await trace.aclose()
        trace = trace_app_generator(generator, settings(tmp_path))
        generator.prompt = Prompt(
            generator.prompt.template_string, preset={**generator.prompt.preset, "style": "Be thorough."}
        )
        await generator.acall(items=asked())
        await trace.aclose()

    history = document(path)["generator"]
    assert len(history) == 2
    presets = [state["prompt_states"]["preset_prompt_kwargs"]["style"] for state in history]
    assert [preset["length"] for preset in presets] == [len("Be brief."), len("Be thorough.")]
    assert history[0]["prompt_hash"] != history[1]["prompt_hash"]
    assert "Be thorough." not in path.read_text()


async def test_preset_values_are_kept_where_text_is_asked_for(tmp_path: Path) -> None:
    async with served() as (_, build):
        await trace_app_generator(build(), settings(tmp_path, trace_text=True)).aclose()
    state = document(tmp_path / "Asclepius" / "generator_state_trace.json")["generator"][0]
    assert state["prompt_states"]["preset_prompt_kwargs"] == {"style": "Be brief."}


async def test_a_record_says_how_a_call_went_and_nothing_of_the_patient(tmp_path: Path) -> None:
    tool = {"type": "function", "name": "search_drug_database", "parameters": {}}
    reply = calls_reply(
        ("call_1", "search_drug_database", '{"drug_name": "Quillfeather"}'), ("call_2", "Quillfeather", "{}")
    )
    async with served(reply) as (_, build):
        options = {"model": "scripted", "max_output_tokens": 99}
        generator = build(prompt=Prompt("Patient: {{ patient }}"), model_kwargs=options)
        trace = trace_app_generator(generator, settings(tmp_path, trace_calls="all"))
        await generator.acall(
            items=asked(),
            prompt_kwargs={"patient": QUESTION},
            tools=(tool,),
            metadata={"about": QUESTION},
            safety_identifier="ab12",
        )
        await trace.aclose()

    path = tmp_path / "Asclepius" / "generator_call.jsonl"
    assert "Quillfeather" not in path.read_text()
    assert "6.17493" not in path.read_text()
    [record] = lines(path)
    assert record["prompt_kwargs"]["patient"]["length"] == len(QUESTION)
    assert record["model_kwargs"]["model"] == "scripted"
    assert record["model_kwargs"]["max_output_tokens"] == 99
    assert record["model_kwargs"]["tools"] == ["search_drug_database"]
    assert record["input"][0]["role"] == "user"
    assert record["output"]["response_id"] == "resp_1"
    assert record["output"]["usage"]["total_tokens"] == 15
    assert record["output"]["outcome"] == {"kind": "completed", "reason": None}
    assert [call["call_id"] for call in record["output"]["tool_use"]] == ["call_1", "call_2"]
    assert record["output"]["tool_use"][0]["name"] == "search_drug_database"
    assert record["output"]["tool_use"][1]["name"]["redacted"] == "text"
    assert 0 < record["seconds_to_first_event"] <= record["seconds"]
    assert not record["stopped"]
    states = document(tmp_path / "Asclepius" / "generator_state_trace.json")
    assert record["prompt_hash"] == states["generator"][0]["prompt_hash"]


async def test_what_a_caller_puts_in_the_place_of_settings_is_not_kept(tmp_path: Path) -> None:
    fields = {
        "include": ("file_search_call.results", "Mrs Quillfeather"),
        "previous_response_id": "resp_0",
        "reasoning": {"Quillfeather": 1},
        "store": False,
        "extra": {"temperature": 0.5},
    }
    async with served(text_reply("Yes.")) as (_, build):
        generator = build(model_kwargs={"model": "Mrs Quillfeather"})
        trace = trace_app_generator(generator, settings(tmp_path, trace_calls="all"))
        item = {"type": "Quillfeather", "role": "Quillfeather", "id": "Quillfeather", "content": "Quillfeather"}
        await generator.acall(items=[item], tools=({"type": "file_search"},), **fields)
        await trace.aclose()
    path = tmp_path / "Asclepius" / "generator_call.jsonl"
    [record] = lines(path)
    kept = record["model_kwargs"]
    assert (kept["previous_response_id"], kept["store"], kept["tools"]) == ("resp_0", False, ["file_search"])
    assert kept["include"] == ["file_search_call.results", "?"]
    assert "Quillfeather" not in path.read_text()


async def test_a_record_holds_question_and_answer_where_text_is_asked_for(tmp_path: Path) -> None:
    async with served(text_reply("Yes, ", "stop it.")) as (_, build):
        generator = build()
        trace = trace_app_generator(generator, settings(tmp_path, trace_calls="all", trace_text=True))
        await generator.acall(items=asked(), prompt_kwargs={"style": "Be kind."})
        await trace.aclose()
    [record] = lines(tmp_path / "Asclepius" / "generator_call.jsonl")
    assert record["prompt_kwargs"] == {"style": "Be kind."}
    assert record["input"] == asked()
    assert record["output"]["data"] == record["output"]["raw_response"] == "Yes, stop it."


async def test_the_calls_of_a_turn_can_be_erased_from_all_files_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "Asclepius" / "generator_call.jsonl"
    turn = ["a"]
    async with served(*[text_reply("Yes.")] * 3) as (_, build):
        generator = build()
        trace = trace_app_generator(generator, settings(tmp_path, trace_calls="all", trace_text=True), lambda: turn[0])
        await generator.acall(items=asked("One?"))
        assert trace.flush(60)
        path.rename(path.with_name(f"{path.name}.1"))
        await generator.acall(items=asked('Two? "turn_id": "a"'))
        turn[0] = "b"
        await generator.acall(items=asked("Three?"))
        with path.open("a") as file:
            file.write(json.dumps({"input": 'Of a version without turns? "turn_id": "a"'}) + "\n")
        trace.erase(["b", "c"])
        assert [record["turn_id"] for record in lines(path)] == ["a"]
        trace.erase(["a"])
        await trace.aclose()
    assert lines(path) == lines(path.with_name(f"{path.name}.1")) == []
    assert [file.name for file in files_below(tmp_path / "Asclepius") if "One?" in file.read_text()] == []


async def test_failures_of_every_stage_are_recorded_with_their_stage(tmp_path: Path) -> None:
    answers = (text_reply('{"drug": "Quillfeather"}'), text_reply("half", terminal="incomplete"), [Status(403)])
    async with served(*answers) as (_, build):
        generator = build(output_processors=[PydanticProcessor(Dose)])
        trace = trace_app_generator(generator, settings(tmp_path))
        for _answer in answers:
            output = await generator.acall(items=asked())
            assert output.error is not None
        await trace.aclose()
    path = tmp_path / "Asclepius" / "generator_call.jsonl"
    records = lines(path)
    assert [record["output"]["error_stage"] for record in records] == ["parsing", "processing", "api"]
    assert records[0]["output"]["error_message"]["redacted"] == "text"
    assert records[0]["output"]["raw_response"]["length"] == len('{"drug": "Quillfeather"}')
    assert "OPENAI_API_KEY" in records[2]["output"]["error_message"]
    assert records[2]["exception"] == "ProviderRejected"
    assert "Quillfeather" not in path.read_text()


async def test_a_call_that_cannot_begin_is_recorded_and_raised_as_before(tmp_path: Path) -> None:
    async with served() as (_, build):
        generator = build(prompt=Prompt("{{ missing }}"))
        trace = trace_app_generator(generator, settings(tmp_path))
        with pytest.raises(ConfigurationError, match="missing"):
            await generator.acall(items=asked())
        await trace.aclose()
    [record] = lines(tmp_path / "Asclepius" / "generator_call.jsonl")
    assert record["output"] is None
    assert record["exception"] == "ConfigurationError"


async def test_a_call_that_its_caller_stops_is_no_failure(tmp_path: Path) -> None:
    async with served(text_reply("One ", "two."), text_reply("One ", "two.")) as (_, build):
        generator = build()
        path = tmp_path / "Asclepius" / "generator_call.jsonl"
        for calls, recorded in (("failures", 0), ("all", 1)):
            trace = trace_app_generator(generator, settings(tmp_path, trace_calls=calls))
            await stop_after_first_event(generator)
            await trace.aclose()
            assert len(lines(path)) == recorded
    [record] = lines(path)
    assert record["stopped"]


async def stop_after_first_event(generator: Generator[Any]) -> None:
    async with aclosing(generator.astream(items=asked()).stream_events()) as events:
        async for _event in events:
            return


async def test_a_generator_is_no_longer_observed_when_its_trace_is_closed(tmp_path: Path) -> None:
    async with served(text_reply("Yes."), text_reply("Yes.")) as (_, build):
        generator = build()
        trace = trace_app_generator(generator, settings(tmp_path, trace_calls="all"))
        traced = await generator.acall(items=asked())
        await trace.aclose()
        untraced = await generator.acall(items=asked())
    assert type(traced) is type(untraced) is GeneratorOutput
    assert traced.data == untraced.data
    assert len(lines(tmp_path / "Asclepius" / "generator_call.jsonl")) == 1


async def test_without_a_trace_directory_nothing_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with served(text_reply("Yes.")) as (_, build):
        generator = build()
        trace = trace_app_generator(generator, DiagnosticsSettings())
        trace.erase(["a"])
        await generator.acall(items=asked())
        await trace.aclose()
    assert files_below(tmp_path) == []


async def test_loggers_can_be_used_by_hand_and_files_are_the_owners_alone(tmp_path: Path) -> None:
    writer = TraceWriter()
    folder = TraceFolder(tmp_path / "traces", "By hand", writer=writer)
    async with served([Status(401)]) as (_, build):
        generator = build()
        GeneratorStateLogger(folder=folder).log_prompt(generator.prompt, "main")
        calls = GeneratorCallLogger(folder=folder)
        calls.register_generator("main", generator)
        await generator.acall(items=asked())
    assert writer.close()
    assert calls.path("main") == tmp_path / "traces" / "By_hand" / "main_call.jsonl"
    written = files_below(tmp_path)
    assert {path.name for path in written} >= {"main_call.jsonl", "generator_state_trace.json", ".hash_key"}
    assert {path.stat().st_mode & 0o077 for path in [*written, folder.path]} == {0}


async def test_a_record_too_long_for_its_file_is_written_without_its_text(tmp_path: Path) -> None:
    writer = TraceWriter()
    folder = TraceFolder(tmp_path, "Small", keep_text=True, writer=writer, max_bytes=16_000)
    async with served([Status(401)]) as (_, build):
        generator = build()
        calls = GeneratorCallLogger(folder=folder)
        calls.register_generator("main", generator)
        await generator.acall(items=asked("long " * 2_000))
    writer.close()
    [record] = lines(calls.path("main"))
    assert record["too_long"]
    assert record["input"][0]["content"]["redacted"] == "list"


WORK = """
import json, sys
from pathlib import Path
from chat_app.tracing.trace_files import append_line, update_document

task, path, me = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
sys.stdin.read()
for number in range(int(sys.argv[4])):
    if task == "append":
        line = json.dumps({"writer": me, "number": number, "text": "x" * 500})
        append_line(path, line, max_bytes=200_000)
    else:
        update_document(path, lambda found: found.update({me: found.get(me, 0) + 1}) is None)
"""


def run_together(task: str, path: Path, count: int) -> None:
    """Three processes do ``task`` ``count`` times each, all at once."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, task, str(path), name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in ("a", "b", "c")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        with process:
            assert process.wait(60) == 0


def test_processes_that_write_at_once_leave_whole_lines_and_lose_none_when_files_rotate(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    run_together("append", path, 300)
    files = sorted(tmp_path.glob("calls.jsonl*"))
    assert len(files) > 1
    assert all(file.stat().st_size <= 200_000 for file in files)
    found = {(record["writer"], record["number"]) for file in files for record in lines(file)}
    assert len(found) == 3 * 300


def test_processes_that_change_a_document_at_once_keep_each_others_changes(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    run_together("count", path, 40)
    assert document(path) == {"a": 40, "b": 40, "c": 40}


def test_the_oldest_file_goes_when_there_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    for number in range(10):
        append_line(path, f"{number}", max_bytes=4)
    assert {file.name: file.read_text() for file in tmp_path.glob("calls*")} == {
        "calls.jsonl": "8\n9\n",
        "calls.jsonl.1": "6\n7\n",
        "calls.jsonl.2": "4\n5\n",
        "calls.jsonl.3": "2\n3\n",
    }


@pytest.mark.parametrize("content", ["half a docum", "[1, 2]", '"text"'])
def test_a_document_that_cannot_be_read_is_put_aside_and_not_overwritten(tmp_path: Path, content: str) -> None:
    path = tmp_path / "states.json"
    path.write_text(content)
    update_document(path, lambda found: found.update(fresh=1) is None)
    assert document(path) == {"fresh": 1}
    assert [aside.read_text() for aside in tmp_path.glob("states.json.unreadable-*")] == [content]
