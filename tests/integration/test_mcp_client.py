"""Tools of MCP servers in the whole app: the file is read at the start, and the model calls them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.support import hostile_mcp
from tests.support.served import asclepius

QUESTION = "Which ward has free beds?"


def servers_file(folder: Path) -> str:
    working = {"command": sys.executable, "args": [hostile_mcp.__file__, "works"], "tools": ["beds"]}
    gone = {"command": "/no/such/command", "tools": ["ranges"]}
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"ward": working, "lab": gone}}))
    return str(file)


def test_the_model_calls_a_tool_of_a_server_while_another_server_is_missing(tmp_path: Path) -> None:
    environment = {"ASCLEPIUS_MCP_SERVERS": servers_file(tmp_path), "ASCLEPIUS_LOAD_DEMO": "false"}
    done = asclepius("ask", QUESTION, "--json", data_dir=tmp_path / "data", **environment)
    assert "MCP server does not answer: lab_ranges." in done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (output,) = (
        event["item"]["function_output"]
        for event in events
        if event.get("name") == "agent.tool_call_complete" and event["item"]["function_output"]["name"] == "ward_beds"
    )
    assert output["output"] == {"server": "ward", "content": "Ward 3 has 4 free beds."}
    assert output["passages"] == []
    assert events[-1]["outcome"]["kind"] == "completed"


def test_the_doctor_names_the_tools_that_are_missing(tmp_path: Path) -> None:
    environment = {"ASCLEPIUS_MCP_SERVERS": servers_file(tmp_path), "ASCLEPIUS_LOAD_DEMO": "false"}
    done = asclepius("doctor", "--start", "--json", data_dir=tmp_path / "data", **environment)
    found = [finding for finding in json.loads(done.stdout)["findings"] if finding["part"] == "tools"]
    detail = "lab_ranges is missing: its MCP server does not answer, or has no such tool"
    assert found == [{"part": "tools", "ok": False, "detail": detail, "warning": False}]


def test_a_wrong_file_is_reported_as_one_sentence(tmp_path: Path) -> None:
    done = asclepius("ask", QUESTION, data_dir=tmp_path / "data", ASCLEPIUS_MCP_SERVERS=str(tmp_path / "absent"))
    assert done.returncode == 1
    assert done.stderr.startswith("asclepius: ASCLEPIUS_MCP_SERVERS=")
    assert "Traceback" not in done.stderr
