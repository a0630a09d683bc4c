"""Run the offline model server: ``python -m chat_app.offline``.

With ``--port 0`` the server chooses a free port and writes it to ``offline.port`` in the data directory.
"""

import argparse
import logging
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

import uvicorn
from pydantic import ValidationError

from chat_app.data_protection import replace_private
from chat_app.errors import ConfigurationError
from chat_app.offline.api.server import create_app
from chat_app.offline.config import OfflineConfig
from chat_app.offline.state.state_database import Database
from chat_app.settings import OfflineSettings, plain
from chat_app.tracing.log_guard import guard_logs

logger = logging.getLogger("chat_app.offline")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the process is stopped; return its exit code."""
    try:
        config = _config(arguments)
        app = create_app(config)
        _prepare(config, app.state.database)
        family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        listener = socket.create_server((config.host, config.port), family=family, backlog=1024)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except ValidationError as error:
        problems = (f"--{str(one['loc'][0]).replace('_', '-')} {plain(one['msg'])}" for one in error.errors())
        sys.stderr.write(f"{'; '.join(problems)}.\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"The offline model server cannot listen: {error.strerror}. Choose another --port.\n")
        return 1
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    guard_logs()
    port = int(listener.getsockname()[1])
    replace_private(config.data_dir / "offline.port", f"{port}\n")
    logger.info("Serving the Responses API on http://%s:%s/v1", config.host, port)
    uvicorn.Server(
        # Clients drop idle connections after some seconds. The server waits longer, so that no request meets a
        # connection that is being closed.
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=3,
            timeout_keep_alive=120,
            lifespan="on",
        )
    ).run(sockets=[listener])
    return 0


def _prepare(config: OfflineConfig, database: Database) -> None:
    """Create the data directory and its database. Raises ``ConfigurationError`` when they cannot be used."""
    try:
        config.data_dir.mkdir(parents=True, exist_ok=True)
        # SQLite would only say that it cannot open its file.
        with TemporaryFile(dir=config.data_dir):
            database.open()
    except OSError as error:
        raise ConfigurationError(
            f"The data directory {config.data_dir} cannot be used ({error.strerror}). Choose another --data-dir."
        ) from None


def _config(arguments: Sequence[str] | None) -> OfflineConfig:
    parser = argparse.ArgumentParser(prog="python -m chat_app.offline", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, default=Path(".asclepius/offline"))
    parser.add_argument("--delta-ms", type=float, default=8.0, help="pause between the words of a streamed answer")
    parser.add_argument("--embeddings", type=Path, help="directory of an embedding model, for /v1/embeddings")
    given = parser.parse_args(arguments)
    given.data_dir = given.data_dir.absolute()
    return OfflineConfig(**vars(given), key=OfflineSettings().offline_key)


if __name__ == "__main__":
    sys.exit(main())
