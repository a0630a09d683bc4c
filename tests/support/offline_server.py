"""The offline model server as a child process, and OpenAI's description of the API to check it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.support.forked import PROJECT, Process, start
from tests.support.services import accepts, wait_until

Json = dict[str, Any]


@contextmanager
def offline_server(folder: Path, *options: str, key: str | None = None) -> Iterator[str]:
    """Run ``python -m chat_app.offline`` on a free port; yield its base URL."""
    process = start_offline_server(folder, *options, key=key)
    try:
        yield f"http://127.0.0.1:{port_of(process, folder)}/v1"
    finally:
        process.terminate()
        process.wait(60)


def start_offline_server(folder: Path, *options: str, key: str | None = None) -> Process:
    (folder / "offline.port").unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "ASCLEPIUS_OFFLINE_KEY"}
    if key is not None:
        environment["ASCLEPIUS_OFFLINE_KEY"] = key
    command = ["-m", "chat_app.offline", "--port", "0", "--data-dir", str(folder), *options]
    with (folder / "offline.log").open("ab") as log, Path(os.devnull).open() as nothing:
        files = {"stdin": nothing.fileno(), "stdout": log.fileno(), "stderr": log.fileno()}
        return start(command, env=environment, cwd=PROJECT, **files)


def port_of(process: Process, folder: Path) -> int:
    """Wait until the server of ``folder`` accepts connections; return its port."""
    note = folder / "offline.port"

    def ready() -> bool:
        if process.poll() is not None:
            raise AssertionError((folder / "offline.log").read_text())
        return note.exists() and accepts(("127.0.0.1", int(note.read_text())))

    wait_until(ready, what="the offline server")
    return int(note.read_text())


class ApiDescription:
    """Schemas of OpenAI's OpenAPI file as validators."""

    def __init__(self, path: Path) -> None:
        self._document: Json = json.loads(path.read_text(encoding="utf-8"))
        resource = Resource(contents=_without_discriminators(self._document), specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource("urn:openai", resource)

    @cache  # noqa: B019 - one description lives as long as the test run
    def _validator(self, name: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"urn:openai#/components/schemas/{name}"}, registry=self._registry)

    def problems(self, name: str, body: Any) -> list[str]:
        """Return how ``body`` violates the schema ``name``, with locations."""
        return [
            f"{name}{error.json_path[1:]}: {error.message[:300]}" for error in self._validator(name).iter_errors(body)
        ]

    def event_problems(self, event: Json) -> list[str]:
        """Return how a streamed event violates the schema of its type."""
        return self.problems(self.event_schemas[event["type"]], event)

    @property
    def event_schemas(self) -> dict[str, str]:
        """Return the schema name of each event type of a response stream."""
        schemas = self._document["components"]["schemas"]
        names = [ref["$ref"].rsplit("/", 1)[1] for ref in schemas["ResponseStreamEvent"]["anyOf"]]
        return {schemas[name]["properties"]["type"]["enum"][0]: name for name in names}


def _without_discriminators(node: Any) -> Any:
    """Replace OpenAPI discriminators, which JSON Schema lacks: overlapping oneOf becomes anyOf."""
    if isinstance(node, list):
        return [_without_discriminators(part) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        "anyOf" if key == "oneOf" else key: _without_discriminators(value)
        for key, value in node.items()
        if key not in {"discriminator", "$recursiveAnchor", "$recursiveRef"}
    }
