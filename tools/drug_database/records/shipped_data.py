"""Loads the files of ``tools/drug_database/data``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel

from tools.types import Frozen

Data = TypeVar("Data", bound=BaseModel)
DATA: Final = Path(__file__).parent.parent / "data"


class Shipped(Frozen):
    """The content of a file; ``source`` tells where it comes from."""

    source: str


def shipped(name: str, model: type[Data]) -> Data:
    """Return the content of a file as ``model``."""
    return model.model_validate_json((DATA / name).read_bytes())


def shipped_json(name: str) -> Any:
    """Return the content of a file that is only a table of words."""
    return orjson.loads((DATA / name).read_bytes())


@cache
def shipped_words(name: str) -> frozenset[str]:
    """Return a word list of ``words.json``."""
    return frozenset(shipped_json("words.json")[name])
