"""The offline server does what its own OpenAPI description says, whatever Schemathesis sends to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.embedded_processes import PROJECT
from tests.support.offline_server import offline_server

EXAMPLES = os.environ.get("ASCLEPIUS_SCHEMATHESIS_EXAMPLES", "5")
"""Generated requests for each operation, beside those that cover its schema."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    with offline_server(tmp_path, "--delta-ms", "0") as base_url:
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            *("--config-file", str(PROJECT / "schemathesis.toml"), "run", base_url.replace("/v1", "/openapi.json")),
            *("--header", "Authorization: Bearer any", "--phases", "coverage,fuzzing", "--max-examples", EXAMPLES),
            *("--generation-deterministic", "--no-color"),
        ]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=580, check=False)
    assert run.returncode == 0, run.stdout
    assert "passed" in run.stdout
