"""Imports that are killed, cancelled, raced or searched: readers see one whole state or the other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pymilvus import MilvusClient

from tests.support.drugs import drug_database, ndc_row, write_ndc
from tests.support.services import wait_until
from tests.support.waiting import loop_turns
from tools.drug_database import DrugDatabase, DrugQuery
from tools.drug_database.records.reports import ImportProgress
from tools.errors import ToolError

PROJECT = Path(__file__).resolve().parent.parent.parent
IMPORT = """
import asyncio, sys
from pathlib import Path
from tools.drug_database import DrugDatabase
def stop_at(item):
    if item.stage == sys.argv[4]:
        print("stopped", flush=True)
        sys.stdin.read()
async def main():
    database = DrugDatabase(sys.argv[1], name=sys.argv[2])
    await database.import_paths([Path(sys.argv[3])], progress=stop_at)
asyncio.run(main())
"""

STAGE = """
import os, sys
from tools.drug_database.records.drug_record import Contribution
from tools.drug_database.storage.staging import Staging
with Staging() as staging:
    for number in range(20_000):
        staging.put(Contribution(source="s", item=str(number), substances=(f"substance {number}",)))
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    files = [os.readlink(link) for link in links if os.path.islink(link)]
    print(next(file for file in files if "/etilqs_" in file), flush=True)
    sys.stdin.read()
"""


def many(folder: Path, count: int = 3_000) -> Path:
    return write_ndc(
        folder, [ndc_row(f"9-{n}", f"substance {n}", PROPRIETARYNAME=f"Brandol {n}") for n in range(count)]
    )


@pytest.mark.parametrize("stage", ["reading", "writing", "indexing"])
async def test_a_killed_import_leaves_the_old_state_and_the_next_one_works(
    milvus_uri: str, tmp_path: Path, stage: str
) -> None:
    """Row 48, for drugs: kill -9 while rows are read, records are written, or the new state is made ready."""
    many(tmp_path)
    async with drug_database(milvus_uri) as drugs:
        await drugs.load_demo()
        before = await drugs.stats()
        name = drugs._name
        command = [sys.executable, "-c", IMPORT, milvus_uri, name, str(tmp_path), stage]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=PROJECT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"stopped\n"
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert await drugs.stats() == before
        found = (await drugs.search(DrugQuery(name="Brandol 7"))).hits
        assert {hit.matched.how for hit in found} <= {"spelling"}
        report = await drugs.import_paths([tmp_path])
        assert report.kept == 3_000
        assert report.after_cut_off == (stage != "reading")
        assert (await drugs.search(DrugQuery(name="Brandol 7"))).hits[0].record.generic_name == "substance 7"
        held = [found for found in MilvusClient(milvus_uri).list_collections() if found.startswith(f"{name}_")]
        assert len(held) == 3


def test_the_staged_rows_of_a_killed_import_leave_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STAGE],
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert Path(process.stdout.readline().decode().removesuffix(" (deleted)\n")).parent == tmp_path
    process.kill()
    process.communicate()
    assert list(tmp_path.iterdir()) == []


async def test_a_cancelled_import_changes_nothing_and_leaves_nothing_behind(milvus_uri: str, tmp_path: Path) -> None:
    many(tmp_path)
    async with drug_database(milvus_uri) as drugs:
        await drugs.load_demo()
        before = await drugs.stats()
        writing = asyncio.Event()

        def seen(item: ImportProgress) -> None:
            if item.stage == "writing":
                writing.set()

        task = asyncio.create_task(drugs.import_paths([tmp_path], progress=seen))
        async with asyncio.timeout(60):
            await writing.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, ToolError):
            await task
        client = MilvusClient(milvus_uri)
        await asyncio.to_thread(
            wait_until,
            lambda: len([one for one in client.list_collections() if one.startswith(drugs._name)]) == 3,
            what="the end of the cancelled import",
        )
        assert await drugs.stats() == before


async def test_readers_see_one_whole_state_while_a_source_is_swapped(milvus_uri: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, brand in ((first, "Alphabrand"), (second, "Betabrand")):
        folder.mkdir()
        write_ndc(folder, [ndc_row(f"9-{n}", f"substance {n}", PROPRIETARYNAME=f"{brand} {n}") for n in range(400)])
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([first])
        swap = asyncio.create_task(drugs.import_paths([second], replace=True))
        seen: set[str] = set()
        while not swap.done():
            record = (await drugs.search(DrugQuery(name="substance 5"))).hits[0].record
            brands = {fact.value for fact in record.brand_names}
            assert brands in ({"Alphabrand 5"}, {"Betabrand 5"})
            seen |= brands
        await swap
        after = (await drugs.search(DrugQuery(name="substance 5"))).hits[0].record
        assert {fact.value for fact in after.brand_names} == {"Betabrand 5"}
        assert "Alphabrand 5" in seen


async def test_of_two_imports_at_once_none_is_lost_in_silence(milvus_uri: str, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, code in ((one, "1-1"), (two, "2-2")):
        folder.mkdir()
        write_ndc(folder, [ndc_row(code, f"substance {code}")])
    async with drug_database(milvus_uri) as drugs:
        other = DrugDatabase(milvus_uri, name=drugs._name)
        results = await asyncio.gather(drugs.import_paths([one]), other.import_paths([two]), return_exceptions=True)
        await other.aclose()
        done = [
            code for code, result in zip(("1-1", "2-2"), results, strict=True) if not isinstance(result, BaseException)
        ]
        assert done
        assert all(isinstance(result, ToolError) for result in results if isinstance(result, BaseException))
        for code in done:
            assert (await drugs.search(DrugQuery(name=f"substance {code}"))).hits


async def test_an_import_does_not_hold_up_the_event_loop(milvus_uri: str, tmp_path: Path) -> None:
    many(tmp_path, 2_000)
    async with drug_database(milvus_uri) as drugs:
        result, turns = await loop_turns(drugs.import_paths([tmp_path]))
    assert not isinstance(result, BaseException)
    assert turns > 20


@pytest.mark.parametrize(
    "typed",
    [
        '"',
        "\\",
        '" or key != "',
        "'; drop",
        "%",
        'key in ["metformin"]',
        "\x00\x01\x1f",
        "a" * 10_000,
        "met\nformin",
        "😀💊",
        "مترو",
        "\u202emetformin",
        "ﬁ",
        "\ud800",
        "{{7*7}}",
        "../../etc/passwd",
        "<script>",
        "NULL",
        "-1",
        "1e999",
    ],
)
async def test_a_hostile_name_neither_breaks_out_nor_crashes(milvus_uri: str, typed: str) -> None:
    """Row 32, through the whole search."""
    drugs = await _shared_demo(milvus_uri)
    result = await drugs.search(DrugQuery(name=typed, drug_class=typed, dosage_form=typed, route=typed, strength=typed))
    assert result.hits == ()
    found = await drugs.search(DrugQuery(name=typed))
    assert len(found.hits) <= 5


_DEMO: dict[str, DrugDatabase] = {}
_LOCK = threading.Lock()


async def _shared_demo(milvus_uri: str) -> DrugDatabase:
    with _LOCK:
        if milvus_uri not in _DEMO:
            _DEMO[milvus_uri] = DrugDatabase(milvus_uri, name="drugs_hostile_tests")
    await _DEMO[milvus_uri].load_demo()
    return _DEMO[milvus_uri]
