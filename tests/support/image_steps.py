"""The Dockerfile's steps in a Debian root file system, for machines that reach no container registry.

    python -m tests.support.image_steps FOLDER

builds both stages below FOLDER with the commands of ``deploy/Dockerfile``; Debian's own Python stands in for the base
image. Then it starts the image's command as the image's user on a read-only root file system, runs the health check and
asks a question. Needs root, ``debootstrap`` and the package registries. ``DEBIAN_MIRROR`` names another mirror.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import httpx
import psutil

from tests.support.services import free_port, wait_until

PROJECT = Path(__file__).resolve().parents[2]
DOCKERFILE = PROJECT / "deploy" / "Dockerfile"
QUESTION = "What are the contraindications for ACE inhibitors?"
_FROM_HERE = ((Path("/etc/ssl/certs"), "/etc/ssl/certs"), (Path("/etc/resolv.conf"), "/etc/resolv.conf"))
_CACHE, _CACHED = Path.home() / ".cache" / "uv", "/var/cache/uv"


@dataclass
class Stage:
    """A stage of the image: its root file system and the settings so far."""

    root: Path
    environment: dict[str, str]
    folder: str = "/"
    user: str = "0:0"
    commands: dict[str, list[str]] = field(default_factory=dict)
    """The words of ENTRYPOINT, CMD and HEALTHCHECK."""

    def path(self, path: str) -> Path:
        return self.root / Path(self.folder, path).relative_to("/")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each instruction of a Dockerfile with its arguments on one line."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def base(folder: Path) -> Path:
    """Return a Debian with Python and pip, and nothing else."""
    root = folder / "base"
    if not (root / "usr/local/bin/python").is_symlink():
        mirror = [os.environ["DEBIAN_MIRROR"]] if "DEBIAN_MIRROR" in os.environ else []
        parts = "--include=python3,python3-pip,ca-certificates"
        subprocess.run(["debootstrap", "--variant=minbase", parts, "bookworm", str(root), *mirror], check=True)
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3.11")
    return root


def build(folder: Path) -> Stage:
    """Run all steps; return the last stage."""
    stages: dict[str, Stage] = {}
    given: dict[str, str] = {}
    for name, rest in instructions(DOCKERFILE.read_text()):
        stage = next(reversed(stages.values()), None)
        if name == "FROM":
            label = rest.partition(" AS ")[2] or "final"
            root = folder / label
            shutil.rmtree(root, ignore_errors=True)
            subprocess.run(["cp", "-a", str(base(folder)), str(root)], check=True)
            stages[label] = Stage(root, {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
        elif stage is None:
            given |= _pairs(rest, given)
        else:
            _step(stage, name, rest, stages)
    return stages["final"]


def _step(stage: Stage, name: str, rest: str, stages: Mapping[str, Stage]) -> None:
    print(f"{name} {rest}"[:110], flush=True)
    if name in {"ARG", "ENV"}:
        stage.environment |= _pairs(rest, stage.environment)
    elif name == "WORKDIR":
        stage.folder = rest
        stage.path(".").mkdir(parents=True, exist_ok=True)
    elif name == "USER":
        stage.user = rest
    elif name == "COPY":
        _copy(stage, rest.split(), stages)
    elif name == "RUN":
        # The registries' certificates and the cache of packages are this machine's.
        own = {key: value for key, value in os.environ.items() if key.startswith("SSL_CERT")}
        tools = {"PIP_BREAK_SYSTEM_PACKAGES": "1", "UV_CACHE_DIR": _CACHED, **own}
        command = inside(stage, ["/bin/sh", "-ec", rest], tools, mounts=(*_FROM_HERE, (_CACHE, _CACHED)))
        subprocess.run(command, check=True)
    elif name in {"ENTRYPOINT", "CMD", "HEALTHCHECK"}:
        stage.commands[name] = json.loads(rest[rest.index("[") :])


def _copy(stage: Stage, words: list[str], stages: Mapping[str, Stage]) -> None:
    origin = PROJECT
    if words[0].startswith("--from="):
        origin = stages[words.pop(0).partition("=")[2]].root
    *sources, target = words
    for source in sources:
        found, place = origin / source.lstrip("/"), stage.path(target)
        if found.is_dir():
            leave = shutil.ignore_patterns("__pycache__") if origin == PROJECT else None
            shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True, ignore=leave)
        else:
            shutil.copy2(found, place)


def _pairs(text: str, known: Mapping[str, str]) -> dict[str, str]:
    words = (word.partition("=") for word in shlex.split(text))
    return {key: Template(value).safe_substitute(known) for key, _, value in words}


def inside(
    stage: Stage,
    words: Sequence[str],
    more: Mapping[str, str],
    *,
    mounts: Sequence[tuple[Path, str]] = (),
    read_only: bool = False,
) -> list[str]:
    """Return a command that runs ``words`` in the stage's root, as its user, with its environment and ``more``."""
    root = shlex.quote(str(stage.root))
    script = ["set -e", f"mount --bind {root} {root}"]
    for source, target in mounts:
        place = stage.root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True) if source.is_dir() else place.touch()
        script.append(f"mount --rbind {shlex.quote(str(source))} {shlex.quote(str(place))}")
    if read_only:
        script += [f"mount -o remount,ro,bind {root}", f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp"]
    script += [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
    environment = [f"{key}={value}" for key, value in (stage.environment | dict(more)).items()]
    entered = ["env", "-i", *environment, "/bin/sh", "-c", 'cd "$0" && exec "$@"', stage.folder, *words]
    script.append(f"exec chroot --userspec={stage.user} {root} {shlex.join(entered)}")
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child=TERM", "/bin/sh", "-c", "\n".join(script)]


def try_out(stage: Stage, data: Path) -> None:
    """Start the image with a read-only root, and ask ``make run``'s question."""
    data.mkdir(exist_ok=True)
    os.chown(data, *map(int, stage.user.split(":")))
    data.chmod(0o700)
    port = free_port()
    mounts = (*_FROM_HERE, (data, "/data"))
    # The demo user may not be reached from other machines, as with `make run`.
    own = {"ASCLEPIUS_HOST": "127.0.0.1", "ASCLEPIUS_PORT": str(port)}

    def there(words: Sequence[str]) -> list[str]:
        return inside(stage, words, own, mounts=mounts, read_only=True)

    def output(script: str) -> str:
        return subprocess.run(there(["/bin/sh", "-c", script]), capture_output=True, text=True, check=False).stdout

    print(
        "user:",
        output("id -u").strip(),
        "| writes to /, /opt, /data, /tmp:",
        output("for d in / /opt /data /tmp; do touch $d/x 2>/dev/null && echo yes || echo no; done").split(),
    )
    print("compilers:", output("command -v gcc cc c++ clang ld make").split() or "none")
    process = subprocess.Popen(there([*stage.commands["ENTRYPOINT"], *stage.commands["CMD"]]))
    try:
        wait_until(lambda: _ready(port), what="the image")
        healthy = subprocess.run(there(stage.commands["HEALTHCHECK"]), check=False).returncode == 0
        asked = {"message": QUESTION, "stream": False}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            client.post("/auth/header").raise_for_status()
            answer = client.post("/api/v1/consult", json=asked).raise_for_status().json()
        print(
            "health check:", healthy, "| answer:", answer["outcome"]["kind"], "| references:", len(answer["references"])
        )
        print(answer["answer"][:300])
    finally:
        # The first process of the container, as a container engine does.
        for first in psutil.Process(process.pid).children():
            first.terminate()
        process.wait(60)
        print("ended with", process.returncode)


def _ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    place.mkdir(parents=True, exist_ok=True)
    try_out(build(place), place / "data")
