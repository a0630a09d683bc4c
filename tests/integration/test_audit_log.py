"""The audit log: every action is recorded or refused, and any change to the record is found."""

# ruff: noqa: ASYNC210, ASYNC212 - the page is served by another process

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta, timezone
from getpass import getuser
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from pydantic import ValidationError
from sqlalchemy import text
from typer.testing import CliRunner

from chat_app.audit import DatabaseAuditLog, audit_log, client_address, sink_problems
from chat_app.audit.audit_log import syslog_sink
from chat_app.audit.audit_table import AuditEntry, AuditFilter
from chat_app.cli.governance import audit
from chat_app.database.database_engine import database_engine, database_url
from chat_app.database.migrations import migrate
from chat_app.errors import AuditUnavailable
from chat_app.settings import Settings
from tests.support.page_server import fake_page
from tests.support.page_sockets import asked, asking, seen, socket_of
from tests.support.served import asclepius
from tests.support.waiting import until


@asynccontextmanager
async def opened(
    database: str,
    folder: Path,
    *,
    keep_text: bool = False,
    required: bool = True,
    sink: Callable[[str], None] | None = None,
) -> AsyncIterator[DatabaseAuditLog]:
    engine = database_engine(database_url(database))
    await migrate(engine)
    waiting = folder / "waiting.jsonl"
    sinks = [sink] if sink else []
    yield DatabaseAuditLog(engine=engine, waiting=waiting, keep_text=keep_text, required=required, sinks=sinks)
    await engine.dispose()


async def executed(database: str, *statements: str) -> None:
    engine = database_engine(database_url(database))
    async with engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement))
    await engine.dispose()


async def listed(log: DatabaseAuditLog, wanted: AuditFilter | None = None) -> list[AuditEntry]:
    return [entry async for entry in log.entries(wanted)]


async def test_actions_are_recorded_in_order_and_the_chain_verifies(database: str, tmp_path: Path) -> None:
    """Two writers, as two servers have."""
    async with opened(database, tmp_path) as log, opened(database, tmp_path / "b") as other:
        client_address.set("192.0.2.7")
        await asyncio.gather(
            *(log.record("question", "ada", conversation=f"c{n}", model="m", text="secret") for n in range(5)),
            *(other.record("login", "eve") for _ in range(5)),
        )
        entries = await listed(log)
        assert [entry.seq for entry in entries] == list(range(1, 11))
        assert await log.verify() == (10, [])
        assert {entry.address for entry in entries} == {"192.0.2.7"}
        assert {entry.text for entry in entries} == {""}, "the question's text is kept only when that is set"
        assert {entry.actor for entry in await listed(log, AuditFilter(action="login"))} == {"eve"}
        assert len(await listed(log, AuditFilter(actor="ada", since=min(entry.at for entry in entries)))) == 5
        assert await listed(log, AuditFilter(until="2000-01-01")) == []
        east = timezone(timedelta(hours=5))
        before, after = (datetime.now(east) + timedelta(minutes=minutes) for minutes in (-10, 10))
        assert len(await listed(log, AuditFilter(since=before.isoformat(), until=after.isoformat()))) == 10


def test_copies_that_cannot_be_written_are_named_before_an_action_is_refused(tmp_path: Path) -> None:
    assert sink_problems(tmp_path / "audit.jsonl", "loghost:514") == []
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as syslog:
        syslog.bind(address := str(tmp_path / "log"))
        assert sink_problems(None, address) == []
    assert "neither a socket nor host:port" in " ".join(sink_problems(None, "loghost"))
    assert "cannot be written" in " ".join(sink_problems(tmp_path, None)), "a directory takes no lines"
    file, missing = sink_problems(tmp_path / "missing" / "audit.jsonl", str(tmp_path / "no-socket"))
    assert "ASCLEPIUS_AUDIT_FILE" in file
    assert "ASCLEPIUS_AUDIT_SYSLOG" in missing


@pytest.mark.parametrize("wrong", [{"since": "2026-13-01"}, {"until": "yesterday"}, {"action": "delet"}])
def test_a_filter_that_can_match_nothing_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        AuditFilter.model_validate(wrong)
    (option, value), runner = wrong.popitem(), CliRunner()
    refused = runner.invoke(audit.app, ["list", f"--{option}", value])
    assert refused.exit_code == 2
    assert "Input should be" in refused.output


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ('UPDATE audit SET "actor" = \'eve\' WHERE "seq" = 3', "was changed"),
        ('DELETE FROM audit WHERE "seq" = 3', "missing"),
        ('DELETE FROM audit WHERE "seq" = 6', "ends at 5"),
        ('DELETE FROM audit WHERE "seq" = 1', "missing"),
        ('UPDATE audit SET "seq" = 9 WHERE "seq" = 6', "missing"),
        ('UPDATE audit SET "previous" = \'x\' WHERE "seq" = 4', "does not continue"),
    ],
)
async def test_any_change_is_found(database: str, tmp_path: Path, change: str, what: str) -> None:
    async with opened(database, tmp_path) as log:
        for number in range(6):
            await log.record("question", "ada", detail=str(number))
        await executed(database, change)
        _, findings = await log.verify()
        assert any(what in finding.what for finding in findings), findings


async def test_entries_that_are_added_while_the_chain_is_verified_are_no_finding(database: str, tmp_path: Path) -> None:
    async with opened(database, tmp_path) as log, opened(database, tmp_path / "b") as other:
        await log.record("login", "ada")
        entries = log.entries

        async def busy() -> AsyncIterator[AuditEntry]:
            await other.record("question", "eve")
            async for entry in entries():
                yield entry
            await other.record("question", "eve")

        log.entries = busy  # type: ignore[method-assign, assignment]
        assert await log.verify() == (2, [])
        log.entries = entries  # type: ignore[method-assign]
        assert await log.verify() == (3, [])


async def test_entries_wait_for_a_database_that_is_down_and_keep_their_time(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite3"
    async with opened(f"sqlite:///{file}", tmp_path, keep_text=True) as log:
        await log.record("login", "ada")
        await executed(f"sqlite:///{file}", "ALTER TABLE audit RENAME TO away")
        await log.record("question", "ada", text="How\u2028so?")
        assert (tmp_path / "waiting.jsonl").stat().st_mode & 0o777 == 0o600
        await log.catch_up()
        await executed(f"sqlite:///{file}", "ALTER TABLE away RENAME TO audit")
        await log.record("logout", "ada")
        await log.catch_up()
        entries = await listed(log)
        assert [entry.action for entry in entries] == ["login", "logout", "question"]
        assert entries[2].at < entries[1].at
        assert entries[2].text == "How\u2028so?"
        assert await log.verify() == (3, [])
        assert not list(tmp_path.glob("waiting.jsonl*"))


def line_of(actor: str) -> str:
    return f"{AuditEntry(at='2026', action='login', actor=actor).model_dump_json()}\n"


async def test_no_waiting_entry_is_lost_where_two_processes_wait_for_the_database(tmp_path: Path) -> None:
    """The database is locked: what the one stores can be found, or added to, by the other meanwhile."""
    database, waiting = f"sqlite:///{tmp_path / 'history.sqlite3'}", tmp_path / "waiting.jsonl"
    async with opened(database, tmp_path) as log, opened(database, tmp_path) as other:
        waiting.write_text(line_of("ada"))
        async with log.engine.connect() as connection:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
            first = asyncio.create_task(log.catch_up())
            await until(lambda: not waiting.exists(), what="the file")
            waiting.write_text(line_of("bea"))
            await other.catch_up()
            await first
            first = asyncio.create_task(log.catch_up())
            await asyncio.sleep(0.5)
            second = asyncio.create_task(other.catch_up())
            await asyncio.sleep(0.1)
            await connection.rollback()
        await asyncio.gather(first, second)
        await other.catch_up()
        assert sorted(entry.actor for entry in await listed(log)) == ["ada", "bea"]


async def test_a_waiting_line_that_cannot_be_read_is_kept(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "waiting.jsonl").write_text(f'{{"at": "2026", "act\n{line_of("ada")}')
    async with opened(database, tmp_path) as log:
        await log.catch_up()
        assert [entry.actor for entry in await listed(log)] == ["ada"]
    kept = tmp_path / "waiting.unreadable"
    assert kept.read_text() == '{"at": "2026", "act\n'
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "2026" not in caplog.text


async def test_an_action_that_cannot_be_recorded_anywhere_is_refused_unless_it_is_said_otherwise(
    tmp_path: Path,
) -> None:
    database = f"sqlite:///{tmp_path / 'history.sqlite3'}"
    for required in (True, False):
        async with opened(database, tmp_path / "no folder", required=required) as log:
            await executed(database, "ALTER TABLE audit RENAME TO away")
            if required:
                with pytest.raises(AuditUnavailable):
                    await log.record("question", "ada")
            else:
                await log.record("question", "ada")
            assert log.failures == 1
            await executed(database, "ALTER TABLE away RENAME TO audit")


async def test_the_app_refuses_what_it_cannot_record_except_a_log_out(tmp_path: Path, redis_url: str) -> None:
    settings = {"ASCLEPIUS_AUTH": "header", "REDIS_URL": redis_url}
    with (
        fake_page(tmp_path, environment=settings) as page,
        httpx.Client(base_url=page.url, headers={"x-forwarded-user": "ana"}, timeout=60) as client,
    ):
        client.post("/auth/header").raise_for_status()
        thread, run, _ = await asked(page, client, "say: hello")
        async with socket_of(page, client) as (socket, events, _):
            await executed(f"sqlite:///{page.data_dir / 'history.sqlite3'}", "ALTER TABLE audit RENAME TO away")
            (page.data_dir / "audit-waiting.jsonl").mkdir()
            refused = [
                client.post("/api/v1/consult", json={"message": "say: hello", "stream": False}),
                client.get(f"/api/v1/threads/{thread}/export.md"),
                client.put("/feedback", json={"feedback": {"forId": run, "value": 1}}),
                client.request("DELETE", "/project/thread", json={"threadId": thread}),
                httpx.post(f"{page.url}/auth/header", headers={"x-forwarded-user": "bert"}, timeout=60),
            ]
            assert [answer.status_code for answer in refused] == [503] * 5
            await socket.emit("client_message", asking("say: hello"))
            shown = (await seen(events, "element"))[0]["props"]
            assert (shown["outcome"]["kind"], shown["plain"]) == ("failed", "")
        assert client.get(f"/project/thread/{thread}").status_code == 200, "it was not deleted"
        cookies = dict(client.cookies)
        assert client.post("/logout").status_code == 200
        assert httpx.get(f"{page.url}/user", cookies=cookies, timeout=60).status_code == 401


async def test_each_entry_is_copied_to_a_file_and_to_syslog_or_refused(tmp_path: Path) -> None:
    engine, file = database_engine(database_url(f"sqlite:///{tmp_path / 'history.sqlite3'}")), tmp_path / "audit.jsonl"
    await migrate(engine)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as syslog:
        syslog.bind(("127.0.0.1", 0))
        syslog.settimeout(60)
        governance = {"audit_file": file, "audit_syslog": f"127.0.0.1:{syslog.getsockname()[1]}"}
        log = audit_log(Settings(storage={"data_dir": tmp_path}, governance=governance), engine)
        await log.record("question", "ada", conversation="c1", text="secret")
        (line,) = file.read_text().splitlines()
        assert json.loads(line) | {"at": ""} == json.loads(line) | {
            "at": "",
            "actor": "ada",
            "conversation": "c1",
            "text": "",
        }
        assert file.stat().st_mode & 0o777 == 0o600
        assert syslog.recv(10_000).rstrip(b"\0").decode().partition("asclepius-audit: ")[2] == line
        file.unlink()
        file.mkdir()
        with pytest.raises(AuditUnavailable):
            await log.record("question", "ada")
    await engine.dispose()


async def test_an_entry_that_syslog_does_not_take_is_refused_and_printed_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    database = f"sqlite:///{tmp_path / 'history.sqlite3'}"
    async with opened(database, tmp_path, keep_text=True, sink=syslog_sink(str(tmp_path / "no socket"))) as log:
        with pytest.raises(AuditUnavailable):
            await log.record("question", "ada", text="Mrs Quillfeather")
        assert log.failures == 1
    assert "Quillfeather" not in capfd.readouterr().err


async def test_old_entries_can_be_purged_and_the_rest_verifies(database: str, tmp_path: Path) -> None:
    copies: list[str] = []
    async with opened(database, tmp_path, sink=copies.append) as log:
        for _ in range(4):
            await log.record("question", "ada")
        entries = await listed(log)
        await executed(database, 'UPDATE audit SET "at" = \'2001\' WHERE "seq" <= 2')
        assert await log.purge("2002") == 2
        assert await log.verify() == (2, [])
        assert await log.purge("2002") == 0
        assert await log.purge("2999") == 2
        await log.record("login", "ada")
        assert await log.verify() == (1, [])
    assert [json.loads(line)["at"] for line in copies[:4]] == [entry.at for entry in entries]


def test_the_command_lists_and_verifies(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    database = f"sqlite:///{data_dir / 'history.sqlite3'}"

    async def write() -> None:
        async with opened(database, tmp_path) as log:
            await log.record("login", "ada")
            await log.record("question", "ada", conversation="c1")

    asyncio.run(write())
    assert asclepius("audit", "verify", data_dir=data_dir).stdout == "2 entries, 0 findings\n"
    exported = asclepius("audit", "export", "--action", "question", data_dir=data_dir).stdout.splitlines()
    assert [json.loads(line)["conversation"] for line in exported] == ["c1"]
    assert "login" in asclepius("audit", "list", data_dir=data_dir).stdout
    assert asclepius("audit", "list", "--actor", f"shell:{getuser()}", data_dir=data_dir).stdout.count("export") == 3
    asyncio.run(executed(database, 'UPDATE audit SET "actor" = \'eve\' WHERE "seq" = 1'))
    broken = asclepius("audit", "verify", "--json", data_dir=data_dir)
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["findings"] == [{"seq": 1, "what": "the entry was changed"}]
    off = asclepius("audit", "list", data_dir=data_dir, ASCLEPIUS_AUDIT="off")
    assert (off.returncode, off.stdout) == (1, "")
    assert "ASCLEPIUS_AUDIT" in off.stderr


def test_entries_are_readable_at_80_columns_and_one_line_each_in_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data_dir := tmp_path / "data").mkdir()
    conversation, actor = str(uuid4()), "ada.lovelace@hospital.example"
    given = {"conversation": conversation, "model": "asclepius-extractive", "detail": "guidelines remove none"}

    async def write() -> None:
        async with opened(f"sqlite:///{data_dir / 'history.sqlite3'}", tmp_path) as log:
            await log.record("administration", actor, **given)  # type: ignore[arg-type]

    asyncio.run(write())
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = asclepius("audit", "list", "--actor", actor, data_dir=data_dir, COLUMNS="80").stdout
    assert re.search(rf"^1 +\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d +administration +{actor}", shown, re.MULTILINE)
    assert conversation in shown
    assert max(map(len, shown.splitlines())) <= 80
    (_, piped) = asclepius("audit", "list", "--actor", actor, data_dir=data_dir).stdout.splitlines()
    assert all(value in piped for value in given.values())


@pytest.mark.parametrize(
    ("command", "done"),
    [
        (("guidelines", "remove", "none"), ("administration", "guidelines remove none")),
        (("drugs", "clear", "--yes"), ("administration", "drugs clear")),
        (("users", "erase", "ana", "--yes"), ("erase", "all data of ana")),
        (("backup", "backup.zip"), ("backup", "backup.zip")),
    ],
    ids=" ".join,
)
def test_a_command_is_recorded_with_the_account_at_the_shell(
    command: tuple[str, ...], done: tuple[str, str], tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (data_dir := tmp_path / "data").mkdir()
    asclepius(*command, data_dir=data_dir, REDIS_URL=redis_url)
    lines = asclepius("audit", "export", "--actor", f"shell:{getuser()}", data_dir=data_dir).stdout.splitlines()
    recorded = [(entry["action"], entry["detail"]) for entry in map(json.loads, lines)]
    assert recorded == [done, ("export", "audit log")]
