"""Responses servers of other projects, installed and run for real: aimock (npm) and the LiteLLM proxy (PyPI).

    python -m tests.support.real_servers        installs both into build/real-servers

Tests that need one are skipped by name where it is not installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.services import accepts, free_port, running

FOLDER = Path(os.environ.get("ASCLEPIUS_REAL_SERVERS", Path(__file__).parents[2] / "build" / "real-servers"))
AIMOCK = FOLDER / "node_modules" / ".bin" / "llmock"
LITELLM = FOLDER / "litellm" / "bin" / "litellm"
LITELLM_KEY = "sk-only-for-tests-on-this-machine-0123456789abcdef"


def install() -> None:
    """Installs what is not there yet; takes some minutes and about 1 GB."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not AIMOCK.exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", str(FOLDER), "@copilotkit/aimock@~1.43"], check=True)
    if not LITELLM.exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "litellm")], check=True)
        pip = FOLDER / "litellm" / "bin" / "pip"
        subprocess.run([str(pip), "install", "--quiet", "litellm[proxy]>=1.106,<1.107"], check=True)


@contextmanager
def aimock(folder: Path, fixtures: Sequence[object], *options: str) -> Iterator[str]:
    """aimock with ``fixtures`` (its own format); its base URL."""
    file, port = folder / "fixtures.json", free_port()
    file.write_text(json.dumps({"fixtures": list(fixtures)}), encoding="utf-8")
    command = [str(AIMOCK), "-p", str(port), "-f", str(file), *options]
    with running(command, lambda: accepts(("127.0.0.1", port)), what="aimock"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def litellm(folder: Path, upstream: str, provider: str) -> Iterator[str]:
    """The LiteLLM proxy before ``upstream``; ``provider`` decides whether it passes Responses on or bridges to chat."""
    port, file = free_port(), folder / "litellm.yaml"
    config = {
        "model_list": [
            {"model_name": "m", "litellm_params": {"model": f"{provider}/m", "api_base": upstream, "api_key": "none"}}
        ],
        "litellm_settings": {"telemetry": False},
        "general_settings": {"master_key": LITELLM_KEY},
    }
    file.write_text(json.dumps(config), encoding="utf-8")
    # Its price list comes from the network unless it is told to take its own.
    command = ["env", "LITELLM_LOCAL_MODEL_COST_MAP=True", str(LITELLM), "--config", str(file), "--port", str(port)]
    with running([*command, "--host", "127.0.0.1"], lambda: accepts(("127.0.0.1", port)), what="LiteLLM"):
        yield f"http://127.0.0.1:{port}/v1"


if __name__ == "__main__":
    install()
