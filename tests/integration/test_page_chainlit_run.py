"""``chainlit run chat_app/app.py`` serves the same page: same routes, same guard, services opened and closed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.forked import start
from tests.support.served import clean_environment
from tests.support.services import free_port, owns_port, wait_until

PROJECT = Path(__file__).resolve().parents[2]


def _answers(url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/readyz", timeout=60).json()["parts"]["sessions"]["ready"])
    except (httpx.HTTPError, KeyError, ValueError):
        return False


@pytest.mark.served
def test_chainlit_run_serves_the_guarded_page_with_its_own_routes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("public", ".chainlit"):
        shutil.copytree(PROJECT / name, root / name)
    shutil.copy(PROJECT / "chainlit.md", root)
    port = free_port()
    command = [
        str(Path(sys.executable).with_name("chainlit")),
        "run",
        str(PROJECT / "chat_app" / "app.py"),
        "--headless",
        "--port",
        str(port),
    ]
    environment = clean_environment(
        tmp_path / "data", CHAINLIT_APP_ROOT=str(root), PYTHONPATH=str(PROJECT), ASCLEPIUS_LOAD_DEMO="false"
    )
    log = tmp_path / "log"
    with log.open("w") as output, Path(os.devnull).open() as nothing:
        files = {"stdin": nothing.fileno(), "stdout": output.fileno(), "stderr": output.fileno()}
        process = start(command, env=environment, cwd=tmp_path, **files)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(
            lambda: (owns_port(process.pid, port) and _answers(url)) or process.poll() is not None,
            what="chainlit run",
            seconds=150,
        )
        assert process.poll() is None, log.read_text()[-2000:]
        page = httpx.get(url, headers={"accept": "text/html"}, timeout=60)
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert "https://" not in page.text
        with httpx.Client(base_url=url, timeout=60) as client:
            assert client.get("/api/v1/status").status_code == 401
            assert client.post("/auth/header").status_code == 200
            status = client.get("/api/v1/status").json()
            assert status["offline"] is True, status
            assert client.delete("/mcp").status_code == 405, "Chainlit's own route would answer otherwise"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
