"""How memory is handled while a file is read: much is taken at once and nothing is given back before the end.

Runs in the worker process, which ends when the file is read.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Generator
from contextlib import contextmanager

_MIB = 1 << 20
# From glibc's malloc.h, with glibc's initial value and the value while a file is read.
_TRIM_THRESHOLD = (-1, _MIB // 8, 128 * _MIB)
_TOP_PAD = (-2, _MIB // 8, 16 * _MIB)
_MMAP_THRESHOLD = (-3, _MIB // 8, 32 * _MIB)


@contextmanager
def reading_memory() -> Generator[None, None, None]:
    """Suspend garbage collection and the return of memory to the system.

    Reading keeps all its objects to the end, so a collection finds nothing. For each page PDFium allocates and frees
    blocks of some hundred kilobytes; fetching them from the system each time takes a tenth of the whole reading.
    """
    collecting = gc.isenabled()
    gc.disable()
    _set_allocator(reading=True)
    try:
        yield
    finally:
        _set_allocator(reading=False)
        if collecting:
            gc.enable()


def _set_allocator(*, reading: bool) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # Another C library than glibc has other ways.
        return
    for option, usual, raised in (_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD):
        mallopt(option, raised if reading else usual)
