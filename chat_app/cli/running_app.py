"""The one ``asclepius serve`` of a data directory, and its clients.

The server holds a lock on ``run/serve.lock``, which contains its process id. It writes its address to
``run/page.json``, which is valid only while the server responds.
"""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from chat_app.data_protection import file_lock, protect
from chat_app.errors import AsclepiusError, ConfigurationError, InputRejected, ProviderUnavailable
from chat_app.events import AgentEvent, ModelEvent, agent_event_adapter
from chat_app.generation.sse import SSEDecoder
from chat_app.settings import Settings, is_loopback

_FILE = Path("run") / "page.json"
_LOCK = Path("run") / "serve.lock"
_ALIVE_SECONDS = 1.0


@contextmanager
def sole_server(data_dir: Path) -> Generator[None]:
    """Hold ``data_dir`` against other servers during the block. Raises ``ConfigurationError`` when one holds it."""
    protect(data_dir)
    lock = data_dir / _LOCK
    with ExitStack() as block:
        try:
            is_held = block.enter_context(file_lock(lock, wait=False))
            if is_held:
                lock.write_text(str(os.getpid()), encoding="utf-8")
            holder = lock.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"{lock} cannot be used ({error.strerror}): make it writable, or set ASCLEPIUS_DATA_DIR to a directory "
                "whose file system has locks."
            ) from None
        if not is_held:
            raise ConfigurationError(
                f"Another `asclepius serve` (process {holder}) uses {data_dir}: stop it, or set ASCLEPIUS_DATA_DIR to "
                "another directory."
            )
        yield


def page_of(settings: Settings, listener: socket.socket) -> str:
    """Return the page's address, as a reader opens it."""
    return _origin(settings, settings.server.host, listener) + settings.server.root_path


def publish_address(settings: Settings, listener: socket.socket) -> None:
    """Publish the page's address to other commands of this user."""
    host = settings.server.host
    reachable = "127.0.0.1" if host in {"0.0.0.0", "::", "localhost"} else host  # noqa: S104
    page = json.dumps({"url": _origin(settings, reachable, listener)})
    (settings.storage.data_dir / _FILE).write_text(page, encoding="utf-8")


def retract_address(settings: Settings) -> None:
    """Withdraw the page's address."""
    # A data directory that cannot be used has no address either.
    with suppress(OSError):
        (settings.storage.data_dir / _FILE).unlink()


def _origin(settings: Settings, host: str, listener: socket.socket) -> str:
    return f"{settings.server.scheme}://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def running_app(settings: Settings) -> str | None:
    """Return the address of the running app if it accepts the shell as the demo user, else None."""
    if settings.server.auth != "demo":
        return None
    try:
        url = str(json.loads((settings.storage.data_dir / _FILE).read_text(encoding="utf-8"))["url"])
        host = httpx.URL(url).host
        alive = is_loopback(host) and httpx.get(f"{url}/healthz", timeout=_ALIVE_SECONDS).is_success
    except (OSError, ValueError, KeyError, httpx.HTTPError):
        return None
    return url if alive else None


async def ask_running_app(url: str, body: dict[str, Any]) -> AsyncGenerator[tuple[str, AgentEvent], None]:
    """Yield the events of a question as the API takes it, each with its model where several are compared.

    Raises ``InputRejected`` when the server refuses the question, ``ProviderUnavailable`` when it cannot answer.
    """
    async with httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(None, connect=2.0)) as client:
        try:
            (await client.post("/auth/header")).raise_for_status()
            async with client.stream("POST", "/api/v1/consult", json=body) as response:
                if response.is_error:
                    raise _problem(await response.aread(), response.status_code)
                stop = f"/api/v1/turns/{response.headers.get('x-turn-id', '')}"
                try:
                    decoder = SSEDecoder()
                    async for chunk in response.aiter_bytes():
                        for data in decoder.feed(chunk):
                            yield _event(data, compared="models" in body)
                except (GeneratorExit, asyncio.CancelledError):
                    # Ctrl-C at the shell means Stop; otherwise the turn would continue without its reader.
                    await client.delete(stop)
                    raise
        except httpx.HTTPError as error:
            raise ProviderUnavailable(
                f"The running app at {url} disconnected ({type(error).__name__}). Ask again."
            ) from None


def _event(data: bytes, *, compared: bool) -> tuple[str, AgentEvent]:
    if not compared:
        return "", agent_event_adapter.validate_json(data)
    named = ModelEvent.model_validate_json(data)
    return named.model, named.event


def _problem(body: bytes, status: int) -> AsclepiusError:
    try:
        detail = str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"The running app refused the question (HTTP {status})."
    return InputRejected(detail)
