"""Names of medicines beyond the drug database: brands and substances that FDA's and NLM's files hold.

They tell a medicine that is not loaded from a misspelling of another one. ``data/medicine_names.json`` holds them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from tools.drug_database.names.name_keys import shipped
from tools.types import Frozen

FILE: Final = "medicine_names.json"


class MedicineNames(Frozen):
    """The content of the file; a medicine with several ingredients is named by them, joined by ``and``."""

    source: str
    brands: dict[str, tuple[str, ...]]
    """The brands of each medicine."""
    substances: tuple[str, ...]
    """Substances, folded, with those of the vocabulary of labels."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each brand with its medicine."""
        return ((brand, medicine) for medicine, brands in self.brands.items() for brand in brands)


@cache
def medicine_names() -> MedicineNames:
    """Return the shipped names."""
    return shipped(FILE, MedicineNames)
