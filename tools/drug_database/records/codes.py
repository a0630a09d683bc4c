"""Look-up by code: FDA's National Drug Code and RxNorm's concept id (RxCUI).

An NDC has a labeler, a product and a package part, written with ten digits (4-4-2, 5-3-2 or 5-4-1) or padded to eleven
(5-4-2), with or without hyphens. A medicine is found by the labeler's and product's nine padded digits. Ten digits
without hyphens can be read in three ways: all of them are searched. Source: FDA, "National Drug Code Database
Background Information"; CMS, the 11-digit format of billing.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tools.drug_database.records.drug_record import DrugRecord, Product

_RXCUIS_A_BUCKET: Final = 5_000
_HYPHENATED: Final = re.compile(r"(\d{4,5})-(\d{3,4})(?:-(\d{1,2}))?", re.ASCII)
_NDC: Final = re.compile(r"(?<![\d-])\d{4,5}-\d{3,4}-\d{1,2}(?![\d-])", re.ASCII)
_NDC_NAMED: Final = re.compile(
    r"\bndc\W{0,3}(\d{4,5}-\d{3,4}(?:-\d{1,2})?|\d{10,11})(?![\d-])", re.IGNORECASE | re.ASCII
)
_NDC_ALONE: Final = re.compile(r"\s*(\d{4,5}-\d{3,4}|\d{10,11})\s*", re.ASCII)
_RXCUI: Final = re.compile(r"(?:\brxcui\W{0,3}(\d{1,8})(?!\d)|^\s*(\d{2,8})\s*$)", re.IGNORECASE | re.ASCII)


class AskedCode(NamedTuple):
    """A typed code: its title for people and its possible stored forms."""

    title: str
    stored: tuple[str, ...]


def asked_code(typed: str) -> AskedCode | None:
    """Return the code in a typed text, or None. A number of less than nine digits alone is an RxCUI."""
    start = typed[:300]
    found = _NDC_NAMED.search(start) or _NDC.search(start) or _NDC_ALONE.fullmatch(start)
    if found:
        code = found[found.lastindex or 0]
        return AskedCode(f"NDC {code}", tuple(f"ndc:{product}" for product in product_codes(code)))
    rxcui = _RXCUI.search(start)
    if rxcui:
        number = str(int(rxcui[1] or rxcui[2]))
        return AskedCode(f"RxCUI {number}", (f"rxcui:{number}",))
    return None


def product_codes(ndc: str) -> tuple[str, ...]:
    """Return the nine padded digits of labeler and product that an NDC can mean; none for another text."""
    parts = _HYPHENATED.fullmatch(ndc)
    if parts:
        return (parts[1].zfill(5) + parts[2].zfill(4),)
    if not (ndc.isascii() and ndc.isdigit()):
        return ()
    if len(ndc) == 11:
        return (ndc[:9],)
    if len(ndc) == 10:
        return tuple(dict.fromkeys((f"0{ndc[:8]}", f"{ndc[:5]}0{ndc[5:8]}", ndc[:9])))
    return ()


def codes_of(record: DrugRecord) -> Iterator[str]:
    """Yield every code that the record is found by, in its stored form."""
    ndcs = (code for product in record.products for code in (*product.ndcs, *_other_packages(product)))
    yield from dict.fromkeys(f"ndc:{code}" for ndc in ndcs for code in product_codes(ndc)[:1])
    rxcuis = (
        *(fact.value for fact in record.rxcuis),
        *(code for product in record.products for code in product.rxcuis),
    )
    yield from dict.fromkeys(f"rxcui:{int(code)}" for code in rxcuis if code.isascii() and code.isdigit())


def _other_packages(product: Product) -> Iterator[str]:
    """Yield the package codes that do not merely extend a product code of the product."""
    own = frozenset(product.ndcs)
    return (package for package in product.packages if package.rpartition("-")[0] not in own)


def bucket(code: str) -> str:
    """Return the name of the bucket that stores a code with its neighbours."""
    kind, _, number = code.partition(":")
    return f"ndc:{number[:5]}" if kind == "ndc" else f"rxcui:{int(number) // _RXCUIS_A_BUCKET}"


def product_first(record: DrugRecord, codes: Iterable[str]) -> DrugRecord:
    """Put the products that bear one of the codes before the others."""
    wanted = {code.partition(":")[2] for code in codes}

    def bears(ndcs: Iterable[str], rxcuis: Iterable[str]) -> bool:
        return any(wanted.intersection(product_codes(ndc)[:1]) for ndc in ndcs) or not wanted.isdisjoint(rxcuis)

    products = sorted(record.products, key=lambda one: not bears((*one.ndcs, *one.packages), one.rxcuis))
    return record.model_copy(update={"products": tuple(products)})
