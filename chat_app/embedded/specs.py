"""Specifications of the default services, one ``ServiceSpec`` each.

Redis, Milvus Lite and the offline model keep their data in separate folders of the data directory. No other user of
this machine can use them: Redis and Milvus Lite listen on Unix sockets in a folder that only this user can enter, and
the offline model, on loopback, requires a key.
"""

import contextlib
import os
import random
import secrets
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field

import chat_app
from chat_app.embedded.redis_binary import redis_binary
from chat_app.settings import Settings
from tools.types import Frozen

ServiceName = Literal["redis", "milvus", "offline"]

_SOCKET_PATH_BYTES: Final = 100
"""Maximum length of a Unix socket path: 108 bytes on Linux, 104 elsewhere, with the final zero."""
_PORTS: Final = range(20_000, 32_000)
"""Ports below those for outgoing connections, so that a restarted service finds its port free."""
_KEPT_VARIABLES: Final = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH")


class ServiceSpec(Frozen):
    """How to start, probe and stop one service."""

    name: ServiceName
    title: str
    """The service's purpose, for messages."""
    command: tuple[str, ...]
    url: str
    """``unix:///path`` or ``http://127.0.0.1:port/v1``."""
    folder: Path
    """Data and working directory."""
    exclusive: Path | None = None
    """A file that the service locks while its data is open."""
    alternative: str = ""
    """The setting that replaces this service, for messages."""
    environment: dict[str, str] = Field(default_factory=dict, repr=False)
    stop_signal: int = signal.SIGTERM
    ready_seconds: float = 90.0


class EmbeddedUrls(Frozen):
    """Addresses of the services that the owner started; None for those it did not need."""

    milvus: str | None = None
    redis: str | None = None
    offline: str | None = None
    offline_key: str | None = Field(default=None, repr=False)
    """Key that the offline model requires."""


def needed(settings: Settings) -> tuple[ServiceName, ...]:
    """Return the services that no setting replaces."""
    needs: dict[ServiceName, bool] = {
        "redis": settings.storage.redis_url is None,
        "milvus": settings.storage.milvus_uri is None,
        "offline": settings.uses_offline_model,
    }
    return tuple(name for name, is_needed in needs.items() if is_needed)


def choose_urls(settings: Settings) -> EmbeddedUrls:
    """Choose a free address for each needed service."""
    names = needed(settings)
    sockets = socket_folder(settings.storage.data_dir) if {"redis", "milvus"} & set(names) else Path()
    given = settings.offline.offline_key
    key = given.get_secret_value() if given else secrets.token_urlsafe(32)
    return EmbeddedUrls(
        milvus=f"unix://{sockets / 'milvus.sock'}" if "milvus" in names else None,
        redis=f"unix://{sockets / 'redis.sock'}" if "redis" in names else None,
        offline=f"http://127.0.0.1:{_free_port()}/v1" if "offline" in names else None,
        offline_key=key if "offline" in names else None,
    )


def specs(settings: Settings, urls: EmbeddedUrls) -> tuple[ServiceSpec, ...]:
    """Return the services to start at ``urls``. Raises ``EmbeddedServiceError`` when Redis is not installed."""
    data = settings.storage.data_dir
    made: list[ServiceSpec] = []
    if urls.redis is not None:
        made.append(_redis(data / "redis", urls.redis))
    if urls.milvus is not None:
        made.append(_milvus(data / "milvus", urls.milvus))
    if urls.offline is not None:
        made.append(_offline(data / "offline", urls.offline, urls.offline_key, settings.model.local_embeddings))
    return tuple(made)


def socket_path(url: str) -> Path:
    """Return the path of a ``unix://`` URL."""
    return Path(urlsplit(url).path)


def remove_sockets(urls: EmbeddedUrls, data_dir: Path) -> None:
    """Remove the Unix sockets of ``urls``, and the short folder that was created for them."""
    paths = [socket_path(url) for url in (urls.redis, urls.milvus) if url is not None and url.startswith("unix:")]
    with contextlib.suppress(OSError):
        for path in paths:
            path.unlink(missing_ok=True)
        if paths and not paths[0].is_relative_to(data_dir):
            paths[0].parent.rmdir()


def _redis(folder: Path, url: str) -> ServiceSpec:
    path = socket_path(url)
    return ServiceSpec(
        name="redis",
        title="The session store (Redis)",
        url=url,
        folder=folder,
        command=(
            redis_binary(),
            *("--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700", "--dir", str(folder)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--databases", "1", "--daemonize", "no"),
            # Each version of Redis and Valkey can read commands; another one's RDB format it may not.
            *("--aof-use-rdb-preamble", "no"),
        ),
        alternative="REDIS_URL to a Redis server",
        environment=_environment(),
    )


def _milvus(folder: Path, url: str) -> ServiceSpec:
    path = socket_path(url)
    return ServiceSpec(
        name="milvus",
        title="The drug and guideline index (Milvus Lite)",
        url=url,
        folder=folder,
        command=(sys.executable, "-m", "tools.milvus.lite_server", "--data-dir", str(folder), "--socket", str(path)),
        exclusive=folder / "LOCK",
        alternative="MILVUS_URI to a Milvus server",
        environment=_environment(),
        # It closes its database only on SIGINT.
        stop_signal=signal.SIGINT,
    )


def _offline(folder: Path, url: str, key: str | None, embeddings: Path | None) -> ServiceSpec:
    # The model is optional: questions are answered without it.
    served = embeddings is not None and (embeddings / "model.onnx").is_file()
    variables = _environment()
    variables |= {name: value for name, value in os.environ.items() if name.startswith("ASCLEPIUS_")}
    if key is not None:
        variables["ASCLEPIUS_OFFLINE_KEY"] = key
    return ServiceSpec(
        name="offline",
        title="The offline model",
        url=url,
        folder=folder,
        command=(
            *(sys.executable, "-m", "chat_app.offline", "--data-dir", str(folder)),
            *("--host", "127.0.0.1", "--port", str(urlsplit(url).port)),
            *(("--embeddings", str(embeddings)) if served else ()),
        ),
        alternative="OPENAI_API_KEY or OPENAI_BASE_URL to use a model server",
        environment=variables,
    )


def _environment() -> dict[str, str]:
    """Return the app's environment without keys and passwords of other services."""
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    sources = str(Path(chat_app.__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    variables["PYTHONPATH"] = os.pathsep.join([sources, inherited] if inherited else [sources])
    variables["PYTHONUNBUFFERED"] = "1"
    return variables


def socket_folder(data_dir: Path) -> Path:
    """Return the folder of the sockets: ``run``, or a short one when its path is too long or not plain in a URL."""
    folder = data_dir / "run"
    if _fits(folder):
        return folder
    short = Path(tempfile.mkdtemp(prefix="asclepius-"))
    if not _fits(short):
        short.rmdir()
        short = Path(tempfile.mkdtemp(prefix="asclepius-", dir="/tmp"))
    return short


def _fits(folder: Path) -> bool:
    # gRPC decodes percent signs in a socket's address, and pymilvus does not encode them.
    return quote(str(folder)) == str(folder) and len(os.fsencode(folder / "milvus.sock")) <= _SOCKET_PATH_BYTES


def _free_port() -> int:
    for port in random.sample(_PORTS, 50):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
