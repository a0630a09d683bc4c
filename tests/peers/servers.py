"""Other projects' model servers as child processes: aimock (Node.js) and the LiteLLM proxy (packages of its own)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.engine import KEY
from tests.support.services import free_port, wait_until

PROJECT = Path(__file__).resolve().parents[2]
Json = dict[str, Any]

BRIDGED = "bridged"
"""The proxy's model that it asks through chat completions, as it does for providers without the Responses API."""
PASSED_ON = "passed-on"
"""The proxy's model whose requests it hands on as Responses requests."""


@dataclass(frozen=True)
class AimockServer:
    base_url: str

    def asked(self) -> list[Json]:
        """The requests it has answered, oldest first, each as the chat request that aimock makes of it."""
        journal = httpx.get(self.base_url.replace("/v1", "/__aimock/journal"), timeout=10).raise_for_status().json()
        return [entry["body"] for entry in journal if entry["method"] == "POST"]

    def asked_about(self, words: str) -> list[Json]:
        """Those whose last question has ``words`` in it."""
        return [body for body in self.asked() if words in "".join(questions(body)[-1:])]


@dataclass(frozen=True)
class LiteLLMProxy:
    base_url: str


def questions(body: Json) -> list[str]:
    """What the user has said in a chat request."""
    return [_text(message) for message in body["messages"] if message["role"] == "user"]


def outputs(body: Json) -> list[str]:
    """The tool outputs of a chat request, in order."""
    return [_text(message) for message in body["messages"] if message["role"] == "tool"]


def said(body: Json) -> str:
    """All that the assistant has said in a chat request."""
    return "\n".join(_text(message) for message in body["messages"] if message["role"] == "assistant")


def _text(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@contextmanager
def aimock(folder: Path, answers: Sequence[Json], *options: str) -> Iterator[AimockServer]:
    """aimock with ``answers``; a question that none of them fits is refused."""
    command = PROJECT / ".venv-peers" / "node" / "node_modules" / ".bin" / "llmock"
    if not command.exists() or shutil.which("node") is None:
        pytest.skip("aimock is not installed (`make test-peers` does so where npm and Node.js are)")
    (folder / "answers.json").write_text(json.dumps({"fixtures": answers}), encoding="utf-8")
    port = free_port()
    arguments = ["-p", str(port), "-f", str(folder / "answers.json"), "--validate-on-load", *options]
    with _process([str(command), *arguments], folder / "aimock.log", f"http://127.0.0.1:{port}/health"):
        yield AimockServer(f"http://127.0.0.1:{port}/v1")


@contextmanager
def litellm_proxy(folder: Path, upstream: str) -> Iterator[LiteLLMProxy]:
    """The LiteLLM proxy in front of ``upstream``, a base URL."""
    port = free_port()
    target = {"model": "openai/upstream", "api_base": upstream, "api_key": "none"}
    config = {
        "model_list": [
            {"model_name": BRIDGED, "litellm_params": {**target, "use_chat_completions_api": True}},
            {"model_name": PASSED_ON, "litellm_params": target},
        ],
        # What fails is to reach the client under test at once.
        "litellm_settings": {"num_retries": 0},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {"master_key": KEY, "dangerously_permit_weak_or_unset_master_key": True},
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    command = [
        str(litellm_python().with_name("litellm")),
        "--config",
        str(folder / "config.yaml"),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--telemetry",
        "False",
    ]
    # Without it, it asks the internet for prices before it starts.
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with _process(command, folder / "litellm.log", f"http://127.0.0.1:{port}/health/liveliness", offline):
        yield LiteLLMProxy(f"http://127.0.0.1:{port}/v1")


def litellm_python() -> Path:
    python = PROJECT / ".venv-litellm" / "bin" / "python"
    if not python.exists():
        pytest.skip("LiteLLM is not installed (`make test-peers` does so)")
    return python


@contextmanager
def _process(
    command: list[str], log: Path, health: str, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Runs ``command`` until the block ends, once ``health`` answers."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=log.parent, stdout=output, stderr=output, env={**os.environ, **(environment or {})}
        )

    def ready() -> bool:
        if process.poll() is not None:
            raise AssertionError(log.read_text(encoding="utf-8")[-2_000:])
        try:
            return httpx.get(health, timeout=2).is_success
        except httpx.HTTPError:
            return False

    try:
        wait_until(ready, what=Path(command[0]).name, seconds=240)
        yield
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
