"""Every route and socket event of the app, as it is served, in JSON.

``python -m tests.support.app_routes`` prints them: creating an app changes the process that does it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tests.support.served import clean_environment

PROJECT = Path(__file__).resolve().parents[2]
Operation = tuple[str, str]
"""A method and the template of a path. The method of a mounted app is ``*``."""


class AppRoutes(BaseModel):
    """What a client can address."""

    operations: frozenset[Operation]
    events: frozenset[str]


def app_routes(**environment: str) -> AppRoutes:
    """Return the routes and events of an app with these settings."""
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [sys.executable, "-m", "tests.support.app_routes"],
            env=clean_environment(Path(folder), CHAINLIT_APP_ROOT=folder, **environment),
            cwd=PROJECT,
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    return AppRoutes.model_validate_json(printed)


def _operations(routes: Iterable[Any], prefix: str = "") -> Iterator[Operation]:
    for route in routes:
        if (included := getattr(route, "include_context", None)) is not None:
            yield from _operations(included.included_router.routes, prefix + included.prefix)
        elif inner := getattr(route, "routes", None):
            yield from _operations(inner, prefix + route.path)
        else:
            for method in getattr(route, "methods", None) or ["*"]:
                yield method, prefix + route.path


def main() -> None:
    from chat_app.interface.http_api import create_app
    from chat_app.settings import Settings

    app = create_app(Settings())
    from chainlit.server import sio

    print(json.dumps({"operations": sorted(set(_operations(app.routes))), "events": sorted(sio.handlers["/"])}))


if __name__ == "__main__":
    main()
