"""Serve Milvus Lite to concurrent callers: ``python -m tools.milvus.lite_server``.

Milvus Lite 3.2.2 opens a collection at its first use and takes no lock. Two concurrent first calls open it twice: one
of the two loses its writes and is never reported as loaded. So this server opens, creates, lists or drops one
collection at a time.

It also writes a collection's indexes in the background, in place: a load at that moment, or after a crash at that
moment, fails at half a file. So each file gets its name when it is whole.
"""

import argparse
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from milvus_lite.index.brute_force import BruteForceIndex
from milvus_lite.index.faiss_hnsw import FaissHnswIndex
from milvus_lite.index.scalar.inverted import ScalarInvertedIndex
from pymilvus.grpc_gen import milvus_pb2_grpc

_MESSAGE_BYTES: Final = 256 << 20
"""As Milvus allows them."""
_CALLS_AT_ONCE: Final = 10
_GRACE_SECONDS: Final = 5


class SharedMilvusLite(MilvusLite):  # type: ignore[misc]  # milvus_lite has no types
    """A database of which each collection is open once."""

    def __init__(self, data_dir: str) -> None:
        self.opening = threading.RLock()
        super().__init__(data_dir)

    def get_collection(self, *given: Any, **named: Any) -> Any:
        with self.opening:
            return super().get_collection(*given, **named)

    def create_collection(self, *given: Any, **named: Any) -> Any:
        with self.opening:
            return super().create_collection(*given, **named)

    def drop_collection(self, *given: Any, **named: Any) -> None:
        with self.opening:
            super().drop_collection(*given, **named)


class _Servicer(MilvusServicer):  # type: ignore[misc]  # milvus_lite has no types
    """Lists collections while none goes: it opens each that it lists, and fails at one that is gone by then."""

    def __init__(self, database: SharedMilvusLite) -> None:
        super().__init__(database)
        self._opening = database.opening

    def ShowCollections(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name is the protocol's
        with self._opening:
            return super().ShowCollections(request, context)


def write_whole(index: Any) -> None:
    """Make this class of Milvus Lite's indexes write a file under another name and rename it at the end."""
    write = index.save

    def save(self: Any, path: str) -> None:
        # Milvus Lite deletes what a crash leaves under such a name: the index of a segment that does not exist.
        unfinished = Path(path).with_name(f"{threading.get_ident()}.{Path(path).name}")
        write(self, str(unfinished))
        unfinished.replace(path)

    index.save = save


def serve(data_dir: Path, socket: Path) -> None:
    """Serve on a Unix socket until Ctrl-C comes, which closes the database."""
    for index in (BruteForceIndex, FaissHnswIndex, ScalarInvertedIndex):
        write_whole(index)
    database = SharedMilvusLite(str(data_dir))
    options = [(f"grpc.max_{way}_message_length", _MESSAGE_BYTES) for way in ("receive", "send")]
    # pymilvus asks every ten seconds whether the server is there; gRPC takes that for an attack, and hangs up.
    options.append(("grpc.http2.max_ping_strikes", 0))
    server = grpc.server(ThreadPoolExecutor(_CALLS_AT_ONCE), options=options)
    try:
        milvus_pb2_grpc.add_MilvusServiceServicer_to_server(_Servicer(database), server)
        server.add_insecure_port(f"unix:{socket}")
        server.start()
        server.wait_for_termination()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop(_GRACE_SECONDS).wait()
        database.close()


def main() -> None:
    """Serve a folder on a Unix socket until the process is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--socket", type=Path, required=True, help="in a folder that only its user can enter")
    given = parser.parse_args()
    serve(given.data_dir, given.socket)


if __name__ == "__main__":
    main()
