"""Files to import, whether they lie in a folder, in a zip or alone: named streams with a bound on their size."""

import io
import re
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Final

from tools.errors import SourceRejected

LARGEST: Final = 4 * 1024**3
"""Bytes that one unpacked file may have."""
_RATIO: Final = 200
"""Text of this kind shrinks about tenfold; past this ratio a zip is a bomb."""
_LONGEST_LINE: Final = 1_000_000
"""Bytes; a longer line is no row of any of these formats."""
_NO_ZIP_DATE: Final = 1980
"""The year that zip tools write for a member without a date."""
_DATE = re.compile(r"(?<!\d)(19|20)\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?(?!\d)")


@dataclass(frozen=True)
class Entry:
    """One file: ``name`` for people and reports, ``path`` where it is, ``member`` inside that zip."""

    name: str
    path: Path
    member: str | None = None

    @contextmanager
    def open(self) -> Generator[IO[bytes]]:
        """Open the unpacked bytes. Raises ``SourceRejected`` when they cannot be read."""
        try:
            if self.member is None:
                with self.path.open("rb") as stream:
                    yield stream
                return
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as packed:
                yield io.BufferedReader(packed)  # type: ignore[type-var]
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "encrypted" not in str(error) and "password" not in str(error):
                raise
            raise SourceRejected(f"{self.name} cannot be unpacked: the zip is damaged or encrypted.") from None
        except OSError as error:
            raise SourceRejected(f"{self.name} cannot be read: {error.strerror or 'input error'}.") from None

    @cached_property
    def first_line(self) -> str:
        """Return the first line as text, without its end and without a byte order mark."""
        return decode(self.head().split(b"\n", 1)[0]).removeprefix("\ufeff").rstrip("\r")

    def head(self, size: int = 65_536) -> bytes:
        """Return the first bytes, for recognising the format."""
        with self.open() as stream:
            return stream.read(size)

    @property
    def date(self) -> str:
        """Return the date in the file's own name, else that of the zip's member: ``2015-12`` or ``2020-07-06``.

        Empty when neither is known: the time at which a file was copied says nothing about the data.
        """
        named = _DATE.search(self.path.name) or _DATE.search(self.path.parent.name)
        if named:
            return named[0]
        if self.member is None:
            return ""
        with zipfile.ZipFile(self.path) as archive:
            year, month, day = archive.getinfo(self.member).date_time[:3]
        return f"{year}-{month:02}-{day:02}" if year > _NO_ZIP_DATE else ""


def entries(path: Path) -> list[Entry]:
    """List the files of a path: itself, a folder's or a zip's. Raises ``SourceRejected`` when there is none."""
    if path.is_dir():
        found = [
            entry
            for file in sorted(path.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
            for entry in _file(file, file.relative_to(path).as_posix())
        ]
    elif path.is_file():
        found = _file(path, path.name)
    else:
        raise SourceRejected(f"{path} is not there: give a drug data file, a zip or a folder.")
    if not found:
        raise SourceRejected(f"{path} holds no file to import.")
    return found


def _file(path: Path, name: str) -> list[Entry]:
    if path.suffix.lower() != ".zip" and not zipfile.is_zipfile(path):
        return [Entry(name, path)]
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError):
        raise SourceRejected(f"{name} is no readable zip: it is damaged or was not downloaded to its end.") from None
    for info in infos:
        if info.file_size > LARGEST or info.file_size > _RATIO * max(info.compress_size, 1_000):
            raise SourceRejected(f"{name} unpacks to more than any drug data file has; nothing was imported.")
    return [Entry(f"{name}:{info.filename}", path, info.filename) for info in infos]


def text_lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the 1-based number and text of each line that is not blank.

    FDA and NLM publish UTF-8 or Windows-1252; bytes that are neither become U+FFFD, so that no row is lost to one
    character. A line over 1 MB is cut there; the rest of it follows as a line that no format accepts.
    """
    number = 0
    while raw := stream.readline(_LONGEST_LINE):
        number += 1
        text = decode(raw).rstrip("\r\n")
        if text.strip():
            yield number, text.removeprefix("\ufeff") if number == 1 else text


def decode(raw: bytes) -> str:
    """Decode UTF-8, else Windows-1252 with U+FFFD for undecodable bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")
