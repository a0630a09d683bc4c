"""The ``asclepius`` command, run as its users run it, beside a served app."""

from __future__ import annotations

import json
import os
import pty
import socket
import sqlite3
import subprocess
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from chat_app.cli import shell
from tests.support.certificates import server_certificate
from tests.support.drugs import ndc_row, orange_book, write_ndc
from tests.support.served import COMMAND, Served, asclepius, clean_environment, new_data, serve


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def answer(output: str) -> str:
    return "".join(event["text"] for event in events(output) if event["type"] == "text_delta")


def test_the_command_says_the_version_that_is_installed(tmp_path: Path) -> None:
    done = asclepius("--version", data_dir=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"asclepius {version('asclepius')}\n")


def test_a_guideline_question_is_answered_with_quotes_that_stand_on_their_page(served: Served) -> None:
    done = asclepius("ask", "What are the contraindications for ACE inhibitors?", "--json", data_dir=served.data_dir)
    assert done.returncode == 0, done.stderr
    turn = events(done.stdout)
    assert [turn[0]["type"], turn[-1]["type"]] == ["turn_started", "turn_ended"]
    assert turn[-1]["outcome"]["kind"] == "completed"
    assert turn[-1]["answer"] == answer(done.stdout)
    assert "angioedema" in answer(done.stdout)
    (references,) = (event for event in turn if event["type"] == "references")
    cited = [event["number"] for event in turn if event["type"] == "citation"]
    numbers = [reference["number"] for reference in references["references"]]
    assert numbers == sorted(set(cited)) == list(range(1, len(numbers) + 1))
    for reference in references["references"]:
        assert reference["passage"]["page"] >= 1
        assert reference["quotes"]
        assert all(quote in reference["passage"]["text"] for quote in reference["quotes"])


def test_a_drug_question_calls_the_drug_database_and_answers_from_its_record(served: Served) -> None:
    done = asclepius(
        "ask", "What formulations of metformin are available in our database?", "--json", data_dir=served.data_dir
    )
    items = [event for event in events(done.stdout) if event["type"] == "run_item_stream_event"]
    called = [event["item"]["function"] for event in items if event["name"] == "agent.tool_call_start"]
    (call,) = (function for function in called if function["name"] == "search_drug_database")
    assert "metformin" in json.loads(call["arguments"])["drug_name"]
    done_calls = (e["item"]["function_output"] for e in items if e["name"] == "agent.tool_call_complete")
    (output,) = (output for output in done_calls if output["name"] == "search_drug_database")
    assert output["error"] is None
    assert output["passages"]
    text = answer(done.stdout)
    for fact in ("tablet, extended release", "500 mg/5 mL", "Glucophage"):
        assert fact in text


def test_a_follow_up_is_understood_from_what_was_asked_before(served: Served) -> None:
    first = asclepius("ask", "What are the contraindications for ACE inhibitors?", "--json", data_dir=served.data_dir)
    session = events(first.stdout)[0]["conversation_id"]
    second = asclepius(
        "ask", "What about in patients with kidney disease?", "--session", session, "--json", data_dir=served.data_dir
    )
    assert events(second.stdout)[0]["conversation_id"] == session
    calls = [e["item"]["function"] for e in events(second.stdout) if e.get("name") == "agent.tool_call_start"]
    assert "ACE" in calls[0]["arguments"]
    assert "kidney" in answer(second.stdout).lower()


def test_plain_output_ends_with_the_references(served: Served) -> None:
    done = asclepius("ask", "When should metformin be stopped in kidney disease?", data_dir=served.data_dir)
    body, _, references = done.stdout.partition("\nReferences\n")
    assert "[1]" in body
    assert references.startswith("[1] ")
    assert "--session session_" in done.stderr


def test_a_question_can_come_from_standard_input(served: Served) -> None:
    done = asclepius(
        "ask", "-", "--json", data_dir=served.data_dir, stdin="What is the first-line treatment of asthma?"
    )
    assert events(done.stdout)[-1]["outcome"]["kind"] == "completed"


@pytest.mark.parametrize(
    ("question", "expected"),
    [("   \n", "empty"), ("x" * 100_000, "the limit is 20,000")],
    ids=["blank", "100,000 characters"],
)
def test_a_message_that_cannot_be_taken_is_refused_in_one_sentence(
    question: str, expected: str, served: Served
) -> None:
    done = asclepius("ask", "-", data_dir=served.data_dir, stdin=question)
    assert done.returncode == 1
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("session", ["session_" + "0" * 32, "../../etc/passwd"])
def test_an_unknown_session_starts_a_new_one_and_says_so(session: str, served: Served) -> None:
    done = asclepius("ask", "How is asthma diagnosed?", "--session", session, "--json", data_dir=served.data_dir)
    assert done.returncode == 0
    assert events(done.stdout)[0]["conversation_id"].startswith("session_")
    assert "new_conversation" in [event.get("code") for event in events(done.stdout)]


@pytest.mark.parametrize(("days", "fine"), [(3, False), (30, True)])
def test_doctor_says_how_long_the_certificate_is_valid(days: int, fine: bool, tmp_path: Path) -> None:
    _, certificate = server_certificate("localhost", tmp_path, days=days)
    files = {"ASCLEPIUS_TLS_CERTIFICATE": str(certificate), "ASCLEPIUS_TLS_KEY": str(tmp_path / "private.pem")}
    done = asclepius("doctor", "--json", data_dir=tmp_path / "data", **files)
    (found,) = [each for each in json.loads(done.stdout)["findings"] if each["part"] == "certificate"]
    assert found["ok"] is fine
    assert ("renew it" in found["detail"]) is not fine
    assert done.returncode == (0 if fine else 1)


def test_doctor_finds_a_whole_app_whole(served: Served) -> None:
    done = asclepius("doctor", "--json", data_dir=served.data_dir)
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["ok"]
    assert {"settings", "storage", "history", "services", "sessions", "model", "drugs", "guidelines"} == {
        finding["part"] for finding in report["findings"]
    }


def test_drugs_are_searched_with_json_and_with_a_table(served: Served) -> None:
    found = json.loads(asclepius("drugs", "search", "Glucophage", "--json", data_dir=served.data_dir).stdout)
    assert found["hits"][0]["record"]["generic_name"] == "metformin"
    assert found["hits"][0]["matched"]["how"] == "brand"
    assert "metformin" in asclepius("drugs", "search", "Glucophage", data_dir=served.data_dir).stdout


def test_guidelines_are_listed_and_searched(served: Served) -> None:
    listed = json.loads(asclepius("guidelines", "list", "--json", data_dir=served.data_dir).stdout)
    assert len(listed) >= 6
    found = asclepius("guidelines", "search", "ACE inhibitors in pregnancy", "--json", data_dir=served.data_dir)
    assert json.loads(found.stdout)["passages"][0]["page"] >= 1


def test_an_id_is_printed_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shell.print_table(("id", "title"), [("a-long-id-" * 6, "Title of several words " * 4)])
    assert "a-long-id-" * 6 in capsys.readouterr().out


def test_only_the_guidelines_that_were_named_are_searched(served: Served) -> None:
    question = "When is hospital admission needed?"
    for named in ("asthma", "hypertension"):
        done = asclepius("ask", question, "--guideline", named, "--no-drugs", "--json", data_dir=served.data_dir)
        found = [
            e["item"]["function_output"]["passages"]
            for e in events(done.stdout)
            if e.get("name") == "agent.tool_call_complete"
        ]
        assert {passage["document_id"].partition("@")[0] for passages in found for passage in passages} == {named}


def test_a_guideline_that_is_not_loaded_is_refused_with_those_that_are(served: Served) -> None:
    done = asclepius("ask", "When?", "--guideline", "surgery", data_dir=served.data_dir)
    assert done.returncode != 0
    assert "Loaded are: asthma, atrial-fibrillation" in " ".join(done.stderr.split())


def test_after_a_sync_to_the_offline_model_the_own_index_is_searched_all_the_same(served: Served) -> None:
    done = asclepius("guidelines", "sync", data_dir=served.data_dir)
    assert done.returncode == 0, done.stderr
    assert "ASCLEPIUS_GUIDELINE_SEARCH=hosted" in done.stdout
    asked = asclepius("ask", "What are the contraindications for ACE inhibitors?", "--json", data_dir=served.data_dir)
    called = [e["item"]["function"] for e in events(asked.stdout) if e.get("name") == "agent.tool_call_start"]
    names = {function["name"] for function in called}
    assert names & {"search_clinical_guidelines", "file_search"} == {"search_clinical_guidelines"}
    assert "Deleted" in asclepius("guidelines", "sync", "--withdraw", data_dir=served.data_dir).stdout


def test_an_answer_of_extracts_says_that_it_is_not_translated(served: Served) -> None:
    question = "What are the contraindications for ACE inhibitors?"
    done = asclepius("ask", question, "--language", "de", "--length", "brief", "--json", data_dir=served.data_dir)
    turn = events(done.stdout)
    (note,) = (event for event in turn if event["type"] == "notice")
    assert (note["code"], "nothing is translated" in note["message"]) == ("language_of_sources", True)
    assert "angioedema" in turn[-1]["answer"]


def test_a_corrupt_guideline_is_refused_with_its_name_and_nothing_changes(served: Served, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nthis is no guideline")
    before = asclepius("guidelines", "list", "--json", data_dir=served.data_dir).stdout
    done = asclepius("guidelines", "add", str(broken), data_dir=served.data_dir)
    assert done.returncode == 1
    assert "broken.pdf" in done.stderr
    assert "Traceback" not in done.stderr
    assert asclepius("guidelines", "list", "--json", data_dir=served.data_dir).stdout == before


def test_a_file_that_is_not_drug_data_is_refused_and_nothing_changes(served: Served, tmp_path: Path) -> None:
    other = tmp_path / "letter.zip"
    other.write_bytes(b"PK\x03\x04 not really")
    before = asclepius("drugs", "stats", "--json", data_dir=served.data_dir).stdout
    done = asclepius("drugs", "import", str(other), data_dir=served.data_dir)
    assert done.returncode == 1
    assert "letter.zip" in done.stderr
    assert "Traceback" not in done.stderr
    assert asclepius("drugs", "stats", "--json", data_dir=served.data_dir).stdout == before


def test_an_import_names_the_files_that_it_did_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "directory"
    folder.mkdir()
    write_ndc(folder, [ndc_row("0001-0001", "metformin")])
    (folder / "patent.txt").write_text("Appl_Type~Appl_No~Product_No~Patent_No\n", encoding="utf-8")
    done = asclepius("drugs", "import", str(folder), data_dir=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    assert "Left out, because no importer reads it: patent.txt" in done.stdout


def test_a_discontinued_medicine_is_found_by_its_brand_and_marked(tmp_path: Path) -> None:
    row = "ROFECOXIB~TABLET;ORAL~VIOXX~MERCK~25MG~N~021042~001~~May 20, 1999~No~No~DISCN~MERCK"
    assert asclepius("drugs", "import", str(orange_book(tmp_path, row)), data_dir=tmp_path / "data").returncode == 0
    done = asclepius("drugs", "show", "Vioxx", data_dir=tmp_path / "data")
    assert done.stdout.startswith("rofecoxib (discontinued)\nDiscontinued brands: Vioxx\n")
    assert done.stdout.rstrip().endswith("Vioxx  discontinued")
    assert "rofecoxib (discontinued)" in asclepius("drugs", "search", "Vioxx", data_dir=tmp_path / "data").stdout


def test_unsafe_settings_are_refused_at_start_with_what_to_set(tmp_path: Path) -> None:
    done = asclepius("serve", "--host", "0.0.0.0", data_dir=tmp_path / "data")
    assert done.returncode == 1
    assert "ASCLEPIUS_AUTH" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_port_that_is_taken_is_named(served: Served, tmp_path: Path) -> None:
    port = served.url.rpartition(":")[2]
    done = asclepius("serve", "--port", port, data_dir=tmp_path / "data")
    assert done.returncode == 1
    assert f"Port {port}" in done.stderr
    assert "ASCLEPIUS_PORT" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_data_directory_has_one_server_until_that_ends_however_it_ends(workers: str, tmp_path: Path) -> None:
    data_dir, options = tmp_path / "data", {"loaded": False, "ASCLEPIUS_LOAD_DEMO": "false"}
    with serve(data_dir, "--workers", workers, **options) as first:  # type: ignore[arg-type]
        page = (data_dir / "run" / "page.json").read_text()
        assert first.url in page
        second = asclepius("serve", "--port", "0", "--workers", workers, data_dir=data_dir)
        assert second.returncode == 1
        assert f"(process {first.process.pid}) uses {data_dir}: stop it, or set ASCLEPIUS_DATA_DIR" in second.stderr
        assert (data_dir / "run" / "page.json").read_text() == page
        first.process.kill()
        first.process.wait()
        with serve(data_dir, "--workers", workers, **options) as third:  # type: ignore[arg-type]
            assert third.url in (data_dir / "run" / "page.json").read_text()


def test_an_address_of_another_machine_is_named_as_what_is_wrong(tmp_path: Path) -> None:
    done = asclepius("serve", "--host", "192.0.2.1", data_dir=tmp_path / "data", ASCLEPIUS_AUTH="header")
    assert done.returncode == 1
    assert "set ASCLEPIUS_HOST to an address of this machine" in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_settings_with_which_the_services_cannot_be_opened_end_the_app(workers: str, tmp_path: Path) -> None:
    done = asclepius(
        *("serve", "--port", "0", "--workers", workers),
        data_dir=tmp_path / "data",
        ASCLEPIUS_MCP_SERVERS="missing.json",
    )
    assert done.returncode == 1
    assert "asclepius: ASCLEPIUS_MCP_SERVERS=missing.json cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("file", "setting", "said"),
    [
        ("users.json", {"ASCLEPIUS_AUTH": "password"}, "users.json is damaged: restore it from a backup"),
        ("api_keys.json", {}, "api_keys.json is damaged: restore it from a backup"),
        ("none", {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_USERS": "ana"}, "Entry 1 of ASCLEPIUS_USERS"),
        ("none", {"ASCLEPIUS_AUDIT_FILE": "/nonexistent/a"}, "/nonexistent/a cannot be written: create its folder"),
    ],
    ids=["users", "keys", "named users", "audit"],
)
def test_files_that_cannot_be_used_are_named_by_doctor_and_end_the_app(
    file: str, setting: dict[str, str], said: str, tmp_path: Path
) -> None:
    (data_dir := tmp_path / "data").mkdir()
    (data_dir / file).write_text("{")
    served = asclepius("serve", "--port", "0", data_dir=data_dir, **setting)
    assert (served.returncode, served.stderr.count("\n")) == (1, 1)
    checked = asclepius("doctor", data_dir=data_dir, **setting)
    assert checked.returncode == 1
    assert said in served.stderr
    assert said in checked.stdout
    assert "Traceback" not in served.stderr + checked.stderr


def test_a_misspelt_setting_is_a_warning_of_doctor_and_of_the_app(tmp_path: Path) -> None:
    wrong = {"ASCLEPIUS_PROT": "8080", "ASCLEPIUS_AUDIT_FILE": "/nonexistent/a"}
    checked = asclepius("doctor", data_dir=tmp_path / "data", ASCLEPIUS_PROT="8080")
    assert checked.returncode == 0, checked.stdout
    assert "warn settings    ASCLEPIUS_PROT is no setting" in checked.stdout
    served = asclepius("serve", "--port", "0", data_dir=tmp_path / "data", **wrong)
    assert "ASCLEPIUS_PROT is no setting and has no effect: did you mean ASCLEPIUS_PORT?" in served.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve", "--port", "99999"), "asclepius serve: --port must be a number from 0 to 65535."),
        (("offline-server", "--port", "x"), "asclepius offline-server: --port must be a number from 0 to 65535."),
        (("serve", "--workers", "0"), "asclepius serve: --workers must be a number of at least 1."),
        (("serve", "--prot", "1"), "asclepius serve: No such option: --prot"),
        (("ask", "x", "--length", "huge"), "'huge' is not one of 'brief', 'standard', 'full'."),
    ],
)
def test_wrong_usage_is_one_line_that_says_what_is_allowed(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = asclepius(*arguments, data_dir=tmp_path / "data")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert f"Run `asclepius {arguments[0]} --help`" in done.stderr


def test_a_file_without_users_is_a_warning_of_doctor_and_of_the_app(tmp_path: Path) -> None:
    (data_dir := tmp_path / "data").mkdir()
    (data_dir / "users.json").write_text("{}")
    wrong = {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_AUDIT_FILE": "/nonexistent/a"}
    served = asclepius("serve", "--port", "0", data_dir=data_dir, **wrong)
    assert "users.json holds no user. Run `asclepius users add NAME`." in served.stderr
    assert (
        "warn accounts    Nobody can sign in"
        in asclepius("doctor", data_dir=data_dir, ASCLEPIUS_AUTH="password").stdout
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ask", " "), "The question is empty."),
        (("feedback", "list"), "The history cannot be read (its file cannot be opened): check"),
        (
            ("drugs", "clear", "--yes"),
            "The audit log cannot be written (its file cannot be opened), so nothing was done",
        ),
        (("backup", "nowhere/backup.zip"), "nowhere is no directory: create it, or name another place for the backup."),
        (("drugs", "show", "metformin"), "The drug database holds no records yet: import drug data first."),
    ],
)
def test_what_a_command_cannot_use_is_named_in_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "data" / "history.sqlite3").mkdir(parents=True)
    done = asclepius(*arguments, data_dir=tmp_path / "data")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert said in done.stderr


def test_a_terminal_sees_the_services_start(tmp_path: Path) -> None:
    terminal, side = pty.openpty()
    command = [COMMAND, "users", "logout", "ana"]
    environment = clean_environment(tmp_path / "data", ASCLEPIUS_LOAD_DEMO="false")
    subprocess.run(command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=side, check=True)
    os.close(side)
    assert b"The session store (Redis) is up." in os.read(terminal, 4_096)
    os.close(terminal)


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    served = asclepius("serve", "--port", "0", data_dir=tmp_path / "data")
    assert (served.returncode, served.stderr.count("\n")) == (1, 1)
    assert f"The data directory {tmp_path / 'data'} cannot be written" in served.stderr


def test_doctor_goes_on_after_a_wrong_address_of_the_database(tmp_path: Path) -> None:
    done = asclepius("doctor", data_dir=tmp_path / "data", DATABASE_URL="mysql://db/asclepius")
    assert done.returncode == 1
    assert "FAIL history     DATABASE_URL must begin with" in done.stdout
    assert "services" in done.stdout


@pytest.mark.parametrize("first", [0, 65_535])
def test_every_worker_needs_a_port_for_its_metrics(first: int, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = first or taken.getsockname()[1] - 1
        done = asclepius(
            *("serve", "--port", "0", "--workers", "2"), data_dir=tmp_path / "data", ASCLEPIUS_METRICS_PORT=str(port)
        )
    assert done.returncode == 1
    assert f"Port {port + 1} on 127.0.0.1 cannot be used" in done.stderr
    assert "ASCLEPIUS_METRICS_PORT to the first of 2 free ports" in done.stderr


def test_doctor_names_an_address_of_milvus_that_its_client_refuses(tmp_path: Path) -> None:
    done = asclepius("doctor", data_dir=tmp_path / "data", MILVUS_URI="milvus.db")
    assert done.returncode == 1
    assert "FAIL settings    MILVUS_URI must begin with" in done.stdout
    assert done.stderr == ""


def test_an_unreachable_model_server_is_a_failed_turn_with_what_to_check(tmp_path: Path) -> None:
    done = asclepius(
        "ask",
        "What is asthma?",
        data_dir=tmp_path / "data",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        ASCLEPIUS_LOAD_DEMO="false",
        ASCLEPIUS_MAX_RETRIES="0",
    )
    assert done.returncode == 1
    assert "OPENAI_BASE_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_answer_still_comes_when_only_redis_is_gone(tmp_path: Path) -> None:
    new_data(tmp_path / "data")
    done = asclepius(
        "ask",
        "What are the contraindications for ACE inhibitors?",
        "--json",
        data_dir=tmp_path / "data",
        REDIS_URL="redis://127.0.0.1:9/0",
    )
    assert done.returncode == 0, done.stderr
    assert "angioedema" in answer(done.stdout)
    assert "history_not_saved" in [event.get("code") for event in events(done.stdout)]


def test_an_unreachable_milvus_is_told_and_the_answer_makes_nothing_up(tmp_path: Path) -> None:
    done = asclepius(
        "ask",
        "What are the contraindications for ACE inhibitors?",
        "--json",
        data_dir=tmp_path / "data",
        MILVUS_URI="http://127.0.0.1:9",
    )
    outputs = [e["item"]["function_output"] for e in events(done.stdout) if e.get("name") == "agent.tool_call_complete"]
    assert any("MILVUS_URI" in (output["error"] or "") for output in outputs)
    assert "angioedema" not in answer(done.stdout)
    assert "Traceback" not in done.stderr


def test_a_conversation_goes_on_after_a_restart_of_everything(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve(data) as first:
        question = "What are the contraindications for ACE inhibitors?"
        asked = asclepius("ask", question, "--json", data_dir=first.data_dir)
        session = events(asked.stdout)[0]["conversation_id"]
    with serve(data) as second:
        done = asclepius(
            "ask",
            "What about in patients with kidney disease?",
            "--session",
            session,
            "--json",
            data_dir=second.data_dir,
        )
    assert events(done.stdout)[0]["conversation_id"] == session
    calls = [e["item"]["function"] for e in events(done.stdout) if e.get("name") == "agent.tool_call_start"]
    assert "ACE" in calls[0]["arguments"]
    assert "transcript_replayed" not in [event.get("code") for event in events(done.stdout)]


def test_the_shell_compares_models_in_a_running_app(served: Served) -> None:
    models = ("--model", "small", "--model", "large")
    done = asclepius("ask", "How is asthma diagnosed?", *models, data_dir=served.data_dir)
    assert done.returncode == 0, done.stderr
    sections = done.stdout.split("── ")[1:]
    assert sorted(section.split(" ──")[0] for section in sections) == ["large", "small"]
    assert all("[1]" in section and "\nReferences\n" in section for section in sections)


def test_the_shell_compares_models_without_a_running_app_and_tags_each_event(tmp_path: Path) -> None:
    done = asclepius(
        "ask",
        "How is asthma diagnosed?",
        *("--model", "small", "--model", "large", "--json"),
        data_dir=tmp_path / "data",
        ASCLEPIUS_LOAD_DEMO="false",
    )
    tagged = events(done.stdout)
    for model in ("small", "large"):
        turn = [each["event"] for each in tagged if each["model"] == model]
        assert (turn[0]["type"], turn[0]["model"]) == ("turn_started", model)
        assert turn[-1]["outcome"]["kind"] == "completed"
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "data" / "history.sqlite3")) as history:
        kept = history.execute("SELECT output FROM steps WHERE type = 'user_message'").fetchall()
        unfinished = history.execute("SELECT metadata FROM steps WHERE metadata LIKE '%unfinished%'").fetchall()
        recorded = history.execute("SELECT actor, model FROM audit WHERE action = 'question'").fetchall()
    assert (kept, unfinished) == ([("How is asthma diagnosed?",)], [])
    assert sorted(recorded) == [("demo", "large"), ("demo", "small")]


def test_comparing_in_one_conversation_is_refused_at_the_shell(tmp_path: Path) -> None:
    done = asclepius(
        "ask", "How?", "--model", "a", "--model", "b", "--session", "session_" + "0" * 32, data_dir=tmp_path / "data"
    )
    assert done.returncode == 2
    assert "starts new conversations" in " ".join(done.stderr.replace("│", " ").split())
