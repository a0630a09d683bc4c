"""The process that parses untrusted files: ``python -m tools.documents.worker`` with one job as JSON on its input.

A file may be built to exhaust memory or time, or to exploit the parser, so it is opened here under limits and never in
the app. The worker writes one JSON object per line: progress, then either ``{"ok": true}`` with its results in files,
or ``{"refused": "a sentence"}``.
"""

import errno
import gc
import resource
import sys
from pathlib import Path

import orjson
from pydantic import Field, TypeAdapter

from tools.errors import SourceRejected
from tools.types import Frozen

_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_GIBIBYTE = 1 << 30


class ExtractJob(Frozen):
    """Read ``path`` and write the version's files and ``facts.json`` into the folder ``out``."""

    path: Path
    suffix: str
    title: str
    """Title of a document that names none itself."""
    out: Path


class RenderJob(Frozen):
    """Draw page ``page`` (from 1) as a PNG into the file ``out``, with the quotes of ``highlight`` marked."""

    path: Path
    page: int
    scale: float
    highlight: tuple[str, ...] = ()
    out: Path


Job = ExtractJob | RenderJob
_JOB: TypeAdapter[Job] = TypeAdapter(Job)


class Limits(Frozen):
    """Limits of a worker, enforced by the system."""

    memory_bytes: int = Field(default=2 * _GIBIBYTE, gt=0)
    cpu_seconds: int = Field(default=180, gt=0)
    file_bytes: int = Field(default=_GIBIBYTE, gt=0)


def main() -> int:
    """Answer the one request on standard input."""
    request = orjson.loads(sys.stdin.buffer.read())
    _limit(Limits.model_validate(request["limits"]))
    # The process needs all its objects to its end: a collection would find nothing.
    gc.disable()
    try:
        facts = _run(_JOB.validate_python(request["job"]))
    except SourceRejected as error:
        _say({"refused": str(error), "code": error.code, "params": error.params})
    except OSError as error:
        if error.errno not in _DISK_IS_FULL:
            raise
        _say({"refused": f"What was read could not be stored ({error.strerror}). Check the disk.", "code": None})
    except MemoryError:
        _say({"refused": "The file needs more memory than a guideline may take.", "code": "file_too_slow"})
    else:
        _say({"ok": True, **facts})
    return 0


def _run(job: Job) -> dict[str, object]:
    """Do the job; return the facts for the app that are not in files."""
    if isinstance(job, RenderJob):
        from tools.documents.page_image import render_page

        image = render_page(job.path, job.page, highlight=job.highlight, scale=job.scale)
        job.out.write_bytes(image.png)
        return image.model_dump(exclude={"png"})
    from tools.documents.extract import extract
    from tools.documents.passages import passages
    from tools.documents.version_files import write_version

    extraction = extract(job.path, job.suffix, progress=lambda done, total: _say({"done": done, "total": total}))
    title = extraction.title or job.title
    write_version(job.out, title, extraction.pages, passages(extraction))
    facts = extraction.model_copy(update={"pages": (), "title": title})
    (job.out / "facts.json").write_bytes(facts.model_dump_json().encode())
    return {}


def _say(message: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


def _limit(limits: Limits) -> None:
    for kind, value in (
        *(((resource.RLIMIT_AS, limits.memory_bytes),) if sys.platform != "darwin" else ()),  # macOS refuses a limit.
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, hard))


if __name__ == "__main__":
    sys.exit(main())
