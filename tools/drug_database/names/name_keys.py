"""Base moieties of substances, and the key of an ingredient set.

``base_moiety`` removes the salt, ester and hydrate from a substance's name, so that products of one active moiety share
a record, as in RxNorm's ``form_of`` relation. ``record_key`` identifies an ingredient set: it does not depend on the
order of the ingredients and has only ``a-z``, ``0-9``, ``-`` and ``+``.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.language.folding import fold_name

_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_CLASS_KIND = re.compile(r"\s*\[(EPC|MoA|PE|CS|Chemical/Ingredient|EXT|Ext)\]$", re.IGNORECASE)
_LONGEST_KEY = 120
# FDA gives biologics a suffix of four letters without meaning (trastuzumab-dkst). The excluded endings have a meaning.
_BIOLOGIC_SUFFIX = re.compile(r"(?<=[a-z0-9])-(?!acid|alfa|beta|zinc|iron|free|mono|poly|bran|acet)[a-z]{4}$")


class SaltWords(Shipped):
    """``data/salts.json``: which trailing words name a salt, ester or hydrate, and which names keep them."""

    endings: frozenset[str]
    """Words that are removed from the end of a substance's name, one after the other."""
    hydrates: frozenset[str]
    """Endings that name only crystal water. They are removed from every substance."""
    phrases: tuple[str, ...]
    """Endings of several words."""
    prefixes: frozenset[str]
    """First words that only say that there is no crystal water."""
    elements: frozenset[str]
    """First words after which no ending is removed: calcium carbonate is not calcium."""
    kept: frozenset[str]
    """Names that stay whole although they end in such a word."""
    renamed: dict[str, str]
    """The base of names for which removing words does not find it; the folded words are in alphabetical order."""

    def base(self, folded: str) -> str | None:
        """Return the base of a renamed substance; None for others."""
        return self.renamed.get(" ".join(sorted(folded.split())))


@cache
def salt_words() -> SaltWords:
    """Return the shipped words of salts."""
    return shipped("salts.json", SaltWords)


@lru_cache(maxsize=65_536)
def base_moiety(substance: str) -> str:
    """Fold a name without its salt, ester and hydrate: ``Metformin Hydrochloride`` gives ``metformin``.

    Salts whose ion is the medicine stay whole (``potassium chloride``). The first word is never removed.
    """
    words = salt_words()
    folded = fold_name(_BIOLOGIC_SUFFIX.sub("", substance.strip().lower()))
    if known := words.base(folded):
        return known
    first, _, rest = folded.partition(" ")
    if rest and first in words.prefixes:
        return base_moiety(rest)
    phrase = next((one for one in words.phrases if folded.endswith(f" {one}")), "")
    parts = folded.removesuffix(phrase).split()
    while len(parts) > 1 and _is_ending(parts, words):
        parts = parts[:-1]
        if known := words.base(" ".join(parts)):
            return known
    return " ".join(parts)


def _is_ending(parts: Sequence[str], words: SaltWords) -> bool:
    if " ".join(parts) in words.kept:
        return False
    is_salt_of_base = parts[0] not in words.elements and not (len(parts) == 2 and parts[0] in words.endings)
    return parts[-1] in words.hydrates or (parts[-1] in words.endings and is_salt_of_base)


def acid_or_ion(name: str) -> str:
    """Return the ion of an acid or the acid of an ion (``risedronate``, ``risedronic acid``); otherwise empty.

    INNs name the acid, USANs often its ion.
    """
    folded = fold_name(name)
    if folded.endswith("ic acid"):
        return f"{folded.removesuffix('ic acid')}ate"
    return f"{folded.removesuffix('ate')}ic acid" if folded.endswith("ate") and " " not in folded else ""


def base_moieties(substances: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct base moieties, in order."""
    return tuple(dict.fromkeys(base for base in map(base_moiety, substances) if base))


def record_key(ingredients: Sequence[str]) -> str:
    """Return the key of an ingredient set, at most 120 characters.

    Words inside an ingredient are sorted, so that ``estrogens, conjugated`` and ``conjugated estrogens`` have one key.
    Raises ``ValueError`` if no ingredient has a letter or digit.
    """
    slugs = sorted({slug for slug in map(_slug, ingredients) if slug})
    if not slugs:
        raise ValueError("an ingredient set needs at least one name")
    key = "+".join(slugs)
    if len(key) <= _LONGEST_KEY:
        return key
    digest = hashlib.blake2s(key.encode(), digest_size=8).hexdigest()
    return f"{key[: _LONGEST_KEY - 18].rstrip('+-')}-{digest}"


def _slug(name: str) -> str:
    folded = " ".join(sorted(fold_name(name).split()))
    slug = _NOT_SLUG.sub("-", folded).strip("-")
    if folded and not slug:
        return hashlib.blake2s(folded.encode(), digest_size=8).hexdigest()
    return slug


def class_name(drug_class: str) -> str:
    """Remove FDA's mark of the kind of class: ``Biguanide [EPC]`` becomes ``Biguanide``."""
    return _CLASS_KIND.sub("", drug_class).strip()


def class_kind(drug_class: str) -> str:
    """Return FDA's mark of the kind of class in lower case, such as ``epc``; empty if there is none."""
    mark = _CLASS_KIND.search(drug_class)
    return mark[1].lower() if mark else ""


def joined(names: Sequence[str], *, joint: str = "and") -> str:
    """Join names as ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {joint} {names[-1]}"
