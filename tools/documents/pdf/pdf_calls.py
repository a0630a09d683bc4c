"""Functions of PDFium that are asked thousands of times a page, as Python calls them at the least cost.

PDFium answers in far less than a microsecond: what costs is the way to it. So they take plain addresses, for pointer
objects cost more than the answer, and they keep the interpreter's lock, for giving it up and taking it again does, too.
"""

import ctypes
from typing import Any

ADDRESS = ctypes.c_void_p
FLOAT = ctypes.sizeof(ctypes.c_float)
DOUBLE = ctypes.sizeof(ctypes.c_double)


def typed(function: Any, result: Any, *given: Any) -> Any:
    """Return ``function`` of PDFium, taking ``given`` and giving ``result`` (both ctypes' types)."""
    return ctypes.PYFUNCTYPE(result, *given)(address_of(function))


def address_of(handle: Any) -> int:
    """Return the plain address behind a handle of pypdfium2."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
